#include "snug/request/parse.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace snug {
namespace {

constexpr std::size_t kMaxContainerName = 47;  // so that every annotation key ends at 63
constexpr std::size_t kMaxShownValue = 63;
/// Containers, each counted for every resource of its own, that may ask for units: so many fit into
/// the smallest maxReservationBytes.
constexpr std::size_t kMaxKubeletRequests = 64;
constexpr std::int64_t kMaxAnnotationBytes = 262'144;  // Kubernetes' TotalAnnotationSizeLimitB
constexpr std::int64_t kBytesWritten = 2'048;
constexpr std::int64_t kBytesPerDevice = 512;
constexpr std::int64_t kMostDevices = 128;  // more are TooLarge anywhere
constexpr std::string_view kDefaultContainerKey = "kubectl.kubernetes.io/default-container";

struct RequestKey {
  std::string_view name;
  bool per_container;  // may carry `.<container>`
  bool available;
};
constexpr auto kKeys = std::to_array<RequestKey>({{"gpu-fraction", true, true},
                                                  {"gpu-memory", true, true},
                                                  {"gpu-container", false, true},
                                                  {"gpu-count", true, false},
                                                  {"gpu-compute", true, false},
                                                  {"gpu-mig-profile", true, false},
                                                  {"gpu-isolation", true, false},
                                                  {"gpu-model", true, false},
                                                  {"gpu-policy", false, false},
                                                  {"gpu-fraction-num-devices", false, false},
                                                  {"gpu-fraction-container-name", false, false}});

const RequestKey* find_key(std::string_view key, bool& suffixed) {
  for (const RequestKey& row : kKeys) {
    suffixed = row.per_container && key.starts_with(row.name) && key.size() > row.name.size() &&
               key[row.name.size()] == '.';
    if (suffixed || key == row.name) return &row;
  }
  return nullptr;
}

/// A value as messages show it: at most 63 printable characters.
std::string shown(std::string_view value) {
  std::string text;
  for (const char c : value.substr(0, kMaxShownValue)) {
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  return text;
}

std::unexpected<Refusal> malformed(std::string sentence) {
  return std::unexpected(Refusal{ReasonCode::kMalformed, std::move(sentence)});
}

std::unexpected<Refusal> bad_value(std::string_view key, std::string_view value,
                                   std::string_view allowed) {
  return malformed(std::string(key) + " is \"" + shown(value) + "\"; allowed is " +
                   std::string(allowed));
}

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int to_int(std::string_view digits) {
  int value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  return value;
}

std::optional<ContainerRequest> parse_fraction(std::string_view value) {
  ContainerRequest result;
  if (value.size() <= 3 && all_digits(value) && value.front() != '0') {
    result.ask = WholeAsk{};
    result.count = to_int(value);
    return result;
  }
  if (!value.starts_with("0.") || value.size() < 3 || value.size() > 5) return std::nullopt;
  const std::string_view decimals = value.substr(2);
  if (!all_digits(decimals)) return std::nullopt;
  int thousandths = to_int(decimals);
  for (std::size_t i = decimals.size(); i < 3; ++i) thousandths *= 10;
  if (thousandths == 0) return std::nullopt;
  result.ask = FractionAsk{thousandths};
  return result;
}

const std::string* find_annotation(const PodFacts& pod, std::string_view key) {
  const auto found = pod.annotations.find(key);
  return found == pod.annotations.end() ? nullptr : &found->second;
}

const ContainerFacts* find_container(const PodFacts& pod, std::string_view name) {
  const auto found = std::find_if(pod.containers.begin(), pod.containers.end(),
                                  [&](const ContainerFacts& c) { return c.name == name; });
  return found == pod.containers.end() ? nullptr : &*found;
}

/// Who receives what the unsuffixed keys ask for.
std::expected<const ContainerFacts*, Refusal> target_container(const PodFacts& pod) {
  if (const std::string* named = find_annotation(pod, "gpu-container")) {
    if (const ContainerFacts* container = find_container(pod, *named)) return container;
    return bad_value("gpu-container", *named, "the name of one of the pod's containers");
  }
  if (const std::string* named = find_annotation(pod, kDefaultContainerKey)) {
    if (const ContainerFacts* container = find_container(pod, *named)) return container;
  }
  for (const ContainerFacts& container : pod.containers) {
    if (container.kind == ContainerKind::kApp) return &container;
  }
  return malformed("the pod asks for a GPU and has no container");
}

/// Refuses keys that this version cannot honour; true: the pod asks by annotation.
std::expected<bool, Refusal> check_keys(const PodFacts& pod) {
  bool asks = false;
  for (const auto& [key, value] : pod.annotations) {
    bool suffixed = false;
    const RequestKey* row = find_key(key, suffixed);
    if (row == nullptr) continue;
    if (suffixed || !row->available) {
      return malformed(shown(key) + " is not available in this version of Snug; allowed are " +
                       "gpu-fraction, gpu-memory and gpu-container");
    }
    asks = true;
  }
  return asks;
}

std::expected<GpuRequest, Refusal> parse_annotations(const PodFacts& pod) {
  const std::string* fraction = find_annotation(pod, "gpu-fraction");
  const std::string* memory = find_annotation(pod, "gpu-memory");
  // The value goes into the reservation as it stands, which has to stay small enough to be read.
  if (memory != nullptr && memory->size() > kMaxShownValue) {
    return bad_value("gpu-memory", *memory, "a quantity of at most 63 characters");
  }
  if (fraction != nullptr && memory != nullptr) {
    return malformed("gpu-fraction and gpu-memory both ask for the same container; allowed is one");
  }
  if (fraction == nullptr && memory == nullptr) {
    return malformed("gpu-container names a container, and neither gpu-fraction nor gpu-memory " +
                     std::string("says what it receives"));
  }
  for (const ContainerFacts& container : pod.containers) {
    if (container.name.size() > kMaxContainerName) {
      return malformed("the container name " + shown(container.name) +
                       " is too long for a pod with GPU annotations; allowed are 47 characters");
    }
  }
  const auto target = target_container(pod);
  if (!target) return std::unexpected(target.error());

  ContainerRequest asked;
  if (fraction != nullptr) {
    auto parsed = parse_fraction(*fraction);
    if (!parsed) {
      return bad_value("gpu-fraction", *fraction,
                       "a number above 0 and below 1 with at most 3 decimals (0.25), or a whole "
                       "number of GPUs from 1 to 999");
    }
    asked = *std::move(parsed);
    asked.text = "gpu-fraction=" + *fraction;
  } else {
    const auto parsed = parse_memory(*memory);
    if (!parsed) return bad_value("gpu-memory", *memory, parsed.error());
    asked.ask = MemoryAsk{*parsed};
    asked.text = "gpu-memory=" + *memory;
  }
  asked.container = (*target)->name;
  asked.kind = (*target)->kind;
  GpuRequest request;
  request.main_container = asked.container;
  request.containers.push_back(std::move(asked));
  return request;
}

struct KubeletCount {
  const ContainerFacts* container;
  std::int64_t count;
};

/// The containers' units of one resource, reduced to what the pod holds at any one time: apps and
/// sidecars together, and of the plain init containers (whose devices the apps reuse) only what the
/// largest needs beyond that, beside the sidecars started before it.
std::vector<KubeletCount> held_units(const std::vector<KubeletCount>& asked) {
  std::vector<KubeletCount> held;
  std::int64_t running = 0;
  for (const KubeletCount& row : asked) {
    if (row.container->kind == ContainerKind::kInit) continue;
    held.push_back(row);
    running += row.count;
  }
  KubeletCount largest{nullptr, 0};
  std::int64_t sidecars = 0;
  for (const KubeletCount& row : asked) {
    if (row.container->kind == ContainerKind::kSidecar) sidecars += row.count;
    const std::int64_t excess = row.count + sidecars - running;
    if (row.container->kind == ContainerKind::kInit && excess > largest.count) {
      largest = {row.container, excess};
    }
  }
  if (largest.container != nullptr) held.push_back(largest);
  return held;
}

std::expected<GpuRequest, Refusal> parse_resources(const PodFacts& pod) {
  std::map<std::string_view, std::vector<KubeletCount>> asked;
  for (const ContainerFacts& container : pod.containers) {
    for (const auto& [resource, value] : container.gpu_resources) {
      if (!is_kubelet_resource(resource)) continue;
      const std::optional<std::int64_t> count = parse_units(value);
      if (!count) {
        return bad_value(resource, value,
                         "a whole number of units, at most " + std::to_string(kLargestQuantity));
      }
      if (*count > 0) asked[resource].push_back({&container, *count});
    }
  }
  GpuRequest request;
  for (const auto& [resource, rows] : asked) {
    for (const KubeletCount& row : held_units(rows)) {
      request.containers.push_back(
          {.container = row.container->name,
           .kind = row.container->kind,
           .ask = KubeletAsk{std::string(resource)},
           .count = row.count,
           .text = std::string(resource) + "=" + std::to_string(row.count)});
    }
  }
  if (request.containers.size() > kMaxKubeletRequests) {
    return malformed(
        "more containers of the pod ask for GPU units than can be kept account of; "
        "allowed are " +
        std::to_string(kMaxKubeletRequests));
  }
  if (!request.empty()) request.main_container = request.containers.front().container;
  return request;
}

std::optional<ContainerRequest> parse_units_request(std::string_view resource,
                                                    std::string_view value) {
  const std::int64_t count = parse_units(value).value_or(0);
  if (!is_kubelet_resource(resource) || count == 0) return std::nullopt;
  return ContainerRequest{.ask = KubeletAsk{std::string(resource)}, .count = count};
}

std::optional<ContainerRequest> parse_memory_request(std::string_view value) {
  const auto memory = parse_memory(value);
  if (!memory) return std::nullopt;
  return ContainerRequest{.ask = MemoryAsk{*memory}};
}

/// The API server takes a binding whose annotations are too large, and then nobody, not even the
/// kubelet, can update the pod any more.
std::expected<GpuRequest, Refusal> with_room_for_reservation(const PodFacts& pod,
                                                             GpuRequest request) {
  if (request.empty()) return request;
  std::int64_t devices = 0;
  for (const ContainerRequest& container : request.containers) {
    devices += request.kubelet_assigned() ? 1 : container.count;
  }
  const auto needed = kBytesWritten + kBytesPerDevice * std::min(devices, kMostDevices);
  if (static_cast<std::int64_t>(pod.annotation_bytes) + needed <= kMaxAnnotationBytes) {
    return request;
  }
  return malformed(
      "the annotations of the pod are too large to add its reservation to them; allowed are "
      "262144 bytes in all, of which Snug needs 2048 and 512 for each GPU");
}

}  // namespace

bool is_kubelet_resource(std::string_view name) {
  return name == "nvidia.com/gpu" || name == "nvidia.com/gpu.shared" ||
         name.starts_with("nvidia.com/mig-");
}

bool is_request_key(std::string_view key) {
  bool suffixed = false;
  return find_key(key, suffixed) != nullptr;
}

std::optional<ContainerRequest> parse_request_text(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view key = text.substr(0, equals);
  const std::string_view value = text.substr(equals + 1);
  std::optional<ContainerRequest> result;
  if (key == "gpu-fraction") {
    result = parse_fraction(value);
  } else if (key == "gpu-memory") {
    result = parse_memory_request(value);
  } else {
    result = parse_units_request(key, value);
  }
  if (result) result->text = text;
  return result;
}

std::expected<GpuRequest, Refusal> parse_request(const PodFacts& pod) {
  const auto annotated = check_keys(pod);
  if (!annotated) return std::unexpected(annotated.error());
  auto resources = parse_resources(pod);
  if (!resources) return resources;
  if (!*annotated) return with_room_for_reservation(pod, *std::move(resources));
  if (!resources->empty()) {
    return malformed("the pod asks for GPUs by annotation and by " +
                     shown(std::get<KubeletAsk>(resources->containers.front().ask).resource) +
                     "; allowed is one of the two");
  }
  auto request = parse_annotations(pod);
  if (!request) return request;
  return with_room_for_reservation(pod, *std::move(request));
}

}  // namespace snug
