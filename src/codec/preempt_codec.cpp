#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "codec/json_text.hpp"
#include "codec/preempt_reading.hpp"

namespace snug {
namespace {

using simdjson::dom::element;

/// The one of them that comes more than once; empty: none.
std::string_view repeated(std::vector<std::string_view> names) {
  std::ranges::sort(names);
  const auto found = std::ranges::adjacent_find(names);
  return found == names.end() ? std::string_view{} : *found;
}

/// Reads one of the two maps: from node names to victims, which are whole pods or their uids alone.
class VictimsReader {
 public:
  /// `pod` is the uid of the one that is to come in.
  VictimsReader(bool whole_pods, std::string_view pod, const Limits& limits)
      : whole_pods_(whole_pods), pod_(pod), limits_(limits) {}

  Result<std::vector<NodeVictims>> read(const Field& map) {
    walk_.each_entry(map, Where{},
                     [&](std::string_view node, const element& value, const Where& where) {
                       read_node(node, value, where);
                     });
    if (!walk_.ok()) return walk_.take_error();
    std::vector<std::string_view> names;
    names.reserve(offers_.size());
    for (const NodeVictims& offer : offers_) names.push_back(offer.node);
    if (const std::string_view node = repeated(std::move(names)); !node.empty()) {
      return fail(ErrorCode::kInvalid,
                  std::string{map.key} + " has node " + std::string{node} + " twice");
    }
    return std::move(offers_);
  }

 private:
  void read_node(std::string_view node, const element& value, const Where& where) {
    if (node.empty()) return walk_.fail_at(where, "has an empty key; a node must have a name");
    if (std::cmp_equal(offers_.size(), limits_.max_names_per_call)) {
      return too_many("nodes", limits_.max_names_per_call);
    }
    NodeVictims& offer = offers_.emplace_back(NodeVictims{.node = node, .uids = {}});
    if (value.is_null()) return;
    std::array<Field, 2> wanted{{{"Pods"}, {"NumPDBViolations"}}};
    walk_.fields(value, where, wanted, KeyCase::kAny);
    if (wanted[1].present && (wanted[1].value.get(offer.pdb_violations) != simdjson::SUCCESS ||
                              offer.pdb_violations < 0)) {
      return walk_.fail_at(Where{&where, wanted[1].key},
                           "must be an integer of 64 bits, and not negative");
    }
    walk_.each_item(wanted[0], where, [&](const element& pod, const Where& here) {
      if (std::cmp_equal(victims_, limits_.max_victims_per_call)) {
        return too_many("victims", limits_.max_victims_per_call);
      }
      ++victims_;
      offer.uids.push_back(whole_pods_ ? uid_of_pod(pod, here) : uid_in(pod, here, KeyCase::kAny));
      if (walk_.ok() && offer.uids.back() == pod_) {
        walk_.fail_at(here, "is the pod that is to come in; it cannot be evicted for itself");
      }
    });
    if (walk_.ok() && !repeated(offer.uids).empty()) {
      walk_.fail_at(where, "has a pod twice");
    }
  }

  std::string_view uid_of_pod(const element& pod, const Where& where) {
    std::array<Field, 1> metadata{{{"metadata"}}};
    walk_.fields(pod, where, metadata);
    const Where here{&where, metadata[0].key};
    if (metadata[0].present) return uid_in(metadata[0].value, here, KeyCase::kExact);
    walk_.fail_at(here, "is missing");
    return {};
  }

  /// Uids are `uid` in Kubernetes objects and `UID` in the extender's own.
  std::string_view uid_in(const element& object, const Where& where, KeyCase key_case) {
    std::array<Field, 1> uid{{{key_case == KeyCase::kExact ? "uid" : "UID"}}};
    walk_.fields(object, where, uid, key_case);
    std::string_view text;
    if (walk_.ok() &&
        (!uid[0].present || uid[0].value.get(text) != simdjson::SUCCESS || text.empty())) {
      walk_.fail_at(Where{&where, uid[0].key}, "must be a string that is not empty");
    }
    return text;
  }

  void too_many(std::string_view what, std::int64_t most) {
    walk_.fail_with({.code = ErrorCode::kTooLarge,
                     .message = "there are too many " + std::string{what} + "; at most " +
                                std::to_string(most) + " are allowed"});
  }

  bool whole_pods_;
  std::string_view pod_;
  const Limits& limits_;
  DomWalk walk_;
  std::vector<NodeVictims> offers_;
  std::int64_t victims_ = 0;
};

}  // namespace

Result<PreemptCall> preempt_from(const element& body, const Limits& limits) {
  DomWalk walk;
  std::array<Field, 3> wanted{{{"Pod"}, {"NodeNameToVictims"}, {"NodeNameToMetaVictims"}}};
  const auto& [pod, whole, meta] = wanted;
  walk.fields(body, Where{nullptr, "the body"}, wanted, KeyCase::kAny);
  if (!walk.ok()) return walk.take_error();
  if (!pod.present) {
    return fail(ErrorCode::kInvalid, "Pod is missing or null; it must be an object");
  }
  if (whole.present == meta.present) {
    return fail(ErrorCode::kInvalid,
                std::string{whole.present ? "both" : "neither"} +
                    " of NodeNameToVictims and NodeNameToMetaVictims came; there must be one");
  }
  Result<PodFacts> facts = pod_from(pod.value, Where{nullptr, pod.key});
  if (!facts) return std::unexpected(std::move(facts.error()));
  auto offers = VictimsReader(whole.present, facts->uid, limits).read(whole.present ? whole : meta);
  if (!offers) return std::unexpected(std::move(offers.error()));
  return PreemptCall{.pod = std::move(*facts), .offers = std::move(*offers)};
}

std::string write_preempt(std::span<const NodeVictims> victims) {
  std::string out = R"({"NodeNameToMetaVictims":{)";
  bool first_node = true;
  for (const NodeVictims& node : victims) {
    if (node.uids.empty()) continue;
    if (!std::exchange(first_node, false)) out += ',';
    append_json_string(out, node.node);
    out += R"(:{"Pods":[)";
    bool first_pod = true;
    for (const std::string_view uid : node.uids) {
      out += std::exchange(first_pod, false) ? R"({"UID":)" : R"(,{"UID":)";
      append_json_string(out, uid);
      out += '}';
    }
    out += R"(],"NumPDBViolations":)";
    out += std::to_string(node.pdb_violations);
    out += '}';
  }
  out += "}}";
  return out;
}

}  // namespace snug
