// Reads and writes the Kubernetes objects that concern the admission webhook: the Secret with its
// certificate, the webhook configurations, and the MirrorParameters. JSON. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snug/admission/certificate_rotation.hpp"
#include "snug/admission/mirrored_resources.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"

namespace snug::codec {

/// The name of the Secret, and that of both webhook configurations.
inline constexpr std::string_view kWebhookSecret = "snug-webhook";
inline constexpr std::string_view kWebhookConfiguration = "snug";
/// The end of the names of the webhooks that are Snug's.
inline constexpr std::string_view kWebhookSuffix = ".gpu-pods.snug.dev";

/// Returns metadata.resourceVersion of an object of any kind.
[[nodiscard]] base::Result<std::string> read_version(std::string_view json,
                                                     const base::Limits& limits);

/// Keys that are absent or not base64 give empty texts.
[[nodiscard]] base::Result<admission::WebhookIdentities> read_webhook_secret(
    std::string_view json, const base::Limits& limits);
/// Returns the whole Secret, for its creation.
[[nodiscard]] std::string write_webhook_secret(const admission::WebhookIdentities& identities);
/// Returns a JSON merge patch of the Secret with this resourceVersion. The API server refuses it if
/// the Secret has changed.
[[nodiscard]] std::string write_webhook_secret_patch(const admission::WebhookIdentities& identities,
                                                     std::string_view version);

/// One webhook of a configuration, with its caBundle in base64.
struct WebhookTrust {
  std::string name;
  std::string ca_bundle;
};
[[nodiscard]] base::Result<std::vector<WebhookTrust>> read_webhook_trust(
    std::string_view json, const base::Limits& limits);
/// Returns a JSON patch that sets the caBundle of those of these webhooks that are Snug's, and no
/// other field, to `authorities` (PEM texts). Empty if all have it. The API server refuses the
/// patch if the webhooks have other names or another order.
[[nodiscard]] std::string write_trust_patch(const std::vector<WebhookTrust>& webhooks,
                                            std::string_view authorities);

[[nodiscard]] base::Result<admission::CardRange> read_mirror_parameters(std::string_view json,
                                                                        const base::Limits& limits);

}  // namespace snug::codec
