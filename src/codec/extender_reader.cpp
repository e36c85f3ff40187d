#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "codec/kube_json.hpp"
#include "snug/base/name_hash.hpp"
#include "snug/codec/extender_codec.hpp"

namespace snug::codec {
namespace {

using simdjson::dom::element;

constexpr std::size_t kLongestName = 253;  // the longest name in Kubernetes; uids are shorter

/// Detects duplicates among the names of a call. It is a hash table with open addressing, and is
/// reused between calls.
class SeenNames {
 public:
  void reset(std::size_t most) {
    slots_.assign(std::bit_ceil(most * 2 + 2), Slot{});
    mask_ = slots_.size() - 1;
  }

  void trim() {
    if (slots_.capacity() * sizeof(Slot) > base::kMaxPooledBufferBytes)
      std::vector<Slot>{}.swap(slots_);
  }

  /// Returns true if the name is new. The caller must then store it as names[position].
  bool insert(std::string_view name, std::size_t position,
              std::span<const std::string_view> names) {
    const std::uint64_t hash = base::name_hash(name);
    const auto tag = static_cast<std::uint32_t>(hash >> 32U);
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.position_plus_one == 0) {
        slot = {tag, static_cast<std::uint32_t>(position + 1)};
        return true;
      }
      if (slot.tag == tag && names[slot.position_plus_one - 1] == name) return false;
    }
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t position_plus_one = 0;  // the name's position + 1; 0: the slot is free
  };
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
};

/// Returns a name that is in `names` more than once. Empty if there is none.
std::string_view repeated(std::vector<std::string_view> names) {
  std::ranges::sort(names);
  const auto found = std::ranges::adjacent_find(names);
  return found == names.end() ? std::string_view{} : *found;
}

/// Reads NodeNameToVictims or NodeNameToMetaVictims, which map node names to victims. A victim is a
/// complete pod in the former, and only a uid in the latter.
class VictimsReader {
 public:
  /// `whole_pods` says whether the map is NodeNameToVictims. `pod` is the uid of the preemptor.
  VictimsReader(bool whole_pods, std::string_view pod, const base::Limits& limits)
      : whole_pods_(whole_pods), pod_(pod), limits_(limits) {}

  base::Result<std::vector<NodeVictims>> read(const Field& map) {
    walk_.each_entry(map, FieldPath{},
                     [&](std::string_view node, const element& value, const FieldPath& where) {
                       read_node(node, value, where);
                     });
    if (!walk_.ok()) return walk_.take_error();
    std::vector<std::string_view> names;
    names.reserve(offers_.size());
    for (const NodeVictims& offer : offers_) names.push_back(offer.node);
    if (const std::string_view node = repeated(std::move(names)); !node.empty()) {
      return base::fail(base::ErrorCode::kInvalid,
                        std::string{map.key} + " has node " + std::string{node} + " twice");
    }
    return std::move(offers_);
  }

 private:
  void read_node(std::string_view node, const element& value, const FieldPath& where) {
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
      return walk_.fail_at(FieldPath{&where, wanted[1].key},
                           "must be an integer of 64 bits, and not negative");
    }
    walk_.each_item(wanted[0], where, [&](const element& pod, const FieldPath& here) {
      if (std::cmp_equal(victims_, limits_.max_victims_per_call)) {
        return too_many("victims", limits_.max_victims_per_call);
      }
      ++victims_;
      offer.uids.push_back(whole_pods_ ? uid_of_pod(pod, here) : uid_in(pod, here, KeyCase::kAny));
      if (walk_.ok() && offer.uids.back() == pod_) {
        walk_.fail_at(here, "is the pod to be scheduled; it cannot be evicted for itself");
      }
    });
    if (walk_.ok() && !repeated(offer.uids).empty()) {
      walk_.fail_at(where, "has a pod twice");
    }
  }

  std::string_view uid_of_pod(const element& pod, const FieldPath& where) {
    std::array<Field, 1> metadata{{{"metadata"}}};
    walk_.fields(pod, where, metadata);
    const FieldPath here{&where, metadata[0].key};
    if (metadata[0].present) return uid_in(metadata[0].value, here, KeyCase::kExact);
    walk_.fail_at(here, "is missing");
    return {};
  }

  /// Reads the uid. Its key is `uid` in Kubernetes objects, and `UID` in the structs of the
  /// extender API.
  std::string_view uid_in(const element& object, const FieldPath& where, KeyCase key_case) {
    std::array<Field, 1> uid{{{key_case == KeyCase::kExact ? "uid" : "UID"}}};
    walk_.fields(object, where, uid, key_case);
    std::string_view text;
    if (walk_.ok() &&
        (!uid[0].present || uid[0].value.get(text) != simdjson::SUCCESS || text.empty())) {
      walk_.fail_at(FieldPath{&where, uid[0].key}, "must be a string that is not empty");
    }
    return text;
  }

  void too_many(std::string_view what, std::int64_t most) {
    walk_.fail_with({.code = base::ErrorCode::kTooLarge,
                     .message = "there are too many " + std::string{what} + "; at most " +
                                std::to_string(most) + " are allowed"});
  }

  bool whole_pods_;
  std::string_view pod_;
  const base::Limits& limits_;
  DomWalk walk_;
  std::vector<NodeVictims> offers_;
  std::int64_t victims_ = 0;
};

