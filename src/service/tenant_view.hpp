// What a tenant may read of an explanation of its own pod.
#pragma once

#include "snug/codec/explain_codec.hpp"

namespace snug::service {

/// Keeps what is about the pod itself: its request, the refusal, the counts by reason, and advice
/// that changes its request. Removes what names or describes other pods, nodes and the policy.
[[nodiscard]] codec::ExplainReply tenant_view(codec::ExplainReply reply);

}  // namespace snug::service
