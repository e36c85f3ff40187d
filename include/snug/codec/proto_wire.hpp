// The envelope of Kubernetes' protobuf encoding: four magic bytes and a runtime.Unknown message,
// which states the object's kind and contains it. codec/kube_objects reads the objects. Pure.
#pragma once

#include <string>
#include <string_view>

namespace snug::codec {

inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";
/// The magic bytes. No message of Kubernetes begins with them: `k` would be the tag of a group.
inline constexpr std::string_view kEnvelopeMark{"k8s\0", 4};

struct ObjectNames {
  std::string name_space;
  std::string name;
};

/// The names of an object, or of the object in a watch event. The bytes may be truncated or no
/// protobuf at all; a name that is not complete in them is empty. The names are not validated.
[[nodiscard]] ObjectNames proto_object_names(std::string_view beginning);

/// Whether the frame of a watch is an event with an object in an envelope. Does not check the
/// object.
[[nodiscard]] bool is_proto_event(std::string_view frame);

/// The message of a metav1.Status in its envelope; empty if there is none.
[[nodiscard]] std::string_view proto_status_message(std::string_view bytes);

}  // namespace snug::codec
