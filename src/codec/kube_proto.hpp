// Watch events in Kubernetes' protobuf: a metav1.WatchEvent, bare as the API server sends it or in
// an envelope, and in it the object in its envelope. As Go reads it: unknown fields are skipped, of
// a scalar given twice the last counts, of a message given twice the parts are merged, and each
// byte that is no UTF-8 becomes U+FFFD. A known field must have its wire type. No exception leaves.
#pragma once

#include <string_view>

#include "snug/base/result.hpp"
#include "snug/codec/kube_objects.hpp"

namespace snug {

[[nodiscard]] Result<WatchEvent> pod_event_from_proto(std::string_view frame);

}  // namespace snug
