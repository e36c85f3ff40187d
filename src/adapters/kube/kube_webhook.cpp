#include "snug/adapters/kube/kube_webhook.hpp"

#include <utility>

#include "adapters/kube/api_caller.hpp"
#include "adapters/kube/reply_meaning.hpp"
#include "snug/codec/api_status.hpp"
#include "snug/codec/object_names.hpp"
#include "snug/codec/webhook_objects.hpp"

namespace snug::kube {
namespace {

constexpr const char* kConfigurations = "/apis/admissionregistration.k8s.io/v1";
constexpr const char* kParameters = "/apis/snug.dev/v1";
constexpr const char* kSecrets = "secrets";
/// How the API server answers if it does not know the kind of an object.
constexpr std::string_view kUnknownKind = "404 page not found";

base::Limits limits_for_one_call(base::Limits limits) {
  limits.api_connections = 1;
  return limits;
}

std::string target_of(const std::string& parent, const std::string& resource,
                      std::string_view name) {
  return parent + "/" + resource + "/" + std::string(name);
}

base::Result<service::StoredIdentities> stored_identities(std::string_view json,
                                                          const base::Limits& limits) {
  auto version = codec::read_version(json, limits);
  if (!version) return std::unexpected(std::move(version.error()));
  auto identities = codec::read_webhook_secret(json, limits);
  if (!identities) return std::unexpected(std::move(identities.error()));
  return service::StoredIdentities{.identities = *std::move(identities),
                                   .version = *std::move(version)};
}

}  // namespace

struct KubeWebhook::State {
  State(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& the_context,
        std::string the_name_space)
      : limits(limits_for_one_call(the_context.limits)),
        context{limits, the_context.metrics, the_context.log, the_context.clock},
        namespace_path("/api/v1/namespaces/" + the_name_space),
        name_space(std::move(the_name_space)),
        api_caller(endpoint, options, context) {}

  /// Returns the body of the object `parent`/`resource`/`name`; nullopt if it does not exist. A 404
  /// that is not the API server's own is an error.
  base::Result<std::optional<std::string>> get(const std::string& parent,
                                               const std::string& resource, std::string_view name);
  /// Sends the write. Returns the body of the reply.
  base::Result<std::string> write(const char* method, const std::string& target,
                                  const char* content_type, std::string body);

  const base::Limits limits;
  const KubeContext context;
  const std::string namespace_path;
  const std::string name_space;
  ApiCaller api_caller;
};

base::Result<std::optional<std::string>> KubeWebhook::State::get(const std::string& parent,
                                                                 const std::string& resource,
                                                                 std::string_view name) {
  ApiRequest request;
  request.target = target_of(parent, resource, name);
  request.may_be_absent = true;
  auto reply = api_caller.call(service::ApiCall::kGetWebhook, request);
  if (!reply) return std::unexpected(std::move(reply.error()));
  if (reply->status == 404 && (codec::says_not_found(reply->body, resource, name) ||
                               reply->body.starts_with(kUnknownKind))) {
    return std::optional<std::string>();
  }
  if (reply->status == 200) return std::optional(std::move(reply->body));
  return base::fail(base::ErrorCode::kUnavailable,
                    "the API server answered " + std::to_string(reply->status) + " to the GET of " +
                        request.target + ": " + codec::status_message(reply->body));
}

base::Result<std::string> KubeWebhook::State::write(const char* method, const std::string& target,
                                                    const char* content_type, std::string body) {
  ApiRequest request;
  request.method = method;
  request.target = target;
  request.content_type = content_type;
  request.body = std::move(body);
  auto reply = api_caller.call(service::ApiCall::kWriteWebhook, request);
  if (auto outcome = write_outcome("the write of " + target, reply); !outcome)
    return std::unexpected(std::move(outcome.error()));
  return std::move(reply->body);
}

KubeWebhook::KubeWebhook(const ApiEndpoint& endpoint, const KubeOptions& options,
                         const KubeContext& context, std::string name_space)
    : state_(std::make_unique<State>(endpoint, options, context, std::move(name_space))) {}

KubeWebhook::~KubeWebhook() = default;

base::Result<std::optional<service::StoredIdentities>> KubeWebhook::read_identities() {
  if (auto checked = codec::check_object_name("namespace", state_->name_space); !checked)
    return std::unexpected(std::move(checked.error()));
  const auto reply = state_->get(state_->namespace_path, kSecrets, codec::kWebhookSecret);
  if (!reply) return std::unexpected(reply.error());
  const std::optional<std::string>& secret = *reply;
  if (!secret) return std::optional<service::StoredIdentities>();
  auto stored = stored_identities(*secret, state_->limits);
  if (!stored) return std::unexpected(std::move(stored.error()));
  return std::optional(*std::move(stored));
}

base::Result<service::StoredIdentities> KubeWebhook::write_identities(
    const admission::WebhookIdentities& identities, const service::StoredIdentities* over) {
  const auto body =
      over == nullptr
          ? state_->write("POST", state_->namespace_path + "/" + kSecrets, "application/json",
                          codec::write_webhook_secret(identities))
          : state_->write("PATCH",
                          target_of(state_->namespace_path, kSecrets, codec::kWebhookSecret),
                          "application/merge-patch+json",
                          codec::write_webhook_secret_patch(identities, over->version));
  if (!body) return std::unexpected(body.error());
  return stored_identities(*body, state_->limits);
}

base::Result<bool> KubeWebhook::publish(std::string_view authorities) {
  bool was_trusted = true;
  for (const char* resource :
       {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}) {
    const auto reply = state_->get(kConfigurations, resource, codec::kWebhookConfiguration);
    if (!reply) return std::unexpected(reply.error());
    const std::optional<std::string>& configuration = *reply;
    if (!configuration) continue;
    const auto webhooks = codec::read_webhook_trust(*configuration, state_->limits);
    if (!webhooks) return std::unexpected(webhooks.error());
    std::string patch = codec::write_trust_patch(*webhooks, authorities);
    if (patch.empty()) continue;
    was_trusted = false;
    const auto written =
        state_->write("PATCH", target_of(kConfigurations, resource, codec::kWebhookConfiguration),
                      "application/json-patch+json", std::move(patch));
    if (!written) return std::unexpected(written.error());
  }
  return was_trusted;
}

base::Result<std::optional<admission::CardRange>> KubeWebhook::read_cards() {
  const auto reply = state_->get(kParameters, "mirrorparameters", "snug");
  if (!reply) return std::unexpected(reply.error());
  const std::optional<std::string>& parameters = *reply;
  if (!parameters) return std::optional<admission::CardRange>();
  const auto cards = codec::read_mirror_parameters(*parameters, state_->limits);
  if (!cards) return std::unexpected(cards.error());
  return std::optional(*cards);
}

}  // namespace snug::kube
