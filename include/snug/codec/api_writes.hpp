// Writes the bodies of requests to the API server: bindings, events, patches of an annotation and
// of a node's mirrored capacity, and the parameters of the admission policy. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "snug/admission/mirrored_resources.hpp"
#include "snug/model/api_writes.hpp"
#include "snug/model/mirrored_amounts.hpp"

namespace snug::codec {

/// Returns a core/v1 Binding in Kubernetes' protobuf envelope (runtime.Unknown). Its Content-Type
/// is kProtobufType of codec/proto_wire.
[[nodiscard]] std::string write_binding(const model::Binding& binding);

/// The fields of an event that do not come from its notice.
struct EventOrigin {
  std::string_view host;     // the host name of this process
  std::uint64_t number = 0;  // makes the name of the event unique
  std::chrono::system_clock::time_point time;
};
/// Returns an events.k8s.io/v1 Event as JSON. Its texts are clipped to the API server's limits.
[[nodiscard]] std::string write_event(const model::Notice& notice, const EventOrigin& origin);

/// Returns a JSON merge patch that sets one annotation of an object.
[[nodiscard]] std::string write_annotation_patch(std::string_view key, std::string_view value);

/// Returns a JSON merge patch of a node's status that sets the capacity and the allocatable of the
/// two resources that mirror shares; nullopt: that removes both resources.
[[nodiscard]] std::string write_capacity_patch(
    const std::optional<model::MirroredAmounts>& capacity);

/// Returns the object `snug` of the kind MirrorParameters (deploy/mirror-parameters.yaml) as JSON.
/// An admission policy reads it.
[[nodiscard]] std::string write_mirror_parameters(const admission::CardRange& cards);

/// Returns `time` as a Kubernetes MicroTime: RFC 3339 in UTC with microseconds.
[[nodiscard]] std::string micro_time(std::chrono::system_clock::time_point time);

}  // namespace snug::codec
