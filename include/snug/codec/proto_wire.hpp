// Reads the envelope of Kubernetes' protobuf encoding: four magic bytes, then a runtime.Unknown
// message, which contains the object and its kind. codec/kube_objects.hpp reads the objects. Pure.
#pragma once

#include <string>
#include <string_view>

namespace snug::codec {

inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";
/// The magic bytes of an envelope. No Kubernetes message begins with them, because `k` as a
/// protobuf tag would start a group.
inline constexpr std::string_view kEnvelopeMark{"k8s\0", 4};

struct ObjectNames {
  std::string name_space;
  std::string name;
};

/// Returns the namespace and the name of an object. `beginning` has the first bytes of the object
/// or of a watch event that contains it. Either is empty if it is truncated or if the bytes are not
/// valid protobuf. Neither is validated.
[[nodiscard]] ObjectNames proto_object_names(std::string_view beginning);

/// Whether the frame of a watch stream is an event that contains an envelope. Does not check the
/// object in the envelope.
[[nodiscard]] bool is_proto_event(std::string_view frame);

/// Returns the field `message` of a metav1.Status in an envelope. Empty if `bytes` is not an
/// envelope or has no such field.
[[nodiscard]] std::string_view proto_status_message(std::string_view bytes);

}  // namespace snug::codec
