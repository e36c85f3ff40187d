// What a reply to a request says about the request: done, refused by the API server, or unknown.
// Pure; thread-safe.
#pragma once

#include <string>

#include "adapters/kube/api_caller.hpp"
#include "snug/base/result.hpp"

namespace snug::kube {

/// Whether `reply` is a refusal by the API server itself: a 4xx with a Status (for a 404, with the
/// reason NotFound), or a 429 with the body of an overloaded API server. Any other 4xx may come
/// from a proxy that forwarded the request and then lost the reply.
[[nodiscard]] bool is_refusal(const ApiReply& reply);

/// The beginning of a message about a reply. `from_elsewhere`: the reply is not the API server's.
[[nodiscard]] std::string answered_by(bool from_elsewhere);

/// Returns the outcome of a write that got `reply`, or the error of a write without a reply.
/// `write_name` names the write in the error message.
[[nodiscard]] base::Result<void> write_outcome(const std::string& write_name,
                                               const base::Result<ApiReply>& reply);

}  // namespace snug::kube
