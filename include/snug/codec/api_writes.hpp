// Writes the bodies of requests to the API server: bindings, events and patches of an annotation.
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "snug/model/api_writes.hpp"

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

/// Returns `time` as a Kubernetes MicroTime: RFC 3339 in UTC with microseconds.
[[nodiscard]] std::string micro_time(std::chrono::system_clock::time_point time);

}  // namespace snug::codec
