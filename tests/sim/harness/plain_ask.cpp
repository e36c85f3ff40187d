#include "sim/harness/plain_ask.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

namespace snug {
namespace {

/// Whether `text` matches the glob `pattern`, which is in lower case. Ignores the case of `text`.
bool like(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    return like(pattern.substr(1), text) || (!text.empty() && like(pattern, text.substr(1)));
  }
  if (text.empty()) return false;
  const auto letter = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  return (pattern.front() == '?' || pattern.front() == letter) &&
         like(pattern.substr(1), text.substr(1));
}

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::optional<std::string> said(const model::StringMap& annotations, const std::string& key,
                                const std::string& container, bool main) {
  auto found = annotations.find(key + "." + container);
  if (found == annotations.end() && main) found = annotations.find(key);
  if (found == annotations.end()) return std::nullopt;
  return found->second;
}

/// Parses gpu-fraction. Returns false if `text` is malformed.
bool read_fraction(const std::string& text, PlainContainer& ask) {
  if (text.starts_with("0.")) {
    ask.amount = std::stoll((text.substr(2) + "000").substr(0, 3));
    return true;
  }
  if (text.find_first_not_of("0123456789") != std::string::npos) return false;
  ask.kind = PlainContainer::Kind::kWhole;
  ask.count = std::stoll(text);
  return true;
}

/// Parses gpu-mig-profile. A prefix such as `2c.` (a compute instance) is ignored.
void read_profile(const std::string& text, PlainContainer& ask) {
  ask.kind = PlainContainer::Kind::kSlice;
  const std::size_t instance = text.find("c.");
  ask.profile = instance == std::string::npos ? text : text.substr(instance + 2);
}

void read_container(const model::StringMap& annotations, PlainContainer ask, bool main,
                    PlainAsk& all) {
  const auto of = [&](const char* key) { return said(annotations, key, ask.name, main); };
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
    ask.kind = PlainContainer::Kind::kMemory;
    ask.amount = std::stoll(*memory) * (memory->ends_with("Gi") ? 1024 : 1);
  }
  if (profile) read_profile(*profile, ask);
  if (count) {
    all.malformed = all.malformed || ask.whole();
    ask.count = std::stoll(*count);
  }
  if (const auto percent = of("gpu-compute")) ask.percent = std::stoll(*percent);
  ask.isolation = of("gpu-isolation").value_or("any");
  ask.models = of("gpu-model").value_or("");
  const bool kept_apart = ask.isolation == "any" || ask.isolation == "mig";
  if (profile && (ask.percent > 0 || !kept_apart)) all.malformed = true;
  all.containers.push_back(std::move(ask));
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

Amounts PlainContainer::cost(std::int64_t capacity) const {
  if (whole()) return {capacity, kWholeMilli};
  Amounts cost{amount, amount};
  if (kind == Kind::kFraction) cost.memory = std::max<std::int64_t>(1, amount * capacity / 1000);
  if (kind == Kind::kMemory) cost.compute = std::max<std::int64_t>(1, 1000 * amount / capacity);
  if (percent > 0) cost.compute = 10 * percent;
  return cost;
}

bool PlainContainer::takes(std::string_view model) const {
  bool wanted = true;
  bool named = false;
  for (std::size_t begin = 0; !models.empty() && begin <= models.size();) {
    const std::size_t end = std::min(models.find(',', begin), models.size());
    const std::string glob = lowered(std::string_view(models).substr(begin, end - begin));
    begin = end + 1;
    if (glob.front() == '!') {
      if (like(glob.substr(1), model)) return false;
      continue;
    }
    wanted = (named && wanted) || like(glob, model);
    named = true;
  }
  return wanted;
}

bool PlainAsk::shares() const { return std::ranges::any_of(containers, &PlainContainer::share); }

const PlainContainer* PlainAsk::find(std::string_view container) const {
  const auto found = std::ranges::find(containers, container, &PlainContainer::name);
  return found == containers.end() ? nullptr : &*found;
}

PlainAsk plain_ask(const model::PodFacts& pod, const model::StringMap& annotations) {
  PlainAsk ask;
  bool had_app = false;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const model::ContainerFacts& container = pod.containers[i];
    const bool app = container.type == model::ContainerType::kApp;
    read_container(annotations, {.name = container.name, .runs = container.type, .position = i},
                   app && !had_app, ask);
    had_app = had_app || app;
  }
  ask.units = units_of(pod);
  for (const PlainContainer& init : ask.containers) {
    if (init.runs != model::ContainerType::kInit || init.share()) continue;
    const auto other = [&](const PlainContainer& c) {
      return c.runs != model::ContainerType::kInit &&
             (c.kind != init.kind || c.profile != init.profile);
    };
    ask.malformed = ask.malformed || std::ranges::any_of(ask.containers, other);
  }
  if (ask.units > 0 && !ask.containers.empty()) ask.malformed = true;
  if (ask.malformed) ask = {.malformed = true, .units = 0, .containers = {}};
  return ask;
}

PlainAsk plain_ask(const model::PodFacts& pod) { return plain_ask(pod, pod.annotations); }

Amounts together(const std::vector<Part>& parts) {
  Amounts most;
  for (const Part& part : parts) {
    if (part.runs == model::ContainerType::kInit) continue;
    most.memory += part.amounts.memory;
    most.compute += part.amounts.compute;
  }
  for (const Part& init : parts) {
    if (init.runs != model::ContainerType::kInit) continue;
    Amounts then = init.amounts;
    for (const Part& part : parts) {
      if (part.runs != model::ContainerType::kSidecar || part.position > init.position) continue;
      then.memory += part.amounts.memory;
      then.compute += part.amounts.compute;
    }
    most.memory = std::max(most.memory, then.memory);
    most.compute = std::max(most.compute, then.compute);
  }
  return most;
}

std::pair<std::int64_t, std::int64_t> host_in_identity(const model::PodFacts& pod) {
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
