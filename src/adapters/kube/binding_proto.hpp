// Encodes the body of a bind request in Kubernetes' protobuf. Pure.
#pragma once

#include <string>

#include "snug/service/ports.hpp"

namespace snug::kube {

/// Returns a core/v1 Binding in Kubernetes' protobuf envelope (runtime.Unknown). Its Content-Type
/// is kProtobufType of codec/proto_wire.
[[nodiscard]] std::string binding_proto(const service::Binding& binding);

}  // namespace snug::kube
