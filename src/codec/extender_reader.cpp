#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "codec/kube_json.hpp"
#include "snug/base/name_hash.hpp"
#include "snug/codec/extender_codec.hpp"
#include "snug/codec/object_names.hpp"

namespace snug::codec {
namespace {

using simdjson::dom::element;

/// Detects duplicates among the names of a call. It is a hash table with open addressing, and is
/// reused between calls.
class SeenNames {
 public:
  void reset(std::size_t most_names) {
    name_slots_.assign(std::bit_ceil(most_names * 2 + 2), NameSlot{});
    slot_mask_ = name_slots_.size() - 1;
  }

  void trim() {
    if (name_slots_.capacity() * sizeof(NameSlot) > base::kMaxPooledBufferBytes)
      std::vector<NameSlot>{}.swap(name_slots_);
  }

  /// Returns true if the name is new. The caller must then store it as names[position].
  bool insert(std::string_view name, std::size_t position,
              std::span<const std::string_view> names) {
    const std::uint64_t hash = base::name_hash(name);
    const auto hash_tag = static_cast<std::uint32_t>(hash >> 32U);
    for (std::size_t slot_index = hash & slot_mask_;; slot_index = (slot_index + 1) & slot_mask_) {
      NameSlot& name_slot = name_slots_[slot_index];
      if (name_slot.position_plus_one == 0) {
        name_slot = {hash_tag, static_cast<std::uint32_t>(position + 1)};
        return true;
      }
      if (name_slot.hash_tag == hash_tag && names[name_slot.position_plus_one - 1] == name)
        return false;
    }
  }

 private:
  struct NameSlot {
    std::uint32_t hash_tag = 0;
    std::uint32_t position_plus_one = 0;  // the name's position + 1; 0: the slot is free
  };
  std::vector<NameSlot> name_slots_;
  std::size_t slot_mask_ = 0;
};

/// Returns a name that is in `names` more than once. Empty if there is none.
std::string_view repeated_name(std::vector<std::string_view> names) {
  std::ranges::sort(names);
  const auto repeat = std::ranges::adjacent_find(names);
  return repeat == names.end() ? std::string_view{} : *repeat;
}

/// Reads NodeNameToVictims or NodeNameToMetaVictims, which map node names to victims. A victim is a
/// complete pod in the former, and only a uid in the latter.
class VictimsReader {
 public:
  /// `whole_pods` says whether the map is NodeNameToVictims. `preemptor_uid` is the uid of the pod
  /// to be scheduled.
  VictimsReader(bool whole_pods, std::string_view preemptor_uid, const base::Limits& limits)
      : whole_pods_(whole_pods), preemptor_uid_(preemptor_uid), limits_(limits) {}

  base::Result<std::vector<NodeVictims>> read(const Field& victims_by_node) {
    victims_walk_.each_entry(
        victims_by_node, FieldPath{},
        [&](std::string_view node, const element& node_victims, const FieldPath& node_path) {
          read_node(node, node_victims, node_path);
        });
    if (!victims_walk_.ok()) return victims_walk_.take_error();
    std::vector<std::string_view> node_names;
    node_names.reserve(candidates_.size());
    for (const NodeVictims& candidate : candidates_) node_names.push_back(candidate.node);
    if (const std::string_view node = repeated_name(std::move(node_names)); !node.empty()) {
      return base::fail(base::ErrorCode::kInvalid, std::string{victims_by_node.key} + " has node " +
                                                       std::string{node} + " twice");
    }
    return std::move(candidates_);
  }

 private:
  void read_node(std::string_view node, const element& node_victims, const FieldPath& node_path) {
    if (node.empty())
      return victims_walk_.fail_at(node_path, "has an empty key; a node must have a name");
    if (std::cmp_equal(candidates_.size(), limits_.max_names_per_call)) {
      return too_many("nodes", limits_.max_names_per_call);
    }
    NodeVictims& candidate = candidates_.emplace_back(NodeVictims{.node = node, .uids = {}});
    if (node_victims.is_null()) return;
    std::array<Field, 2> victims_fields{{{"Pods"}, {"NumPDBViolations"}}};
    victims_walk_.fields(node_victims, node_path, victims_fields, KeyCase::kAny);
    if (victims_fields[1].present &&
        (victims_fields[1].value.get(candidate.pdb_violations) != simdjson::SUCCESS ||
         candidate.pdb_violations < 0)) {
      return victims_walk_.fail_at(FieldPath{&node_path, victims_fields[1].key},
                                   "must be an integer of 64 bits, and not negative");
    }
    victims_walk_.each_item(
        victims_fields[0], node_path, [&](const element& victim, const FieldPath& victim_path) {
          if (std::cmp_equal(victim_count_, limits_.max_victims_per_call)) {
            return too_many("victims", limits_.max_victims_per_call);
          }
          ++victim_count_;
          candidate.uids.push_back(whole_pods_ ? uid_of_pod(victim, victim_path)
                                               : uid_in(victim, victim_path, KeyCase::kAny));
          if (victims_walk_.ok() && candidate.uids.back() == preemptor_uid_) {
            victims_walk_.fail_at(victim_path,
                                  "is the pod to be scheduled; it cannot be evicted for itself");
          }
        });
    if (victims_walk_.ok() && !repeated_name(candidate.uids).empty()) {
      victims_walk_.fail_at(node_path, "has a pod twice");
    }
  }

