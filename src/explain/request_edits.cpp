#include "explain/request_edits.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "snug/request/pod_request_parser.hpp"

namespace snug::explain {
namespace {

/// ContainerRequest::text as keys with values, which can be changed one by one.
class RequestText {
 public:
  explicit RequestText(std::string_view text) {
    while (!text.empty()) {
      const std::string_view part = text.substr(0, text.find(';'));
      text.remove_prefix(std::min(text.size(), part.size() + 1));
      const std::size_t equals = std::min(part.find('='), part.size());
      parts_.emplace_back(part.substr(0, equals), part.substr(std::min(part.size(), equals + 1)));
    }
  }

  void set(std::string_view key, std::string value) {
    remove(key);
    parts_.emplace_back(key, std::move(value));
  }
  void remove(std::string_view key) {
    std::erase_if(parts_, [&](const Part& part) { return part.first == key; });
  }

  /// The parts in the order in which ContainerRequest::text has them.
  [[nodiscard]] std::string joined() const {
    std::string text;
    for (const std::string_view key : request::request_keys()) {
      const auto part = std::ranges::find(parts_, key, &Part::first);
      if (part == parts_.end()) continue;
      text.append(text.empty() ? "" : ";").append(key).append("=").append(part->second);
    }
    return text;
  }

 private:
  using Part = std::pair<std::string, std::string>;
  std::vector<Part> parts_;
};

/// The container with the request that the text states.
std::optional<model::ContainerRequest> reread(const model::ContainerRequest& before,
                                              const std::string& text) {
  auto changed = request::parse_request_text(text);
  if (!changed) return std::nullopt;
  changed->container = before.container;
  changed->type = before.type;
  return changed;
}

/// Applies `edit`, which returns nullopt if the container's request cannot be changed so.
template <typename Edit>
std::optional<model::GpuRequest> edited(const model::GpuRequest& request, const Edit& edit) {
  model::GpuRequest changed = request;
  for (model::ContainerRequest& container_request : changed.containers) {
    std::optional<model::ContainerRequest> container = edit(container_request);
    if (!container) return std::nullopt;
    container_request = *std::move(container);
  }
  return changed;
}

std::string fraction_text(std::int64_t thousandths) {
  std::string digits = std::to_string(1000 + thousandths).substr(1);
  while (digits.back() == '0') digits.pop_back();
  return "0." + digits;
}

std::optional<model::ContainerRequest> scaled_container(
    const model::ContainerRequest& container_request, std::int64_t thousandths,
    std::int64_t most_devices) {
  const std::int64_t count = std::min(container_request.count, most_devices);
  if (std::holds_alternative<model::KubeletRequest>(container_request.device)) {
    const auto& resource = std::get<model::KubeletRequest>(container_request.device).resource;
    return reread(container_request, resource + "=" + std::to_string(count));
  }
  RequestText text(container_request.text);
  const auto part_of = [&](std::int64_t amount) {
    return std::max<std::int64_t>(1, amount * thousandths / kFullScale);
  };
  bool is_whole = std::holds_alternative<model::WholeGpuRequest>(container_request.device);
  if (const auto* fraction = std::get_if<model::FractionRequest>(&container_request.device)) {
    text.set("gpu-fraction", fraction_text(part_of(fraction->thousandths)));
  } else if (const auto* memory = std::get_if<model::MemoryRequest>(&container_request.device)) {
    text.set("gpu-memory", std::to_string(part_of(memory->memory.value)) + "Mi");
  } else if (is_whole && thousandths < kFullScale) {
    text.set("gpu-fraction", fraction_text(std::max<std::int64_t>(1, thousandths)));
    is_whole = false;
  }
  if (container_request.compute_percent)
    text.set("gpu-compute", std::to_string(part_of(*container_request.compute_percent)));
  if (is_whole) {
    text.set("gpu-fraction", std::to_string(count));
  } else if (count > 1) {
    text.set("gpu-count", std::to_string(count));
  } else {
    text.remove("gpu-count");
  }
  return reread(container_request, text.joined());
}

}  // namespace

std::optional<model::GpuRequest> scaled(const model::GpuRequest& request, std::int64_t thousandths,
                                        std::int64_t most_devices) {
  return edited(request, [&](const model::ContainerRequest& container_request) {
    return scaled_container(container_request, thousandths, most_devices);
  });
}

std::optional<model::GpuRequest> with_profile(const model::GpuRequest& request,
                                              std::string_view profile) {
  bool has_slice = false;
  auto changed = edited(request, [&](const model::ContainerRequest& container_request) {
    if (!std::holds_alternative<model::SliceRequest>(container_request.device))
      return std::optional(container_request);
    has_slice = true;
    RequestText text(container_request.text);
    text.set("gpu-mig-profile", std::string(profile));
    return reread(container_request, text.joined());
  });
  return has_slice ? std::move(changed) : std::nullopt;
}

std::optional<model::GpuRequest> with_any_model(const model::GpuRequest& request) {
  bool has_models = false;
  auto changed = edited(request, [&](const model::ContainerRequest& container_request) {
    if (container_request.models.empty()) return std::optional(container_request);
    has_models = true;
    RequestText text(container_request.text);
    text.remove("gpu-model");
    return reread(container_request, text.joined());
  });
  return has_models ? std::move(changed) : std::nullopt;
}

std::optional<model::GpuRequest> with_isolation(const model::GpuRequest& request,
                                                model::Isolation isolation) {
  bool changes = false;
  auto changed = edited(request, [&](const model::ContainerRequest& container_request) {
    if (container_request.isolation == isolation || !model::is_share(container_request.device))
      return std::optional(container_request);
    changes = true;
    RequestText text(container_request.text);
    if (isolation == model::Isolation::kAny) {
      text.remove("gpu-isolation");
    } else {
      text.set("gpu-isolation", std::string(model::kIsolationNames[isolation]));
    }
    return reread(container_request, text.joined());
  });
  return changes ? std::move(changed) : std::nullopt;
}

}  // namespace snug::explain
