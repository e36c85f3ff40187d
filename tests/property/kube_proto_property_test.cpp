// The same pod in JSON and in protobuf, however oddly the latter is written, gives the same facts;
// and bytes that nobody would write are an error at most.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "many.hpp"
#include "random_cluster.hpp"
#include "snug/codec/kube_objects.hpp"
#include "snug/codec/proto_wire.hpp"
#include "support/kube_proto.hpp"

namespace snug::kube_proto_property_test {
namespace {

using nlohmann::json;

std::string draw_text() {
  return draw_from<std::string>({"", "a", "train-0", "Always", "\u00e4\u2603\U0001F600", "a\nb\t\"",
                                 std::string("\0", 1), "\x7F", std::string(300, 'x')});
}

std::string draw_name() { return draw_from<std::string>({"p", "train-0", "\u00e4"}); }

std::string draw_time() {
  return draw_from<std::string>({"2026-11-20T08:00:00Z", "1970-01-01T00:00:00Z",
                                 "1969-12-31T23:59:59Z", "0001-01-01T00:00:01Z",
                                 "9999-12-31T23:59:59Z"});
}

json draw_annotations() {
  json annotations = json::object();
  for (int i = draw(5); i > 0; --i) {
    annotations[draw_from<std::string>({"gpu-fraction", "gpu-memory.side", "snug.dev/reservation",
                                        "kubectl.kubernetes.io/default-container", "gpus", "",
                                        "note\u2603"})] = draw_text();
  }
  return annotations;
}

std::string draw_quantity() {
  if (one_in(100)) return draw_from<std::string>({"", "x", "-1", "1K"});
  return draw_from<std::string>({"0", "1", "2k", "500m", "1Gi", "1.5", "100u", "12e6", "8Ei"});
}

json draw_quantities() {
  json quantities = json::object();
  for (int i = draw(4); i > 0; --i) {
    quantities[draw_from<std::string>({"nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "cpu",
                                       "nvidia.com/", "memory", "cpu", "snug.dev/gpu-milli",
                                       "snug.dev/gpu-memory-mib",
                                       one_in(4) ? "ephemeral-storage" : "cpu"})] = draw_quantity();
  }
  return quantities;
}

json draw_resources() {
  json resources = json::object();
  if (!one_in(4)) resources["limits"] = draw_quantities();
  if (!one_in(4)) resources["requests"] = draw_quantities();
  return resources;
}

json draw_containers() {
  json containers = json::array();
  for (int i = draw(4); i > 0; --i) {
    json container{{"name", draw_name()}};
    if (one_in(2)) container["image"] = draw_text();
    if (one_in(2)) container["restartPolicy"] = one_in(2) ? "Always" : draw_text();
    if (one_in(2)) container["resources"] = draw_resources();
    if (one_in(6)) {
      container["ports"] = json::array({{{"containerPort", 80}}, {{"hostPort", draw(2)}}});
    }
    containers.push_back(container);
  }
  return containers;
}

json draw_affinity() {
  json affinity = json::object();
  for (const char* kind : {"nodeAffinity", "podAffinity", "podAntiAffinity"}) {
    if (!one_in(3)) continue;
    affinity[kind] = json::object();
    if (kind != std::string("nodeAffinity") && one_in(4)) {
      affinity[kind]["requiredDuringSchedulingIgnoredDuringExecution"] =
          json::array({{{"topologyKey", "zone"}}});
    }
    if (one_in(2)) continue;
    json& terms = affinity[kind]["preferredDuringSchedulingIgnoredDuringExecution"];
    terms = json::array();
    for (int i = draw(3); i > 0; --i) terms.push_back({{"weight", i}});
  }
  return affinity;
}

json draw_volumes() {
  json volumes = json::array();
  for (int i = draw(3); i > 0; --i) {
    json volume{{"name", draw_name()}};
    if (one_in(2)) volume["emptyDir"] = json::object();
    if (one_in(4)) volume["persistentVolumeClaim"] = {{"claimName", draw_name()}};
    if (one_in(4)) volume["ephemeral"] = json::object();
    volumes.push_back(volume);
  }
  return volumes;
}

json draw_spec() {
  json spec = json::object();
  if (!one_in(8)) spec["containers"] = draw_containers();
  if (one_in(2)) spec["initContainers"] = draw_containers();
  if (one_in(3)) spec["resources"] = draw_resources();
  if (one_in(3)) spec["overhead"] = draw_quantities();
  if (one_in(3)) spec["volumes"] = draw_volumes();
  if (one_in(8)) spec["resourceClaims"] = json::array({{{"name", draw_name()}}});
  if (one_in(8)) spec["schedulingGates"] = json::array({{{"name", draw_name()}}});
  if (one_in(2)) spec["nodeName"] = draw_text();
  if (one_in(2)) spec["schedulerName"] = draw_text();
  if (one_in(2)) spec["priority"] = draw_from<int>({0, 1, -1, 2'000'001'000, INT32_MIN, INT32_MAX});
  if (one_in(2)) spec["affinity"] = draw_affinity();
  if (one_in(2)) {
    spec["topologySpreadConstraints"] = json::array();
    for (int i = draw(3); i > 0; --i) {
      spec["topologySpreadConstraints"].push_back(
          {{"maxSkew", i}, {"whenUnsatisfiable", one_in(3) ? "ScheduleAnyway" : "DoNotSchedule"}});
    }
  }
  return spec;
}

json draw_pod() {
  json metadata{{"name", draw_name()}, {"namespace", draw_name()}};
  if (one_in(20)) metadata.erase(one_in(2) ? "name" : "namespace");
  if (!one_in(4)) metadata["uid"] = draw_text();
  if (!one_in(4)) metadata["resourceVersion"] = draw_text();
  if (!one_in(4)) metadata["creationTimestamp"] = draw_time();
  if (one_in(3)) metadata["deletionTimestamp"] = draw_time();
  if (!one_in(4)) metadata["annotations"] = draw_annotations();
  if (one_in(2)) metadata["labels"] = draw_annotations();
  json pod{{"metadata", metadata}};
  if (!one_in(8)) pod["spec"] = draw_spec();
  if (one_in(2)) {
    pod["status"] = {{"phase", draw_from<std::string>({"Pending", "Failed", "Succeeded", "x"})}};
    if (one_in(2)) pod["status"]["nominatedNodeName"] = draw_text();
  }
  return pod;
}

void same_facts(std::function<int(int)> oddness) {
  const json pod = draw_pod();
  const std::string bytes = proto::Writer{std::move(oddness)}.message(pod, "Pod");
  codec::KubeObjectReader reader{base::Limits{}};
  const auto from_json = reader.read_pod_event(json{{"type", "ADDED"}, {"object", pod}}.dump());
  const auto from_proto = reader.read_pod_event(
      proto::event_of("ADDED", proto::envelope("Pod", bytes)), codec::WireFormat::kProtobuf);
  RC_ASSERT(from_json.has_value() == from_proto.has_value());
  if (from_json) {
    RC_ASSERT(from_json->resource_version == from_proto->resource_version);
    RC_ASSERT((from_json->pod == from_proto->pod));
  } else {
    RC_ASSERT(from_json.error().message == from_proto.error().message);
  }
}

TEST(KubeProtoPropertyTest, APodGivesTheSameFactsInJsonAndAsGoWritesIt) {
  holds_in(2'000, [] { same_facts(nullptr); });
}

TEST(KubeProtoPropertyTest, APodGivesTheSameFactsHoweverOddlyItIsWritten) {
  holds_in(2'000, [] { same_facts([](int n) { return draw(n); }); });
}

TEST(KubeProtoPropertyTest, BrokenAndRandomBytesAreAnErrorAtMost) {
  holds_in(5'000, [] {
    std::string bytes;
    if (!one_in(4)) bytes = proto::event("ADDED", draw_pod());
    for (int i = 1 + draw(8); i > 0; --i) {
      const auto at = static_cast<std::size_t>(draw(static_cast<int>(bytes.size()) + 1));
      const std::string junk = draw_from<std::string>(
          {std::string(1, static_cast<char>(draw(256))), std::string(11, '\xFF'),
           std::string("k8s\0", 4), "\xFF\xFF\xFF\xFF\x0F", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F",
           std::string(20, '\x0A')});
      bytes.replace(at, static_cast<std::size_t>(draw(12)), junk);
    }
    codec::KubeObjectReader reader{base::Limits{}};
    const auto event = reader.read_pod_event(bytes, codec::WireFormat::kProtobuf);
    RC_ASSERT(event || !event.error().message.empty());
    const codec::ObjectNames names = codec::proto_object_names(bytes);
    RC_ASSERT(names.name.size() + names.name_space.size() <= bytes.size());
  });
}

}  // namespace
}  // namespace snug::kube_proto_property_test
