// Bodies of kube-scheduler's calls: the reader agrees with a second one over nlohmann-json.
#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "property/schedule_oracle.hpp"
#include "snug/base/limits.hpp"
#include "snug/codec/extender_codec.hpp"
#include "snug/codec/json_scan.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

using nlohmann::json;

constexpr std::size_t kDepth = 16;
constexpr std::size_t kNames = 6;

base::Limits small_limits() {
  base::Limits limits;
  limits.max_json_depth = kDepth;
  limits.max_names_per_call = kNames;
  limits.max_victims_per_call = kNames;
  return limits;
}

/// The amounts in a pod come from quantities, which request_fuzz checks with exact numbers; the
/// oracle's are exact only for short texts.
void forget_amounts(model::PodFacts& pod) {
  pod.overhead = {};
  pod.pod_level_cpu_milli.reset();
  pod.pod_level_memory_bytes.reset();
  for (model::ContainerFacts& container : pod.containers) {
    container.host = {};
    container.mirrored = {};
  }
}

/// The reader does without the contents of managedFields if they make a body unreadable.
std::string readable(std::string body) {
  (void)codec::blank_managed_fields(body);
  return body;
}

void check_schedule(const std::string& input, codec::ExtenderReader& reader) {
  std::string body = input;
  auto call = reader.read_schedule(body);
  auto expected = oracle_read(input, kDepth, kNames);
  if (!expected) expected = oracle_read(readable(input), kDepth, kNames);
  require(call.has_value() == expected.has_value(),
          call ? "the reader alone accepts the call" : "the oracle alone accepts the call");
  if (!call) return require(!call.error().message.empty(), "an error has a message");
  forget_amounts(call->pod);
  forget_amounts(expected->pod);
  // A repeated key that nobody reads counts twice, and the oracle does not know stray keys.
  require(call->pod.annotation_bytes >= expected->pod.annotation_bytes, "annotation_bytes");
  expected->pod.annotation_bytes = call->pod.annotation_bytes;
  require(call->pod.stray_keys.size() <= base::kMaxStrayKeys, "stray_keys");
  expected->pod.stray_keys = call->pod.stray_keys;
  require(call->pod == expected->pod, "the pod");
  require(call->has_node_objects == expected->nodes_form, "the form of the nodes");
  require(std::ranges::equal(call->node_names, expected->names), "the names of the nodes");
  require(call->node_objects.size() == expected->objects.size(), "the number of nodes");
  for (std::size_t i = 0; i < call->node_objects.size(); ++i) {
    require(oracle_object(call->node_objects[i], kDepth) == expected->objects[i], "a node");
  }
  require(json::accept(codec::write_filter_all(*call)), "the reply is JSON");
}

/// The member `key` in any letter case; null: there is none.
json member(const json& object, std::string_view key) {
  const auto same = [](char a, char b) { return (a | 0x20) == b; };
  for (const auto& [name, value] : object.items()) {
    if (std::ranges::equal(name, key, same)) return value;
  }
  return nullptr;
}

void check_bind(const std::string& input, const json& root, codec::ExtenderReader& reader) {
  std::string body = input;
  const auto call = reader.read_bind(body);
  if (!call) return require(!call.error().message.empty(), "an error has a message");
  require(root.is_object(), "both read a bind call");
  require(member(root, "podname") == call->pod &&
              member(root, "podnamespace") == call->name_space &&
              member(root, "poduid") == call->uid && member(root, "node") == call->node,
          "the fields of a bind call");
}

void check_preempt(const std::string& input, const json& root, codec::ExtenderReader& reader) {
  std::string body = input;
  const auto call = reader.read_preempt(body);
  if (!call) return require(!call.error().message.empty(), "an error has a message");
  require(root.is_object(), "both read a preempt call");
  const json whole = member(root, "nodenametovictims");
  const json nodes = whole.is_null() ? member(root, "nodenametometavictims") : whole;
  require(nodes.size() >= call->candidates.size() && call->candidates.size() <= kNames,
          "the number of candidates");
  for (const codec::NodeVictims& candidate : call->candidates) {
    require(nodes.contains(candidate.node), "a candidate");
    const json pods = member(nodes[std::string(candidate.node)], "pods");
    require(pods.size() >= candidate.uids.size(), "the number of victims");
    for (const std::string_view uid : candidate.uids) {
      require(std::ranges::any_of(pods,
                                  [&](const json& pod) {
                                    return whole.is_null() ? member(pod, "uid") == uid
                                                           : pod.at("metadata").at("uid") == uid;
                                  }),
              "a victim");
    }
  }
  require(json::accept(codec::write_preempt(call->candidates)), "the reply is JSON");
}

}  // namespace

void take_input(std::string_view input) {
  static codec::ExtenderReader reader{small_limits()};
  const std::string body(input);
  check_schedule(body, reader);
  json root = json::parse(body, nullptr, false);
  if (root.is_discarded()) root = json::parse(readable(body), nullptr, false);
  check_bind(body, root, reader);
  check_preempt(body, root, reader);
}

}  // namespace snug::fuzz
