// The body of preempt, once it is parsed.
#pragma once

#include "codec/kube_dom.hpp"
#include "snug/base/limits.hpp"
#include "snug/codec/extender_codec.hpp"

namespace snug {

/// The views in the call die with the element.
[[nodiscard]] Result<PreemptCall> preempt_from(const simdjson::dom::element& body,
                                               const Limits& limits);

}  // namespace snug