  std::string_view uid_of_pod(const element& pod, const FieldPath& pod_path) {
    std::array<Field, 1> metadata{{{"metadata"}}};
    victims_walk_.fields(pod, pod_path, metadata);
    const FieldPath metadata_path{&pod_path, metadata[0].key};
    if (metadata[0].present) return uid_in(metadata[0].value, metadata_path, KeyCase::kExact);
    victims_walk_.fail_at(metadata_path, "is missing");
    return {};
  }

  /// Reads the uid. Its key is `uid` in Kubernetes objects, and `UID` in the structs of the
  /// extender API.
  std::string_view uid_in(const element& object, const FieldPath& object_path, KeyCase key_case) {
    std::array<Field, 1> uid_field{{{key_case == KeyCase::kExact ? "uid" : "UID"}}};
    victims_walk_.fields(object, object_path, uid_field, key_case);
    std::string_view uid;
    if (victims_walk_.ok() && (!uid_field[0].present ||
                               uid_field[0].value.get(uid) != simdjson::SUCCESS || uid.empty())) {
      victims_walk_.fail_at(FieldPath{&object_path, uid_field[0].key},
                            "must be a string that is not empty");
    }
    return uid;
  }

  void too_many(std::string_view what, std::int64_t limit) {
    victims_walk_.fail_with({.code = base::ErrorCode::kTooLarge,
                             .message = "there are too many " + std::string{what} + "; at most " +
                                        std::to_string(limit) + " are allowed"});
  }

  bool whole_pods_;
  std::string_view preemptor_uid_;
  const base::Limits& limits_;
  DomWalk victims_walk_;
  std::vector<NodeVictims> candidates_;
  std::int64_t victim_count_ = 0;
};

/// Views in the result are valid while the document of `body` exists.
base::Result<PreemptCall> preempt_from(const element& body, const base::Limits& limits) {
  DomWalk body_walk;
  std::array<Field, 3> call_fields{{{"Pod"}, {"NodeNameToVictims"}, {"NodeNameToMetaVictims"}}};
  const auto& [pod_field, victims, meta_victims] = call_fields;
  body_walk.fields(body, FieldPath{nullptr, "the body"}, call_fields, KeyCase::kAny);
  if (!body_walk.ok()) return body_walk.take_error();
  if (!pod_field.present) {
    return base::fail(base::ErrorCode::kInvalid, "Pod is missing or null; it must be an object");
  }
  if (victims.present == meta_victims.present) {
    return base::fail(
        base::ErrorCode::kInvalid,
        std::string{victims.present ? "both" : "neither"} +
            " of NodeNameToVictims and NodeNameToMetaVictims came; there must be one");
  }
  base::Result<model::PodFacts> preemptor =
      pod_from(pod_field.value, FieldPath{nullptr, pod_field.key});
  if (!preemptor) return std::unexpected(std::move(preemptor.error()));
  auto candidates = VictimsReader(victims.present, preemptor->uid, limits)
                        .read(victims.present ? victims : meta_victims);
  if (!candidates) return std::unexpected(std::move(candidates.error()));
  return PreemptCall{.pod = std::move(*preemptor), .candidates = std::move(*candidates)};
}

}  // namespace

struct ExtenderReader::State {
  explicit State(const base::Limits& the_limits)
      : limits{the_limits},
        parser{the_limits},
        max_names{static_cast<std::size_t>(the_limits.max_names_per_call)} {}

  /// Prepares `seen_names` and `call` for the nodes in `node_list`. Fails if `node_list` is not an
  /// array or has too many entries.
  base::Result<void> start_names(const element& node_list, std::string_view list_key,
                                 ScheduleCall& call) {
    simdjson::dom::array listed_nodes;
    if (node_list.get(listed_nodes) != simdjson::SUCCESS) {
      return base::fail(base::ErrorCode::kInvalid, std::string{list_key} + " must be an array");
    }
    std::size_t node_count = listed_nodes.size();
    // simdjson counts only up to 2^24 - 1, which is far above the limit.
    if (node_count > max_names) {
      return base::fail(base::ErrorCode::kTooLarge,
                        std::string{list_key} + " has " + std::to_string(node_count) +
                            " entries; at most " + std::to_string(max_names) + " are allowed");
    }
    seen_names.reset(node_count);
    call.node_names.reserve(node_count);
    return {};
  }

  base::Result<void> read_names(const Field& names_field, ScheduleCall& call) {
    if (base::Result<void> list_check = start_names(names_field.value, "NodeNames", call);
        !list_check) {
      return list_check;
    }
    DomWalk names_walk;
    names_walk.each_item(
        names_field, FieldPath{}, [&](const element& name_item, const FieldPath& name_path) {
          std::string_view name;
          if (name_item.get(name) != simdjson::SUCCESS || name.empty()) {
            return names_walk.fail_at(name_path, "must be a string that is not empty");
          }
          if (seen_names.insert(name, call.node_names.size(), call.node_names))
            call.node_names.push_back(name);
        });
    if (!names_walk.ok()) return names_walk.take_error();
    return {};
  }

