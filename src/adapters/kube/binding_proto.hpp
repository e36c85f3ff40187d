// The body of a bind in Kubernetes' protobuf. Pure.
#pragma once

#include <string>

#include "snug/service/ports.hpp"

namespace snug::kube {

/// core/v1 Binding in its envelope; its type is kProtobufType (codec/proto_wire).
[[nodiscard]] std::string binding_proto(const service::Binding& binding);

}  // namespace snug::kube
