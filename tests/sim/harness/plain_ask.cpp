#include "sim/harness/plain_ask.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "oracle/amounts.hpp"
#include "sim/harness/objects.hpp"
#include "support/test_objects.hpp"

namespace snug {
namespace {

std::optional<std::string> said(const model::StringMap& annotations, const std::string& key,
                                const std::string& container, bool main) {
  auto found = annotations.find(key + "." + container);
  if (found == annotations.end() && main) found = annotations.find(key);
  if (found == annotations.end()) return std::nullopt;
  return found->second;
}

/// False: the fraction is none.
bool read_fraction(const std::string& text, model::ContainerRequest& ask) {
  if (text.starts_with("0.")) {
    ask.device = model::FractionRequest{std::stoi((text.substr(2) + "000").substr(0, 3))};
    return true;
  }
  if (text.find_first_not_of("0123456789") != std::string::npos) return false;
  ask.device = model::WholeGpuRequest{};
  ask.count = std::stoll(text);
  return true;
}

/// Perhaps as a compute instance that has all of its slice.
std::string read_profile(const std::string& text) {
  const std::size_t instance = text.find("c.");
  return instance == std::string::npos ? text : text.substr(instance + 2);
}

model::Isolation read_isolation(const std::string& text) {
  if (text == "time-slicing") return model::Isolation::kTimeSlicing;
  if (text == "mps") return model::Isolation::kMps;
  return text == "mig" ? model::Isolation::kMig : model::Isolation::kAny;
}

model::ModelFilter read_models(const std::string& text) {
  model::ModelFilter models;
  for (const std::string& glob : split(text, ',')) {
    if (glob.starts_with('!')) {
      models.excluded.push_back(glob.substr(1));
    } else {
      models.included.push_back(glob);
    }
  }
  return models;
}

void read_container(const model::StringMap& annotations, model::ContainerRequest ask, bool main,
                    PlainAsk& all) {
  const auto of = [&](const char* key) { return said(annotations, key, ask.container, main); };
  const auto fraction = of("gpu-fraction");
  const auto memory = of("gpu-memory");
  const auto profile = of("gpu-mig-profile");
  const auto count = of("gpu-count");
  if (!fraction && !memory && !profile) {
    all.malformed = all.malformed || count;
    return;
  }
  const int asks = (fraction ? 1 : 0) + (memory ? 1 : 0) + (profile ? 1 : 0);
  if (asks > 1 || (fraction && !read_fraction(*fraction, ask))) {
    all.malformed = true;
    return;
  }
  if (memory) {
    ask.device = model::MemoryRequest{{std::stoll(*memory) * (memory->ends_with("Gi") ? 1024 : 1)}};
  }
  if (profile) ask.device = model::SliceRequest{read_profile(*profile)};
  if (count) {
    const bool whole = std::holds_alternative<model::WholeGpuRequest>(ask.device);
    all.malformed = all.malformed || whole;
    ask.count = std::stoll(*count);
  }
  if (const auto percent = of("gpu-compute")) ask.compute_percent = std::stoi(*percent);
  ask.isolation = read_isolation(of("gpu-isolation").value_or("any"));
  ask.models = read_models(of("gpu-model").value_or(""));
  const bool kept_apart =
      ask.isolation == model::Isolation::kAny || ask.isolation == model::Isolation::kMig;
  if (profile && (ask.compute_percent || !kept_apart)) all.malformed = true;
  all.request.containers.push_back(std::move(ask));
}

std::int64_t units_of(const model::PodFacts& pod) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const auto found = pod.containers[i].gpu_resources.find(kGpuUnits);
    if (found == pod.containers[i].gpu_resources.end()) continue;
    parts.push_back({pod.containers[i].type, i, {std::stoll(found->second), 0}});
  }
  return together(parts).memory;
}

}  // namespace

PlainAsk plain_ask(const model::PodFacts& pod, const model::StringMap& annotations) {
  PlainAsk ask;
  auto& containers = ask.request.containers;
  bool had_app = false;
  for (const model::ContainerFacts& container : pod.containers) {
    const bool app = container.type == model::ContainerType::kApp;
    read_container(annotations, {.container = container.name, .type = container.type},
                   app && !had_app, ask);
    had_app = had_app || app;
  }
  for (const model::ContainerRequest& init : containers) {
    if (init.type != model::ContainerType::kInit || model::is_share(init.device)) continue;
    const auto other = [&](const model::ContainerRequest& c) {
      return c.type != model::ContainerType::kInit && c.device != init.device;
    };
    ask.malformed = ask.malformed || std::ranges::any_of(containers, other);
  }
  if (const std::int64_t units = units_of(pod); units > 0) {
    ask.malformed = ask.malformed || !containers.empty();
    containers.push_back({.device = model::KubeletRequest{kGpuUnits}, .count = units});
  }
  if (ask.malformed) containers.clear();
  return ask;
}

PlainAsk plain_ask(const model::PodFacts& pod) { return plain_ask(pod, pod.annotations); }

std::pair<std::int64_t, std::int64_t> host_resources_of(const model::PodFacts& pod) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const model::ContainerFacts& container = pod.containers[i];
    parts.push_back({container.type, i, {container.host.memory_bytes, container.host.cpu_milli}});
  }
  const Amounts all = together(parts);
  return {all.compute + pod.overhead.cpu_milli, all.memory + pod.overhead.memory_bytes};
}

bool comes_before(const model::PodFacts& a, const model::PodFacts& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.creation_timestamp != b.creation_timestamp) {
    return a.creation_timestamp < b.creation_timestamp;
  }
  return a.uid < b.uid;
}

}  // namespace snug