  base::Result<void> read_objects(const Field& nodes_field, ScheduleCall& call) {
    call.has_node_objects = true;
    const FieldPath nodes_path{nullptr, nodes_field.key};
    DomWalk nodes_walk;
    std::array<Field, 1> items_field{{{"items"}}};
    nodes_walk.fields(nodes_field.value, nodes_path, items_field);
    if (!nodes_walk.ok()) return nodes_walk.take_error();
    if (!items_field[0].present) return {};
    if (base::Result<void> list_check = start_names(items_field[0].value, "Nodes.items", call);
        !list_check) {
      return list_check;
    }
    nodes_walk.each_item(
        items_field[0], nodes_path, [&](const element& node_object, const FieldPath& node_path) {
          const base::Result<std::string_view> node_name = object_name(node_object, node_path);
          if (!node_name) return nodes_walk.fail_with(node_name.error());
          if (!seen_names.insert(*node_name, call.node_names.size(), call.node_names)) return;
          call.node_names.push_back(*node_name);
          call.node_objects.push_back(simdjson::minify(node_object));
        });
    if (!nodes_walk.ok()) return nodes_walk.take_error();
    return {};
  }

  base::Limits limits;
  DomParser parser;
  SeenNames seen_names;
  std::size_t max_names;
};

ExtenderReader::ExtenderReader(const base::Limits& limits)
    : state_{std::make_unique<State>(limits)} {}
ExtenderReader::~ExtenderReader() = default;
ExtenderReader::ExtenderReader(ExtenderReader&&) noexcept = default;
ExtenderReader& ExtenderReader::operator=(ExtenderReader&&) noexcept = default;

base::Result<ScheduleCall> ExtenderReader::read_schedule(std::string& body) {
  const base::Result<element> json_body = state_->parser.parse_in_place(body);
  if (!json_body) return std::unexpected(json_body.error());
  DomWalk body_walk;
  std::array<Field, 3> call_fields{{{"Pod"}, {"Nodes"}, {"NodeNames"}}};
  const auto& [pod_field, nodes_field, names_field] = call_fields;
  body_walk.fields(*json_body, FieldPath{nullptr, "the body"}, call_fields, KeyCase::kAny);
  if (!body_walk.ok()) return body_walk.take_error();
  if (!pod_field.present) {
    return base::fail(base::ErrorCode::kInvalid, "Pod is missing or null; it must be an object");
  }
  if (nodes_field.present == names_field.present) {
    return base::fail(base::ErrorCode::kInvalid,
                      std::string{nodes_field.present ? "both" : "neither"} +
                          " of Nodes and NodeNames came; there must be one");
  }
  base::Result<model::PodFacts> pod_facts =
      pod_from(pod_field.value, FieldPath{nullptr, pod_field.key});
  if (!pod_facts) return std::unexpected(std::move(pod_facts.error()));
  ScheduleCall call;
  call.pod = std::move(*pod_facts);
  base::Result<void> node_names = nodes_field.present ? state_->read_objects(nodes_field, call)
                                                      : state_->read_names(names_field, call);
  if (!node_names) return std::unexpected(std::move(node_names.error()));
  return call;
}

base::Result<PreemptCall> ExtenderReader::read_preempt(std::string& body) {
  const base::Result<element> json_body = state_->parser.parse_in_place(body);
  if (!json_body) return std::unexpected(json_body.error());
  return preempt_from(*json_body, state_->limits);
}

base::Result<BindCall> ExtenderReader::read_bind(std::string& body) {
  const base::Result<element> json_body = state_->parser.parse_in_place(body);
  if (!json_body) return std::unexpected(json_body.error());
  DomWalk body_walk;
  const FieldPath body_path{};
  std::array<Field, 4> bind_fields{{{"PodName"}, {"PodNamespace"}, {"PodUID"}, {"Node"}}};
  body_walk.fields(*json_body, FieldPath{nullptr, "the body"}, bind_fields, KeyCase::kAny);
  BindCall call;
  std::array<std::string*, 4> bind_names{&call.pod, &call.name_space, &call.uid, &call.node};
  for (std::size_t i = 0; i < bind_fields.size(); ++i) {
    body_walk.text(bind_fields[i], body_path, *bind_names[i]);
    if (bind_names[i]->empty()) {
      body_walk.fail_at(FieldPath{nullptr, bind_fields[i].key},
                        "must be a string that is not empty");
    } else if (bind_names[i]->size() > kMaxObjectName) {  // a uid is shorter than a name
      body_walk.fail_at(FieldPath{nullptr, bind_fields[i].key},
                        "must have at most " + std::to_string(kMaxObjectName) + " characters");
    }
  }
  if (!body_walk.ok()) return body_walk.take_error();
  return call;
}

void ExtenderReader::trim() {
  state_->parser.trim();
  state_->seen_names.trim();
}

}  // namespace snug::codec
