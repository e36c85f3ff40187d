#include "request/annotation_keys.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "request/malformed.hpp"
#include "snug/mig/card_catalog.hpp"
#include "snug/request/pod_request_parser.hpp"
#include "snug/request/quantity.hpp"

namespace snug::request {
namespace {

/// The largest size of a value of gpu-model, in bytes. It is limited because the reservation
/// contains a copy of the value.
constexpr std::size_t kMaxModelFilterBytes = 253;

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

int to_int(std::string_view digits) {
  int value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  return value;
}

/// Parses an integer from 1 to 999 without sign and leading zeros.
std::optional<int> small_number(std::string_view text) {
  if (text.size() > 3 || !all_digits(text) || text.front() == '0') return std::nullopt;
  return to_int(text);
}

/// The normalized value for ContainerRequest::text, or an error that states what is allowed.
using ReadText = std::expected<std::string, std::string_view>;

ReadText read_fraction(std::string_view annotation_value,
                       model::ContainerRequest& container_request) {
  constexpr std::string_view kAllowed =
      "a number above 0 and below 1 with at most 3 decimals (0.25), or a whole number of GPUs from "
      "1 to 999";
  if (const auto gpu_count = small_number(annotation_value)) {
    container_request.device = model::WholeGpuRequest{};
    container_request.count = *gpu_count;
    return std::string(annotation_value);
  }
  if (!annotation_value.starts_with("0.") || annotation_value.size() < 3 ||
      annotation_value.size() > 5) {
    return std::unexpected(kAllowed);
  }
  const std::string_view decimals = annotation_value.substr(2);
  if (!all_digits(decimals)) return std::unexpected(kAllowed);
  int thousandths = to_int(decimals);
  for (std::size_t i = decimals.size(); i < 3; ++i) thousandths *= 10;
  if (thousandths == 0) return std::unexpected(kAllowed);
  container_request.device = model::FractionRequest{thousandths};
  return std::string(annotation_value);
}

ReadText read_memory(std::string_view annotation_value,
                     model::ContainerRequest& container_request) {
  // The reservation contains the value unchanged, and Snug reads only reservations of limited size.
  if (annotation_value.size() > kMaxShownValue) {
    return std::unexpected("a quantity of at most 63 characters");
  }
  const auto memory = parse_gpu_memory(annotation_value);
  if (!memory) return std::unexpected(memory.error());
  container_request.device = model::MemoryRequest{*memory};
  return std::string(annotation_value);
}

ReadText read_profile(std::string_view annotation_value,
                      model::ContainerRequest& container_request) {
  const std::optional<mig::MigProfileName> profile = mig::parse_mig_profile_name(annotation_value);
  if (!profile) {
    return std::unexpected(
        "the name of a MIG profile in lower case (2g.10gb, 1g.5gb+me or 1g.24gb-me), or of a "
        "compute instance that fills its slice (3c.3g.20gb)");
  }
  container_request.device = model::SliceRequest{profile->canonical};
  return profile->canonical;
}

ReadText read_count(std::string_view annotation_value, model::ContainerRequest& container_request) {
  const auto gpu_count = small_number(annotation_value);
  if (!gpu_count) return std::unexpected("a whole number of GPUs from 1 to 999");
  container_request.count = *gpu_count;
  return std::string(annotation_value);
}

ReadText read_compute(std::string_view annotation_value,
                      model::ContainerRequest& container_request) {
  const auto percent = small_number(annotation_value);
  if (!percent || *percent > 100) {
    return std::unexpected("a whole percentage from 1 to 100");
  }
  container_request.compute_percent = percent;
  return std::string(annotation_value);
}

ReadText read_isolation(std::string_view annotation_value,
                        model::ContainerRequest& container_request) {
  const auto isolation = model::kIsolationNames.find(annotation_value);
  if (!isolation) return std::unexpected("any, time-slicing, mps or mig");
  container_request.isolation = *isolation;
  return std::string(annotation_value);
}

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool is_glob_character(char c) { return is_printable(c) && c != ';' && c != '='; }

ReadText read_models(std::string_view annotation_value,
                     model::ContainerRequest& container_request) {
  constexpr std::string_view kAllowed =
      "model names separated by commas, with * and ? as wildcards and a leading ! to exclude a "
      "name; at most 253 printable characters without ; or =";
  if (annotation_value.empty() || annotation_value.size() > kMaxModelFilterBytes ||
      !std::ranges::all_of(annotation_value, is_glob_character)) {
    return std::unexpected(kAllowed);
  }
  std::string text;
  for (const auto model_part : std::views::split(annotation_value, ',')) {
    std::string_view glob = without_blanks({model_part.begin(), model_part.end()});
    const bool excluded = glob.starts_with('!');
    if (excluded) glob = without_blanks(glob.substr(1));
    // No model name begins with `!`, so a second `!` is a mistake.
    if (glob.empty() || glob.starts_with('!')) return std::unexpected(kAllowed);
    (excluded ? container_request.models.excluded : container_request.models.included)
        .emplace_back(glob);
    if (!text.empty()) text += ',';
    text.append(excluded ? "!" : "").append(glob);
  }
  return text;
}

/// Checks a key's value against the rest of the request. If they conflict, returns what is allowed
/// instead; otherwise an empty text.
using Conflict = std::string_view (*)(const model::ContainerRequest& container_request);

constexpr std::string_view kAShare = "a share of a GPU (gpu-fraction below 1, or gpu-memory)";

bool is_whole(const model::ContainerRequest& container_request) {
  return std::holds_alternative<model::WholeGpuRequest>(container_request.device);
}

std::string_view not_beside_whole(const model::ContainerRequest& container_request) {
  return is_whole(container_request) ? kAShare : std::string_view{};
}

std::string_view only_beside_share(const model::ContainerRequest& container_request) {
  return model::is_share(container_request.device) ? std::string_view{} : kAShare;
}

std::string_view isolation_conflict(const model::ContainerRequest& container_request) {
  if (container_request.isolation == model::Isolation::kAny ||
      model::is_share(container_request.device))
    return {};
  if (is_whole(container_request)) return "any, since a whole GPU is not shared";
  if (container_request.isolation == model::Isolation::kMig) return {};
  return "mig or any, since a MIG profile is a slice";
}

struct KeyRow {
  std::string_view name;
  KeyScope scope = KeyScope::kContainer;
  ReadText (*read)(std::string_view annotation_value,
                   model::ContainerRequest& container_request) = nullptr;
  bool asks = false;  // whether the key requests devices; each request has exactly one such key
  Conflict conflict = nullptr;
  std::string_view alias_of = {};
};

/// The keys, in the order in which ContainerRequest::text has them. Two keys of KAI Scheduler are
/// aliases. If Snug ignored `gpu-fraction-num-devices`, a pod that was written for KAI Scheduler
/// and requests several GPUs by this key would get only one.
constexpr auto kKeys = std::to_array<KeyRow>(
    {{.name = "gpu-fraction", .read = read_fraction, .asks = true},
     {.name = "gpu-memory", .read = read_memory, .asks = true},
     {.name = "gpu-mig-profile", .read = read_profile, .asks = true},
     {.name = "gpu-count", .read = read_count, .conflict = not_beside_whole},
     {.name = "gpu-compute", .read = read_compute, .conflict = only_beside_share},
     {.name = "gpu-isolation", .read = read_isolation, .conflict = isolation_conflict},
     {.name = "gpu-model", .read = read_models},
     {.name = "gpu-container", .scope = KeyScope::kMainContainer},
     {.name = "gpu-policy", .scope = KeyScope::kPolicy},
     {.name = "gpu-fraction-num-devices", .alias_of = "gpu-count"},
     {.name = "gpu-fraction-container-name", .alias_of = "gpu-container"}});
static_assert(kKeys.size() <= ContainerAnnotations::kMaxRows);

constexpr std::size_t row_of(std::string_view name) {
  const auto key_row = std::ranges::find(kKeys, name, &KeyRow::name);
  return static_cast<std::size_t>(key_row - kKeys.begin());
}

const Annotation* find_annotation(const ContainerAnnotations& annotations, const KeyRow& key_row) {
  const auto& annotation = annotations.rows[static_cast<std::size_t>(&key_row - kKeys.data())];
  return annotation ? &*annotation : nullptr;
}

/// The only key of the container that requests devices; a refusal if there is none or more than
/// one.
std::expected<const KeyRow*, model::Refusal> find_device_key(
    const ContainerAnnotations& annotations) {
  const KeyRow* device_key = nullptr;
  const Annotation* other_annotation = nullptr;
  for (const KeyRow& key_row : kKeys) {
    const Annotation* annotation = find_annotation(annotations, key_row);
    if (annotation == nullptr) continue;
    if (!key_row.asks) {
      if (other_annotation == nullptr) other_annotation = annotation;
    } else if (device_key == nullptr) {
      device_key = &key_row;
    } else {
      return malformed(shown(find_annotation(annotations, *device_key)->key) + " and " +
                       shown(annotation->key) +
                       " both request GPUs for the same container; expected one of the two");
    }
  }
  if (device_key != nullptr) return device_key;
  if (other_annotation == nullptr) {
    return malformed("the container has no annotation; expected " + asking_keys());
  }
  return malformed(shown(other_annotation->key) + " is \"" + shown(other_annotation->value) +
                   "\" without " + asking_keys() +
                   " for the same container; expected one of them too");
}

std::optional<model::Refusal> read_row(const KeyRow& key_row, const Annotation& annotation,
                                       model::ContainerRequest& container_request) {
  const auto text = key_row.read(annotation.value, container_request);
  if (!text) return bad_value(annotation.key, annotation.value, text.error()).error();
  const std::string_view allowed =
      key_row.conflict == nullptr ? std::string_view{} : key_row.conflict(container_request);
  if (!allowed.empty()) {
    return malformed(shown(annotation.key) + " is \"" + shown(annotation.value) + "\" beside " +
                     (is_whole(container_request) ? "a whole number of GPUs" : "gpu-mig-profile") +
                     "; expected " + std::string(allowed))
        .error();
  }
  if (!container_request.text.empty()) container_request.text += ';';
  container_request.text.append(key_row.name).append("=").append(*text);
  return std::nullopt;
}

}  // namespace

std::optional<FoundKey> find_key(std::string_view annotation) {
  for (const KeyRow& key_row : kKeys) {
    if (!annotation.starts_with(key_row.name)) continue;
    const std::string_view container_suffix = annotation.substr(key_row.name.size());
    if (!container_suffix.empty() && container_suffix.front() != '.') continue;
    FoundKey found_key;
    found_key.row = row_of(key_row.alias_of.empty() ? key_row.name : key_row.alias_of);
    found_key.scope = kKeys[found_key.row].scope;
    if (!container_suffix.empty()) found_key.container = container_suffix.substr(1);
    return found_key;
  }
  return std::nullopt;
}

bool is_request_key(std::string_view key) { return find_key(key).has_value(); }

std::vector<std::string_view> request_keys() {
  std::vector<std::string_view> names(kKeys.size());
  std::ranges::transform(kKeys, names.begin(), &KeyRow::name);
  return names;
}

std::string asking_keys() {
  std::string names;
  for (const KeyRow& key_row : kKeys) {
    if (!key_row.asks) continue;
    const bool last = !kKeys[static_cast<std::size_t>(&key_row - kKeys.data()) + 1].asks;
    names.append(names.empty() ? "" : last ? " or " : ", ").append(key_row.name);
  }
  return names;
}

std::expected<model::ContainerRequest, model::Refusal> read_container_request(
    const ContainerAnnotations& annotations) {
  const auto device_key = find_device_key(annotations);
  if (!device_key) return std::unexpected(device_key.error());
  model::ContainerRequest container_request;
  for (const KeyRow& key_row : kKeys) {
    const Annotation* annotation = find_annotation(annotations, key_row);
    if (annotation == nullptr) continue;
    if (auto refusal = read_row(key_row, *annotation, container_request)) {
      return std::unexpected(*std::move(refusal));
    }
  }
  return container_request;
}

}  // namespace snug::request
