#include "snug/agent_codec/node_pods.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "agent_codec/object_reader.hpp"
#include "snug/agent/container_view.hpp"
#include "snug/request/pod_request_parser.hpp"
#include "snug/request/quantity.hpp"

namespace snug::agent_codec {
namespace {

/// The reference that Snug's webhook writes: to one of the annotations that the binding sets. The
/// key ends here, or goes on with a dot and the name of the container.
constexpr std::string_view kOwnReference = "metadata.annotations['snug.dev/visible-devices";

constexpr std::array<std::string_view, 3> kContainerLists{"initContainers", "containers",
                                                          "ephemeralContainers"};
constexpr std::array<std::string_view, 3> kStatusLists{"initContainerStatuses", "containerStatuses",
                                                       "ephemeralContainerStatuses"};

/// Capabilities with which root in a container can change the device cgroup, load kernel modules,
/// use I/O ports and physical memory, or read every file of the node, the kubelet's credentials
/// too.
constexpr std::array<std::string_view, 5> kHostCapabilities{"ALL", "SYS_ADMIN", "SYS_MODULE",
                                                            "SYS_RAWIO", "DAC_READ_SEARCH"};

bool is_own_reference(std::string_view field_path) {
  if (!field_path.starts_with(kOwnReference)) return false;
  field_path.remove_prefix(kOwnReference.size());
  return field_path.starts_with('\'') || field_path.starts_with('.');
}

/// Whether one of the limits is for GPUs and more than 0. The kubelet gives nothing for 0.
bool limits_gpus(ObjectReader& reader, const JsonPlace& limits) {
  bool found = false;
  reader.each_member(limits, [&](std::string_view resource, const JsonPlace& amount) {
    if (!request::is_kubelet_gpu_resource(resource)) return;
    const auto units = request::parse_quantity(reader.text(amount));
    if (!units) return reader.report(amount, "must be a quantity");
    found = found || *units > 0;
  });
  return found;
}

void read_resources(ObjectReader& reader, const JsonPlace& container,
                    agent::PodContainerView& view) {
  const JsonPlace resources = reader.member(container, "resources");
  const JsonPlace limits = reader.member(resources, "limits");
  view.kubelet_assigned = limits_gpus(reader, limits);
  const JsonPlace claims = reader.member(resources, "claims");
  reader.each_item(claims, [&](const JsonPlace&) { view.has_claims = true; });
}

/// Without `CAP_` and in capital letters, as runtimes compare them.
std::string capability_name(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name.starts_with("CAP_") ? name.substr(4) : name;
}

std::string host_capability(ObjectReader& reader, const JsonPlace& security) {
  std::string first;
  const JsonPlace capabilities = reader.member(security, "capabilities");
  const JsonPlace added = reader.member(capabilities, "add");
  reader.each_item(added, [&](const JsonPlace& item) {
    std::string name = capability_name(reader.text(item));
    const bool counts = std::ranges::find(kHostCapabilities, name) != kHostCapabilities.end();
    if (first.empty() && counts) first = std::move(name);
  });
  return first;
}

bool sets_visible_devices(ObjectReader& reader, const JsonPlace& container) {
  bool sets = false;
  const JsonPlace variables = reader.member(container, "env");
  reader.each_item(variables, [&](const JsonPlace& variable) {
    const JsonPlace name = reader.member(variable, "name");
    if (reader.text(name) != agent::kVisibleDevices) return;
    const JsonPlace source = reader.member(variable, "valueFrom");
    const JsonPlace reference = reader.member(source, "fieldRef");
    const JsonPlace field_path = reader.member(reference, "fieldPath");
    sets = sets || !is_own_reference(reader.text(field_path));
  });
  return sets;
}

agent::PodContainerView read_container(ObjectReader& reader, const JsonPlace& container) {
  agent::PodContainerView view;
  const JsonPlace name = reader.member(container, "name");
  view.name = reader.required_text(name);
  read_resources(reader, container, view);
  const JsonPlace security = reader.member(container, "securityContext");
  const JsonPlace privileged = reader.member(security, "privileged");
  view.privileged = reader.boolean(privileged);
  view.host_capability = host_capability(reader, security);
  view.sets_visible_devices = sets_visible_devices(reader, container);
  const JsonPlace sources = reader.member(container, "envFrom");
  reader.each_item(sources, [&](const JsonPlace&) { view.has_env_from = true; });
  return view;
}

void read_metadata(ObjectReader& reader, const JsonPlace& metadata, agent::PodView& pod) {
  const auto required = [&](std::string_view key) {
    const JsonPlace place = reader.member(metadata, key);
    return reader.required_text(place);
  };
  pod.name_space = required("namespace");
  pod.name = required("name");
  pod.uid = required("uid");
  const JsonPlace deleted = reader.member(metadata, "deletionTimestamp");
  pod.terminating = !reader.text(deleted).empty();
  bool is_mirror = false;
  std::string kubelet_uid;
  const JsonPlace annotations = reader.member(metadata, "annotations");
  reader.each_member(annotations, [&](std::string_view key, const JsonPlace& value) {
    if (key == "kubernetes.io/config.mirror") is_mirror = true;
    if (key == "kubernetes.io/config.hash") kubelet_uid = reader.text(value);
    if (key.starts_with("snug.dev/")) pod.annotations.emplace(key, reader.text(value));
  });
  pod.runtime_uid = is_mirror && !kubelet_uid.empty() ? kubelet_uid : pod.uid;
}

void read_spec(ObjectReader& reader, const JsonPlace& spec, agent::PodView& pod) {
  const JsonPlace account = reader.member(spec, "serviceAccountName");
  pod.service_account = reader.text(account);
  const JsonPlace volumes = reader.member(spec, "volumes");
  reader.each_item(volumes, [&](const JsonPlace& volume) {
    const JsonPlace host = reader.member(volume, "hostPath");
    if (!host.present()) return;
    const JsonPlace path = reader.member(host, "path");
    pod.host_paths.push_back(reader.required_text(path));
  });
  for (const std::string_view list : kContainerLists) {
    const JsonPlace containers = reader.member(spec, list);
    reader.each_item(containers, [&](const JsonPlace& container) {
      pod.containers.push_back(read_container(reader, container));
    });
  }
}

void read_container_status(ObjectReader& reader, const JsonPlace& status, agent::PodView& pod) {
  const JsonPlace name = reader.member(status, "name");
  const std::string container = reader.text(name);
  const auto found = std::ranges::find(pod.containers, container, &agent::PodContainerView::name);
  if (found == pod.containers.end()) return;
  const JsonPlace state = reader.member(status, "state");
  const JsonPlace waiting = reader.member(state, "waiting");
  const JsonPlace reason = reader.member(waiting, "reason");
  const JsonPlace message = reader.member(waiting, "message");
  found->waiting_reason = reader.text(reason);
  found->waiting_message = reader.text(message);
}

void read_status(ObjectReader& reader, const JsonPlace& status, agent::PodView& pod) {
  const JsonPlace phase = reader.member(status, "phase");
  const std::string phase_name = reader.text(phase);
  pod.finished = phase_name == "Succeeded" || phase_name == "Failed";
  for (const std::string_view list : kStatusLists) {
    const JsonPlace statuses = reader.member(status, list);
    reader.each_item(statuses, [&](const JsonPlace& container_status) {
      read_container_status(reader, container_status, pod);
    });
  }
}

agent::PodView read_pod_at(ObjectReader& reader, const JsonPlace& object) {
  agent::PodView pod;
  const JsonPlace metadata = reader.member(object, "metadata");
  const JsonPlace spec = reader.member(object, "spec");
  const JsonPlace status = reader.member(object, "status");
  read_metadata(reader, metadata, pod);
  read_spec(reader, spec, pod);
  read_status(reader, status, pod);
  return pod;
}

void read_error(ObjectReader& reader, const JsonPlace& status, NodePodEvent& event) {
  const JsonPlace code = reader.member(status, "code");
  const JsonPlace message = reader.member(status, "message");
  if (code.present() && code.value->is_number_integer()) {
    const auto number = code.value->get<std::int64_t>();
    if (std::in_range<int>(number)) event.error_code = static_cast<int>(number);
  }
  event.error_message = reader.text(message);
}

}  // namespace

base::Result<agent::PodView> read_node_pod(std::string_view json, const base::Limits& limits) {
  const auto object = parse_object(json, "the pod", limits);
  if (!object) return std::unexpected(object.error());
  ObjectReader reader;
  agent::PodView pod = read_pod_at(reader, JsonPlace{.value = &*object, .key = "pod"});
  if (!reader.ok()) return reader.error();
  return pod;
}

base::Result<NodePodEvent> read_node_pod_event(std::string_view json, const base::Limits& limits) {
  const auto parsed = parse_object(json, "the watch event", limits);
  if (!parsed) return std::unexpected(parsed.error());
  ObjectReader reader;
  const JsonPlace root{.value = &*parsed, .key = "event"};
  const JsonPlace type = reader.member(root, "type");
  const auto known_type = codec::kWatchKindNames.find(reader.text(type));
  if (!known_type) {
    reader.report(type, "must be ADDED, MODIFIED, DELETED, BOOKMARK or ERROR");
    return reader.error();
  }
  const JsonPlace object = reader.member(root, "object");
  if (!object.present()) reader.report(object, "is missing");
  if (!reader.ok()) return reader.error();
  NodePodEvent event{.type = *known_type};
  if (event.type == codec::WatchEventType::kError) {
    read_error(reader, object, event);
  } else {
    const JsonPlace metadata = reader.member(object, "metadata");
    const JsonPlace version = reader.member(metadata, "resourceVersion");
    event.resource_version = reader.required_text(version);
    if (event.type != codec::WatchEventType::kBookmark) event.pod = read_pod_at(reader, object);
  }
  if (!reader.ok()) return reader.error();
  return event;
}

}  // namespace snug::agent_codec
