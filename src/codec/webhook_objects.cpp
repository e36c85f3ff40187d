#include "snug/codec/webhook_objects.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json_reader.hpp"
#include "snug/base/text.hpp"

namespace snug::codec {
namespace {

using admission::ServerIdentity;
using admission::WebhookIdentities;

/// The keys of the Secret. `tls.crt`, `tls.key` and `ca.crt` are those of Secrets of the type
/// kubernetes.io/tls.
struct SecretKey {
  std::string_view key;
  ServerIdentity WebhookIdentities::* identity;
  std::string ServerIdentity::* text;
};
constexpr std::array kSecretKeys{
    SecretKey{"ca.crt", &WebhookIdentities::serving, &ServerIdentity::authority},
    SecretKey{"tls.crt", &WebhookIdentities::serving, &ServerIdentity::certificate},
    SecretKey{"tls.key", &WebhookIdentities::serving, &ServerIdentity::key},
    SecretKey{"next-ca.crt", &WebhookIdentities::next, &ServerIdentity::authority},
    SecretKey{"next-tls.crt", &WebhookIdentities::next, &ServerIdentity::certificate},
    SecretKey{"next-tls.key", &WebhookIdentities::next, &ServerIdentity::key}};
constexpr std::string_view kOldAuthorityKey = "old-ca.crt";

/// Keys without a text are null, which removes them in a merge patch.
nlohmann::json secret_data(const WebhookIdentities& identities) {
  nlohmann::json data = nlohmann::json::object();
  const auto put = [&](std::string_view key, const std::string& text) {
    nlohmann::json& value = data[std::string(key)];
    if (!text.empty()) value = base::encode_base64(text);
  };
  for (const SecretKey& row : kSecretKeys) put(row.key, identities.*row.identity.*row.text);
  put(kOldAuthorityKey, identities.old_authority);
  return data;
}

}  // namespace

base::Result<std::string> read_version(std::string_view json, const base::Limits& limits) {
  return read_json(json, "an object", limits.max_json_depth,
                   [](JsonReader& reader, const JsonCursor& root) {
                     const JsonCursor metadata = reader.required(root, "metadata");
                     return reader.nonempty_text(reader.required(metadata, "resourceVersion"));
                   });
}

base::Result<WebhookIdentities> read_webhook_secret(std::string_view json,
                                                    const base::Limits& limits) {
  return read_json(
      json, "the Secret", limits.max_json_depth, [](JsonReader& reader, const JsonCursor& root) {
        const JsonCursor data = reader.member(root, "data");
        const auto text_of = [&](std::string_view key) {
          return base::decode_base64(reader.text(reader.member(data, key))).value_or("");
        };
        WebhookIdentities identities;
        for (const SecretKey& row : kSecretKeys)
          identities.*row.identity.*row.text = text_of(row.key);
        identities.old_authority = text_of(kOldAuthorityKey);
        return identities;
      });
}

std::string write_webhook_secret(const WebhookIdentities& identities) {
  nlohmann::json data = secret_data(identities);
  for (auto entry = data.begin(); entry != data.end();) {
    entry = entry->is_null() ? data.erase(entry) : std::next(entry);
  }
  return nlohmann::json{{"apiVersion", "v1"},
                        {"kind", "Secret"},
                        {"metadata", {{"name", kWebhookSecret}}},
                        {"data", std::move(data)}}
      .dump();
}

std::string write_webhook_secret_patch(const WebhookIdentities& identities,
                                       std::string_view version) {
  return nlohmann::json{{"metadata", {{"resourceVersion", version}}},
                        {"data", secret_data(identities)}}
      .dump();
}

base::Result<std::vector<WebhookTrust>> read_webhook_trust(std::string_view json,
                                                           const base::Limits& limits) {
  return read_json(
      json, "the webhook configuration", limits.max_json_depth,
      [](JsonReader& reader, const JsonCursor& root) {
        const JsonCursor webhook_list = reader.member(root, "webhooks");
        std::vector<WebhookTrust> webhooks;
        for (const JsonCursor& webhook : reader.items(webhook_list)) {
          const JsonCursor client = reader.required(webhook, "clientConfig");
          webhooks.push_back({.name = reader.nonempty_text(reader.required(webhook, "name")),
                              .ca_bundle = reader.text(reader.member(client, "caBundle"))});
        }
        return webhooks;
      });
}

std::string write_trust_patch(const std::vector<WebhookTrust>& webhooks,
                              std::string_view authorities) {
  const std::string ca_bundle = base::encode_base64(authorities);
  nlohmann::ordered_json patch = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < webhooks.size(); ++i) {
    if (!webhooks[i].name.ends_with(kWebhookSuffix) || webhooks[i].ca_bundle == ca_bundle) continue;
    const std::string path = "/webhooks/" + std::to_string(i);
    patch.push_back({{"op", "test"}, {"path", path + "/name"}, {"value", webhooks[i].name}});
    patch.push_back(
        {{"op", "add"}, {"path", path + "/clientConfig/caBundle"}, {"value", ca_bundle}});
  }
  return patch.empty() ? std::string() : patch.dump();
}

base::Result<admission::CardRange> read_mirror_parameters(std::string_view json,
                                                          const base::Limits& limits) {
  return read_json(
      json, "MirrorParameters", limits.max_json_depth,
      [](JsonReader& reader, const JsonCursor& root) {
        const JsonCursor spec = reader.required(root, "spec");
        return admission::CardRange{
            .smallest = {reader.integer(reader.required(spec, "smallestMib"), kPositive)},
            .largest = {reader.integer(reader.required(spec, "largestMib"), kPositive)}};
      });
}

}  // namespace snug::codec
