#include "schedule_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <utility>

#include "snug/model/node_inventory.hpp"

namespace snug {
namespace {

using nlohmann::json;

struct HttpRefusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

/// Builds the document, and remembers the path of every key that came twice in one object; array
/// positions are written []. Keys of the outermost object are lower-cased.
class Builder : public nlohmann::json_sax<json> {
 public:
  explicit Builder(std::size_t max_depth) : max_depth_{max_depth} {}

  json root;
  std::set<std::string> repeated;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    // An integer beyond 64 bits arrives here; the codec refuses it.
    return text.find_first_of(".eE") != std::string::npos && put(value);
  }
  bool string(string_t& value) override { return put(value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    Frame& frame = frames_.back();
    frame.key = frames_.size() == 1 ? lower(value) : value;
    frame.fresh = frame.keys.insert(frame.key).second;
    if (!frame.fresh) repeated.insert(frame.path + '/' + frame.key);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  struct Frame {
    json value;
    std::string path;
    std::string key;
    std::set<std::string> keys;
    bool fresh = true;
  };

  bool put(json value) {
    if (frames_.empty()) {
      root = std::move(value);
      return true;
    }
    Frame& frame = frames_.back();
    if (frame.value.is_array()) {
      frame.value.push_back(std::move(value));
    } else if (frame.fresh) {
      frame.value[frame.key] = std::move(value);
    }
    return true;
  }

  bool open(json value) {
    if (frames_.size() == max_depth_) return false;
    std::string path;
    if (!frames_.empty()) {
      const Frame& frame = frames_.back();
      path = frame.path + '/' + (frame.value.is_array() ? "[]" : frame.key);
    }
    frames_.push_back({std::move(value), std::move(path), {}, {}, true});
    return true;
  }

  bool close() {
    json value = std::move(frames_.back().value);
    frames_.pop_back();
    return put(std::move(value));
  }

  std::size_t max_depth_;
  std::vector<Frame> frames_;
};

bool kept_annotation(std::string_view key) {
  return key.starts_with("gpu-") || key.starts_with("snug.dev/") ||
         key == "kubectl.kubernetes.io/default-container";
}

/// Whether a repeated key stands where the codec reads it.
bool matters(const std::string& repeated) {
  static const std::set<std::string> kAlways = [] {
    std::set<std::string> paths = {"/pod",
                                   "/nodes",
                                   "/nodenames",
                                   "/nodes/items",
                                   "/nodes/items/[]/metadata",
                                   "/nodes/items/[]/metadata/name"};
    for (const char* field : {"metadata", "spec", "status"})
      paths.insert(std::string{"/pod/"} + field);
    for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp",
                              "deletionTimestamp", "labels", "annotations"}) {
      paths.insert(std::string{"/pod/metadata/"} + field);
    }
    for (const char* field :
         {"nodeName", "schedulerName", "priority", "initContainers", "containers", "affinity",
          "topologySpreadConstraints", "resources", "resources/limits", "resources/requests",
          "overhead", "volumes", "volumes/[]/persistentVolumeClaim", "volumes/[]/ephemeral",
          "resourceClaims", "schedulingGates"}) {
      paths.insert(std::string{"/pod/spec/"} + field);
    }
    for (const char* list : {"/pod/spec/initContainers/[]/", "/pod/spec/containers/[]/"}) {
      for (const char* field : {"name", "restartPolicy", "resources", "resources/limits",
                                "resources/requests", "ports", "ports/[]/hostPort"}) {
        paths.insert(std::string{list} + field);
      }
    }
    for (const char* kind : {"nodeAffinity", "podAffinity", "podAntiAffinity"}) {
      const std::string path = std::string{"/pod/spec/affinity/"} + kind;
      paths.insert(path);
      paths.insert(path + "/preferredDuringSchedulingIgnoredDuringExecution");
      paths.insert(path + "/requiredDuringSchedulingIgnoredDuringExecution");
    }
    paths.insert("/pod/spec/topologySpreadConstraints/[]/whenUnsatisfiable");
    paths.insert("/pod/status/phase");
    paths.insert("/pod/status/nominatedNodeName");
    return paths;
  }();
  return kAlways.contains(repeated);
}

const json* find(const json& object, const char* key) {
  if (!object.is_object()) throw HttpRefusal("an object was expected");
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

std::string text(const json& object, const char* key) {
  const json* value = find(object, key);
  if (value == nullptr) return {};
  if (!value->is_string()) throw HttpRefusal("a string was expected");
  return value->get<std::string>();
}

const json& list(const json& object, const char* key) {
  static const json kNone = json::array();
  const json* value = find(object, key);
  if (value == nullptr) return kNone;
  if (!value->is_array()) throw HttpRefusal("an array was expected");
  return *value;
}

std::int32_t number(const json& object, const char* key) {
  const json* value = find(object, key);
  if (value == nullptr) return 0;
  if (!value->is_number_integer() || *value > std::numeric_limits<std::int32_t>::max() ||
      *value < std::numeric_limits<std::int32_t>::min()) {
    throw HttpRefusal("32 bits were expected");
  }
  return value->get<std::int32_t>();
}

bool counted(const std::string& name) {
  return name == "cpu" || name == "memory" || name.starts_with("nvidia.com/") ||
         name == "snug.dev/gpu-milli" || name == "snug.dev/gpu-memory-mib";
}

model::StringMap quantities(const json& object, const char* key) {
  model::StringMap out;
  const json* entries = find(object, key);
  if (entries == nullptr) return out;
  if (!entries->is_object()) throw HttpRefusal("an object was expected");
  for (const auto& [name, value] : entries->items()) {
    if (value.is_null()) continue;
    if (!counted(name)) {
      out.emplace(name, "");  // that it is there is all that counts
      continue;
    }
    if (!value.is_string() && !value.is_number()) throw HttpRefusal("a quantity was expected");
    out.emplace(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return out;
}

/// Exact for the short texts of these tests.
std::int64_t rounded_up(const std::string& text, long double factor) {
  static const std::regex kQuantity(
      R"(\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3}|[KMGTPE]i|[numkMGTPE]|))");
  static const std::map<std::string, long double> kFactors = {
      {"", 1.0L},      {"n", 1e-9L},    {"u", 1e-6L},    {"m", 1e-3L},
      {"k", 1e3L},     {"M", 1e6L},     {"G", 1e9L},     {"T", 1e12L},
      {"P", 1e15L},    {"E", 1e18L},    {"Ki", 0x1p10L}, {"Mi", 0x1p20L},
      {"Gi", 0x1p30L}, {"Ti", 0x1p40L}, {"Pi", 0x1p50L}, {"Ei", 0x1p60L}};
  std::smatch parts;
  if (!std::regex_match(text, parts, kQuantity)) throw HttpRefusal("no quantity");
  const auto suffix = kFactors.find(parts[2].str());
  const long double value = suffix == kFactors.end() ? std::stold(parts[1].str() + parts[2].str())
                                                     : std::stold(parts[1].str()) * suffix->second;
  const long double scaled = value * factor;
  const long double whole = std::ceil(scaled - std::min(1e-9L, scaled * 1e-15L));
  return whole >= 0x1p63L ? std::numeric_limits<std::int64_t>::max()
                          : static_cast<std::int64_t>(whole);
}

struct Quantities {
  std::optional<std::int64_t> cpu, memory, mirrored_milli, mirrored_mib;
  bool others = false;
  model::StringMap gpus;
};

Quantities quantities_of(const json& object, const char* key) {
  Quantities out;
  for (const auto& [name, value] : quantities(object, key)) {
    if (name == "cpu") {
      out.cpu = rounded_up(value, 1e3L);
    } else if (name == "memory") {
      out.memory = rounded_up(value, 1.0L);
    } else if (name == "snug.dev/gpu-milli") {
      out.mirrored_milli = rounded_up(value, 1.0L);
    } else if (name == "snug.dev/gpu-memory-mib") {
      out.mirrored_mib = rounded_up(value, 1.0L);
    } else if (name.starts_with("nvidia.com/")) {
      out.gpus.emplace(name, value);
    } else {
      out.others = true;
    }
  }
  return out;
}

void add_containers(model::PodFacts& pod, const json& spec, bool init) {
  for (const json& item : list(spec, init ? "initContainers" : "containers")) {
    model::ContainerFacts container;
    container.name = text(item, "name");
    const bool always = text(item, "restartPolicy") == "Always";
    if (init)
      container.type = always ? model::ContainerType::kSidecar : model::ContainerType::kInit;
    if (const json* resources = find(item, "resources"); resources != nullptr) {
      const Quantities limits = quantities_of(*resources, "limits");
      Quantities requests = quantities_of(*resources, "requests");
      container.gpu_resources = limits.gpus;
      container.gpu_resources.merge(requests.gpus);
      container.host.cpu_milli = requests.cpu.value_or(limits.cpu.value_or(0));
      container.host.memory_bytes = requests.memory.value_or(limits.memory.value_or(0));
      const auto at_most = [](std::optional<std::int64_t> limit,
                              std::optional<std::int64_t> request) {
        return std::min<std::int64_t>(limit.value_or(request.value_or(0)), 1'000'000'000);
      };
      container.mirrored = {{at_most(limits.mirrored_milli, requests.mirrored_milli)},
                            {at_most(limits.mirrored_mib, requests.mirrored_mib)}};
      pod.has_other_constraints |= limits.others || requests.others;
    }
    for (const json& port : list(item, "ports")) {
      pod.has_other_constraints |= number(port, "hostPort") != 0;
    }
    if (container.name.empty()) throw HttpRefusal("a container without a name");
    pod.containers.push_back(std::move(container));
  }
}

/// In a list that is not of a container, the two resources are like any other.
bool ties(const Quantities& list) {
  return list.others || list.mirrored_milli || list.mirrored_mib;
}

void read_pod_amounts(model::PodFacts& pod, const json& spec) {
  const Quantities overhead = quantities_of(spec, "overhead");
  pod.overhead = {overhead.cpu.value_or(0), overhead.memory.value_or(0)};
  pod.has_other_constraints |= ties(overhead);
  const json* resources = find(spec, "resources");
  if (resources == nullptr) return;
  const Quantities limits = quantities_of(*resources, "limits");
  const Quantities requests = quantities_of(*resources, "requests");
  pod.has_other_constraints |= ties(limits) || ties(requests);
  const auto none_asks = [&](std::int64_t model::HostResources::* amount) {
    return std::ranges::all_of(pod.containers, [&](const model::ContainerFacts& container) {
      return container.host.*amount == 0;
    });
  };
  pod.pod_level_cpu_milli = requests.cpu;
  pod.pod_level_memory_bytes = requests.memory;
  if (!requests.cpu && none_asks(&model::HostResources::cpu_milli))
    pod.pod_level_cpu_milli = limits.cpu;
  if (!requests.memory && none_asks(&model::HostResources::memory_bytes)) {
    pod.pod_level_memory_bytes = limits.memory;
  }
}

void read_constraints(model::PodFacts& pod, const json& spec) {
  bool& soft = pod.has_soft_preferences;
  bool& hard = pod.has_other_constraints;
  if (const json* affinity = find(spec, "affinity"); affinity != nullptr) {
    for (const char* kind : {"nodeAffinity", "podAffinity", "podAntiAffinity"}) {
      const json* terms = find(*affinity, kind);
      if (terms == nullptr) continue;
      soft |= !list(*terms, "preferredDuringSchedulingIgnoredDuringExecution").empty();
      if (kind == std::string_view("nodeAffinity")) continue;
      hard |= !list(*terms, "requiredDuringSchedulingIgnoredDuringExecution").empty();
    }
  }
  for (const json& item : list(spec, "topologySpreadConstraints")) {
    const bool any_way = text(item, "whenUnsatisfiable") == "ScheduleAnyway";
    soft |= any_way;
    hard |= !any_way;
  }
  for (const json& item : list(spec, "volumes")) {
    hard |= find(item, "persistentVolumeClaim") != nullptr || find(item, "ephemeral") != nullptr;
  }
  hard |= !list(spec, "resourceClaims").empty();
}

void read_metadata(model::PodFacts& pod, const json& metadata) {
  pod.name = text(metadata, "name");
  pod.name_space = text(metadata, "namespace");
  pod.uid = text(metadata, "uid");
  pod.resource_version = text(metadata, "resourceVersion");
  pod.creation_timestamp = text(metadata, "creationTimestamp");
  pod.terminating = !text(metadata, "deletionTimestamp").empty();
  if (const json* labels = find(metadata, "labels"); labels != nullptr) {
    if (!labels->is_object()) throw HttpRefusal("an object was expected");
    for (const auto& [key, value] : labels->items()) {
      if (value.is_null()) continue;
      if (!value.is_string()) throw HttpRefusal("a string was expected");
      pod.labels.emplace(key, value.get<std::string>());
    }
  }
  if (const json* annotations = find(metadata, "annotations"); annotations != nullptr) {
    if (!annotations->is_object()) throw HttpRefusal("an object was expected");
    for (const auto& [key, value] : annotations->items()) {
      pod.annotation_bytes +=
          key.size() + (value.is_string() ? value.get_ref<const std::string&>().size() : 0);
      if (!kept_annotation(key) || value.is_null()) continue;
      if (!value.is_string()) throw HttpRefusal("a string was expected");
      pod.annotations.emplace(key, value.get<std::string>());
    }
  }
  if (pod.name.empty() || pod.name_space.empty()) throw HttpRefusal("a pod without a name");
}

model::PodFacts read_pod(const json& object) {
  model::PodFacts pod;
  const json* metadata = find(object, "metadata");
  if (metadata == nullptr) throw HttpRefusal("a pod without metadata");
  read_metadata(pod, *metadata);
  if (const json* spec = find(object, "spec"); spec != nullptr) {
    pod.node_name = text(*spec, "nodeName");
    pod.scheduler_name = text(*spec, "schedulerName");
    pod.priority = number(*spec, "priority");
    pod.gated = !list(*spec, "schedulingGates").empty();
    add_containers(pod, *spec, true);
    add_containers(pod, *spec, false);
    read_pod_amounts(pod, *spec);
    read_constraints(pod, *spec);
  }
  if (const json* status = find(object, "status"); status != nullptr) {
    const std::string phase = text(*status, "phase");
    pod.nominated_node_name = text(*status, "nominatedNodeName");
    pod.finished = phase == "Succeeded" || phase == "Failed";
  }
  return pod;
}

void add_name(OracleCall& call, const json& name, const json* object) {
  if (!name.is_string() || name.get<std::string>().empty())
    throw HttpRefusal("a name was expected");
  auto value = name.get<std::string>();
  if (std::ranges::find(call.names, value) != call.names.end()) return;
  call.names.push_back(std::move(value));
  if (object != nullptr) call.objects.push_back(*object);
}

OracleCall read_call(const json& root, std::size_t max_names) {
  OracleCall call;
  const json* pod = find(root, "pod");
  const json* nodes = find(root, "nodes");
  const json* names = find(root, "nodenames");
  if (pod == nullptr) throw HttpRefusal("no pod");
  if ((nodes == nullptr) == (names == nullptr)) throw HttpRefusal("both or neither");
  call.pod = read_pod(*pod);
  call.nodes_form = nodes != nullptr;
  const json& items = call.nodes_form ? list(*nodes, "items") : *names;
  if (!items.is_array() || items.size() > max_names) throw HttpRefusal("too many names");
  for (const json& item : items) {
    if (!call.nodes_form) {
      add_name(call, item, nullptr);
      continue;
    }
    const json* metadata = find(item, "metadata");
    const json* name = metadata == nullptr ? nullptr : find(*metadata, "name");
    if (name == nullptr) throw HttpRefusal("a node without a name");
    add_name(call, *name, &item);
  }
  return call;
}

bool repeats_what_matters(const Builder& builder) {
  constexpr std::string_view kAnnotations = "/pod/metadata/annotations/";
  return std::ranges::any_of(builder.repeated, [&](const std::string& path) {
    if (path.starts_with(kAnnotations) &&
        kept_annotation(std::string_view{path}.substr(kAnnotations.size()))) {
      return true;
    }
    if (path.starts_with("/pod/metadata/labels/")) return true;
    const std::string overhead = "/pod/spec/overhead/";
    if (path.starts_with(overhead)) return counted(path.substr(overhead.size()));
    for (const char* owner :
         {"/pod/spec/", "/pod/spec/initContainers/[]/", "/pod/spec/containers/[]/"}) {
      for (const char* map : {"resources/limits/", "resources/requests/"}) {
        const std::string list = std::string{owner} + map;
        if (path.starts_with(list)) return counted(path.substr(list.size()));
      }
    }
    return matters(path);
  });
}

}  // namespace

std::optional<OracleCall> oracle_read(const std::string& body, std::size_t max_depth,
                                      std::size_t max_names) {
  Builder builder{max_depth};
  if (body.starts_with("\xEF\xBB\xBF") || !json::sax_parse(body, &builder)) return std::nullopt;
  if (repeats_what_matters(builder)) return std::nullopt;
  try {
    return read_call(builder.root, max_names);
  } catch (const HttpRefusal&) {
    return std::nullopt;
  }
}

json oracle_object(const std::string& text, std::size_t max_depth) {
  Builder builder{max_depth};
  // Not the outermost, whose keys are lower-cased.
  if (!json::sax_parse("[" + text + "]", &builder)) return json(json::value_t::discarded);
  return builder.root.at(0);
}

}  // namespace snug