/// Views in the result are valid while the document of `body` exists.
base::Result<PreemptCall> preempt_from(const element& body, const base::Limits& limits) {
  DomWalk walk;
  std::array<Field, 3> wanted{{{"Pod"}, {"NodeNameToVictims"}, {"NodeNameToMetaVictims"}}};
  const auto& [pod, whole, meta] = wanted;
  walk.fields(body, FieldPath{nullptr, "the body"}, wanted, KeyCase::kAny);
  if (!walk.ok()) return walk.take_error();
  if (!pod.present) {
    return base::fail(base::ErrorCode::kInvalid, "Pod is missing or null; it must be an object");
  }
  if (whole.present == meta.present) {
    return base::fail(
        base::ErrorCode::kInvalid,
        std::string{whole.present ? "both" : "neither"} +
            " of NodeNameToVictims and NodeNameToMetaVictims came; there must be one");
  }
  base::Result<model::PodFacts> facts = pod_from(pod.value, FieldPath{nullptr, pod.key});
  if (!facts) return std::unexpected(std::move(facts.error()));
  auto offers = VictimsReader(whole.present, facts->uid, limits).read(whole.present ? whole : meta);
  if (!offers) return std::unexpected(std::move(offers.error()));
  return PreemptCall{.pod = std::move(*facts), .candidates = std::move(*offers)};
}

}  // namespace

struct ExtenderReader::State {
  explicit State(const base::Limits& the_limits)
      : limits{the_limits},
        parser{the_limits},
        max_names{static_cast<std::size_t>(the_limits.max_names_per_call)} {}

  /// Prepares `seen` and `call` for the names in `list`. Fails if `list` is not an array or has too
  /// many entries.
  base::Result<void> start_names(const element& list, std::string_view what, ScheduleCall& call) {
    simdjson::dom::array items;
    if (list.get(items) != simdjson::SUCCESS) {
      return base::fail(base::ErrorCode::kInvalid, std::string{what} + " must be an array");
    }
    std::size_t count = items.size();
    // simdjson counts only up to 2^24 - 1, which is far above the limit.
    if (count > max_names) {
      return base::fail(base::ErrorCode::kTooLarge,
                        std::string{what} + " has " + std::to_string(count) + " entries; at most " +
                            std::to_string(max_names) + " are allowed");
    }
    seen.reset(count);
    call.node_names.reserve(count);
    return {};
  }

  base::Result<void> read_names(const Field& field, ScheduleCall& call) {
    if (base::Result<void> started = start_names(field.value, "NodeNames", call); !started) {
      return started;
    }
    DomWalk walk;
    walk.each_item(field, FieldPath{}, [&](const element& item, const FieldPath& where) {
      std::string_view name;
      if (item.get(name) != simdjson::SUCCESS || name.empty()) {
        return walk.fail_at(where, "must be a string that is not empty");
      }
      if (seen.insert(name, call.node_names.size(), call.node_names))
        call.node_names.push_back(name);
    });
    if (!walk.ok()) return walk.take_error();
    return {};
  }

