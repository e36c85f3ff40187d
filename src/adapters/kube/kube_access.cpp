#include "snug/adapters/kube/kube_access.hpp"

#include <string>
#include <utility>

#include "adapters/kube/api_caller.hpp"
#include "snug/codec/access_reviews.hpp"
#include "snug/codec/api_status.hpp"

namespace snug::kube {
namespace {

constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kAccessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

base::Limits limits_for_reviews(base::Limits limits) {
  limits.api_connections = limits.access_connections;
  return limits;
}

}  // namespace

struct KubeAccess::State {
  State(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& the_context)
      : limits(limits_for_reviews(the_context.limits)),
        context{limits, the_context.metrics, the_context.log, the_context.clock},
        api_caller(endpoint, options, context) {}

  /// Sends a review, which creates no object, and returns the API server's answer.
  base::Result<std::string> post(const char* target, std::string body);
  base::Result<bool> is_allowed(std::string access_review);

  const base::Limits limits;
  const KubeContext context;
  ApiCaller api_caller;
};

base::Result<std::string> KubeAccess::State::post(const char* target, std::string body) {
  ApiRequest request;
  request.method = "POST";
  request.target = target;
  request.content_type = "application/json";
  request.body = std::move(body);
  auto reply = api_caller.call(service::ApiCall::kReviewAccess, request);
  if (!reply) return std::unexpected(std::move(reply.error()));
  if (reply->status == 200 || reply->status == 201) return std::move(reply->body);
  return base::fail(base::ErrorCode::kUnavailable,
                    "the API server answered " + std::to_string(reply->status) +
                        " to the POST of " + target + ": " + codec::status_message(reply->body));
}

base::Result<bool> KubeAccess::State::is_allowed(std::string access_review) {
  const base::Result<std::string> reply = post(kAccessReviews, std::move(access_review));
  if (!reply) return std::unexpected(reply.error());
  return codec::read_access_review(*reply, limits);
}

KubeAccess::KubeAccess(const ApiEndpoint& endpoint, const KubeOptions& options,
                       const KubeContext& context)
    : state_(std::make_unique<State>(endpoint, options, context)) {}

KubeAccess::~KubeAccess() = default;

base::Result<std::optional<model::TokenUser>> KubeAccess::user_of(std::string_view token) {
  const base::Result<std::string> reply =
      state_->post(kTokenReviews, codec::write_token_review(token));
  if (!reply) return std::unexpected(reply.error());
  return codec::read_token_review(*reply, state_->limits);
}

base::Result<bool> KubeAccess::may_request(const model::TokenUser& user, std::string_view verb,
                                           std::string_view path) {
  return state_->is_allowed(codec::write_path_review(user, verb, path));
}

base::Result<bool> KubeAccess::may_list_pods(const model::TokenUser& user,
                                             std::string_view name_space) {
  return state_->is_allowed(codec::write_pods_review(user, name_space));
}

}  // namespace snug::kube
