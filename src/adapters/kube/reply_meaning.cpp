#include "adapters/kube/reply_meaning.hpp"

#include <optional>
#include <string_view>

#include "snug/codec/api_status.hpp"

namespace snug::kube {
namespace {

/// Body of the 429 by which an overloaded API server refuses requests; such a reply has no Status.
constexpr std::string_view kTooManyRequests = "Too many requests, please try again later.";

/// Returns the error code of a write that the API server refused with `http_status`.
base::ErrorCode code_of_refusal(int http_status) {
  switch (http_status) {
    case 404:
      return base::ErrorCode::kNotFound;
    case 408:
      return base::ErrorCode::kUnknown;
    case 409:
      return base::ErrorCode::kConflict;
    case 429:
      return base::ErrorCode::kUnavailable;
    default:
      return base::ErrorCode::kInvalid;
  }
}

}  // namespace

bool is_refusal(const ApiReply& reply) {
  if (reply.status < 400 || reply.status >= 500) return false;
  if (reply.status == 429 && reply.body.starts_with(kTooManyRequests)) return true;
  const std::optional<codec::ApiStatus> api_status = codec::read_status(reply.body);
  return api_status && api_status->code == reply.status &&
         (reply.status != 404 || api_status->reason == "NotFound");
}

std::string answered_by(bool from_elsewhere) {
  return from_elsewhere ? "something that is not the API server answered "
                        : "the API server answered ";
}

base::Result<void> write_outcome(const std::string& write_name,
                                 const base::Result<ApiReply>& reply) {
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 200 && reply->status < 300) return {};
  const bool is_api_refusal = is_refusal(*reply);
  return base::fail(is_api_refusal ? code_of_refusal(reply->status) : base::ErrorCode::kUnknown,
                    answered_by(!is_api_refusal && reply->status < 500) +
                        std::to_string(reply->status) + " to " + write_name + ": " +
                        codec::status_message(reply->body));
}

}  // namespace snug::kube