  base::Result<void> read_objects(const Field& field, ScheduleCall& call) {
    call.has_node_objects = true;
    const FieldPath here{nullptr, field.key};
    DomWalk walk;
    std::array<Field, 1> items{{{"items"}}};
    walk.fields(field.value, here, items);
    if (!walk.ok()) return walk.take_error();
    if (!items[0].present) return {};
    if (base::Result<void> started = start_names(items[0].value, "Nodes.items", call); !started) {
      return started;
    }
    walk.each_item(items[0], here, [&](const element& item, const FieldPath& where) {
      const base::Result<std::string_view> name = object_name(item, where);
      if (!name) return walk.fail_with(name.error());
      if (!seen.insert(*name, call.node_names.size(), call.node_names)) return;
      call.node_names.push_back(*name);
      call.node_objects.push_back(simdjson::minify(item));
    });
    if (!walk.ok()) return walk.take_error();
    return {};
  }

  base::Limits limits;
  DomParser parser;
  SeenNames seen;
  std::size_t max_names;
};

ExtenderReader::ExtenderReader(const base::Limits& limits)
    : state_{std::make_unique<State>(limits)} {}
ExtenderReader::~ExtenderReader() = default;
ExtenderReader::ExtenderReader(ExtenderReader&&) noexcept = default;
ExtenderReader& ExtenderReader::operator=(ExtenderReader&&) noexcept = default;

base::Result<ScheduleCall> ExtenderReader::read_schedule(std::string& body) {
  const base::Result<element> root = state_->parser.parse_in_place(body);
  if (!root) return std::unexpected(root.error());
  DomWalk walk;
  std::array<Field, 3> wanted{{{"Pod"}, {"Nodes"}, {"NodeNames"}}};
  const auto& [pod, nodes, node_names] = wanted;
  walk.fields(*root, FieldPath{nullptr, "the body"}, wanted, KeyCase::kAny);
  if (!walk.ok()) return walk.take_error();
  if (!pod.present) {
    return base::fail(base::ErrorCode::kInvalid, "Pod is missing or null; it must be an object");
  }
  if (nodes.present == node_names.present) {
    return base::fail(base::ErrorCode::kInvalid,
                      std::string{nodes.present ? "both" : "neither"} +
                          " of Nodes and NodeNames came; there must be one");
  }
  base::Result<model::PodFacts> facts = pod_from(pod.value, FieldPath{nullptr, pod.key});
  if (!facts) return std::unexpected(std::move(facts.error()));
  ScheduleCall call;
  call.pod = std::move(*facts);
  base::Result<void> names =
      nodes.present ? state_->read_objects(nodes, call) : state_->read_names(node_names, call);
  if (!names) return std::unexpected(std::move(names.error()));
  return call;
}

base::Result<PreemptCall> ExtenderReader::read_preempt(std::string& body) {
  const base::Result<element> root = state_->parser.parse_in_place(body);
  if (!root) return std::unexpected(root.error());
  return preempt_from(*root, state_->limits);
}

base::Result<BindCall> ExtenderReader::read_bind(std::string& body) {
  const base::Result<element> root = state_->parser.parse_in_place(body);
  if (!root) return std::unexpected(root.error());
  DomWalk walk;
  const FieldPath here{};
  std::array<Field, 4> wanted{{{"PodName"}, {"PodNamespace"}, {"PodUID"}, {"Node"}}};
  walk.fields(*root, FieldPath{nullptr, "the body"}, wanted, KeyCase::kAny);
  BindCall call;
  std::array<std::string*, 4> texts{&call.pod, &call.name_space, &call.uid, &call.node};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    walk.text(wanted[i], here, *texts[i]);
    if (texts[i]->empty()) {
      walk.fail_at(FieldPath{nullptr, wanted[i].key}, "must be a string that is not empty");
    } else if (texts[i]->size() > kLongestName) {
      walk.fail_at(FieldPath{nullptr, wanted[i].key}, "must have at most 253 characters");
    }
  }
  if (!walk.ok()) return walk.take_error();
  return call;
}

void ExtenderReader::trim() {
  state_->parser.trim();
  state_->seen.trim();
}

}  // namespace snug::codec
