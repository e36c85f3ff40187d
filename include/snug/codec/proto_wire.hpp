// Kubernetes' protobuf wire: each object stands in an envelope, four bytes and runtime.Unknown,
// which says the object's kind; codec/kube_objects reads it. Pure.
#pragma once

#include <string>
#include <string_view>

namespace snug {

inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";
/// What an envelope begins with. No message of Kubernetes begins so: as a field it would be a
/// group.
inline constexpr std::string_view kEnvelopeMark{"k8s\0", 4};

struct ObjectNames {
  std::string name_space;
  std::string name;
};

/// The names of an object, or of the object in a watch event, as far as they stand whole in the
/// bytes, which may be cut or no protobuf at all; empty else. Nothing says that they are valid.
[[nodiscard]] ObjectNames names_in_proto(std::string_view beginning);

/// Whether the frame of a watch is an event with an object in an envelope, whatever that holds.
[[nodiscard]] bool is_proto_event(std::string_view frame);

/// The message of a metav1.Status in its envelope; empty: there is none.
[[nodiscard]] std::string_view status_message_in_proto(std::string_view bytes);

}  // namespace snug
