// The API server's other objects (Lease, Status, Secret, webhook configurations, MirrorParameters)
// and the replies of the admin port that snugctl reads.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/admin_replies.hpp"
#include "snug/codec/api_status.hpp"
#include "snug/codec/explain_codec.hpp"
#include "snug/codec/lease_codec.hpp"
#include "snug/codec/webhook_objects.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

using nlohmann::json;

void check_lease(std::string_view input) {
  const auto lease = codec::read_lease(input);
  (void)codec::read_lease_event(input);
  if (!lease) return require(!lease.error().message.empty(), "an error has a message");
  const leader::LeaseRecord mine{
      .holder = "me", .duration_s = 15, .acquire_time = "t", .renew_time = "t", .transitions = 1};
  const std::string text = codec::write_lease({"snug", "snug-extender"}, mine, &*lease, "t");
  const auto again = codec::read_lease(text);
  require(again && again->record == mine, "a written Lease is read as it was meant");
  require(again->resource_version == lease->resource_version,
          "it replaces the version that was read");
  json before = json::parse(input);
  json after = json::parse(text);
  before.erase("spec");
  after.erase("spec");
  for (const auto& [key, value] : before.items()) {
    if (key != "metadata" && key != "apiVersion" && key != "kind") {
      require(after.at(key) == value, "it keeps the other fields");
    }
  }
}

void check_status(std::string_view input) {
  require(base::find_invalid_text(codec::status_message(input)) == std::string::npos,
          "a message is printable");
  const auto status = codec::read_status(input);
  require(status || !codec::says_not_found(input, "pods", "p"), "only a Status says NotFound");
}

void check_webhook(std::string_view input) {
  const base::Limits limits;
  (void)codec::read_version(input, limits);
  (void)codec::read_mirror_parameters(input, limits);
  if (const auto secret = codec::read_webhook_secret(input, limits); secret) {
    const auto again = codec::read_webhook_secret(codec::write_webhook_secret(*secret), limits);
    require(again && codec::write_webhook_secret(*again) == codec::write_webhook_secret(*secret),
            "a written Secret is read as the same");
  }
  const auto trust = codec::read_webhook_trust(input, limits);
  if (!trust) return;
  const std::string patch = codec::write_trust_patch(*trust, "authorities");
  if (patch.empty()) return;
  const auto patched =
      codec::read_webhook_trust(json::parse(input).patch(json::parse(patch)).dump(), limits);
  require(patched && codec::write_trust_patch(*patched, "authorities").empty(),
          "a patched configuration needs no patch");
}

void check_selection(std::string_view input, const std::string& list, std::size_t rows) {
  std::vector<std::size_t> selected;
  if (rows > 0) selected = {rows - 1, 0};
  require(json::accept(codec::write_selection(input, list, selected, codec::ReplyForm::kJson)),
          "a selection is JSON");
  require(!codec::write_selection(input, list, selected, codec::ReplyForm::kYaml).empty(),
          "a selection is YAML");
}

void check_admin_replies(std::string_view input) {
  if (const auto nodes = codec::read_nodes_reply(input); nodes) {
    check_selection(input, "nodes", nodes->size());
    require(json::accept(codec::gpus_of_nodes_reply(input)), "the GPUs are JSON");
  }
  if (const auto pods = codec::read_pods_reply(input); pods) {
    check_selection(input, "pods", pods->size());
  }
  if (const auto cluster = codec::read_cluster_reply(input); cluster) {
    check_selection(input, "", 0);
    check_selection(input, "namespaces", cluster->namespaces.size());
  }
}

}  // namespace

void take_input(std::string_view input) {
  check_lease(input);
  check_status(input);
  check_webhook(input);
  check_admin_replies(input);
  (void)codec::read_explanation(input);
}

}  // namespace snug::fuzz
