// What Snug writes to the API server, apart from the Lease: bindings and events. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "snug/base/clock.hpp"
#include "snug/base/enum_names.hpp"
#include "snug/model/node_inventory.hpp"

namespace snug::model {

/// The single write of a bind. It sets the pod's nodeName and annotations together. The API server
/// rejects it if the pod's uid differs.
struct Binding {
  std::string name_space;
  std::string pod;
  std::string uid;
  std::string node;
  StringMap annotations;
  /// The latest time at which the binding may be sent.
  base::TimePoint not_after = base::TimePoint::max();
};

/// The kind of the object that an event is about.
enum class ObjectKind : std::uint8_t { kPod, kNode, kLease };
inline constexpr base::EnumNames kObjectKindNames{
    std::array{base::EnumName{ObjectKind::kPod, "Pod"}, base::EnumName{ObjectKind::kNode, "Node"},
               base::EnumName{ObjectKind::kLease, "Lease"}}};

enum class EventType : std::uint8_t { kWarning, kNormal };
inline constexpr base::EnumNames kEventTypeNames{std::array{
    base::EnumName{EventType::kWarning, "Warning"}, base::EnumName{EventType::kNormal, "Normal"}}};

/// A Kubernetes event about one object.
struct Notice {
  std::string name_space;  // of the object; empty for a node
  std::string name;        // of the object
  std::string uid;         // of the object; for a node its name, as the kubelet writes it
  std::string reason;      // a constant in CamelCase
  std::string note;        // one sentence
  ObjectKind about = ObjectKind::kPod;
  EventType type = EventType::kWarning;
};

}  // namespace snug::model
