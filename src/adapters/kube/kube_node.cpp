#include "snug/adapters/kube/kube_node.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "adapters/kube/api_caller.hpp"
#include "adapters/kube/reply_meaning.hpp"
#include "snug/agent_codec/node_writes.hpp"
#include "snug/codec/api_status.hpp"
#include "snug/codec/api_writes.hpp"
#include "snug/codec/lease_codec.hpp"
#include "snug/codec/object_names.hpp"

namespace snug::kube {
namespace {

constexpr const char* kAgentMetadataOnly =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// How often one renewal writes the Lease. A second write is needed only for a Lease that somebody
/// else changes at the same moment, and when the owner is refused.
constexpr int kHeartbeatWrites = 2;

base::Limits node_limits(base::Limits limits) {
  limits.api_connections = 1;
  return limits;
}

}  // namespace

struct KubeNode::State {
  State(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context,
        std::string node_name)
      : limits(node_limits(context.limits)),
        node(std::move(node_name)),
        lease_name{options.own_namespace, "agent." + node},
        leases_path("/apis/coordination.k8s.io/v1/namespaces/" + lease_name.name_space + "/leases"),
        lease_path(leases_path + "/" + lease_name.name),
        api_caller(endpoint, options, {limits, context.metrics, context.log, context.clock}) {}

  [[nodiscard]] base::Result<std::string> get_node(CallDeadline deadline);
  void read_uid(CallDeadline deadline);
  [[nodiscard]] base::Result<std::optional<leader::Lease>> get_lease(CallDeadline deadline);
  [[nodiscard]] base::Result<leader::Lease> put_lease(CallDeadline deadline,
                                                      const leader::Lease* over);

  const base::Limits limits;
  const std::string node;
  const leader::LeaseName lease_name;
  const std::string leases_path;
  const std::string lease_path;
  ApiCaller api_caller;
  // Only renew_heartbeat() uses these.
  std::optional<leader::Lease> own_lease;  // as last written; nullopt: unknown
  /// The uid with which the Node owns the Lease. nullopt: unknown. Empty: the owners stay as they
  /// are, because the API server refused this one.
  std::optional<std::string> node_uid;
};

base::Result<std::optional<leader::Lease>> KubeNode::State::get_lease(CallDeadline deadline) {
  ApiRequest get_request;
  get_request.target = lease_path;
  get_request.may_be_absent = true;
  const auto reply = api_caller.call_until(deadline, service::ApiCall::kGetLease, get_request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status == 404 && codec::says_not_found(reply->body, "leases", lease_name.name))
    return std::nullopt;
  if (reply->status != 200) {
    return base::fail(base::ErrorCode::kUnavailable,
                      "the API server answered " + std::to_string(reply->status) +
                          " to the GET of the Lease " + lease_name.name_space + "/" +
                          lease_name.name + ": " + codec::status_message(reply->body));
  }
  auto lease = codec::read_lease(reply->body);
  if (!lease) return std::unexpected(lease.error());
  return *std::move(lease);
}

base::Result<leader::Lease> KubeNode::State::put_lease(CallDeadline deadline,
                                                       const leader::Lease* over) {
  ApiRequest write_request;
  write_request.method = over == nullptr ? "POST" : "PUT";
  write_request.target = over == nullptr ? leases_path : lease_path;
  write_request.content_type = "application/json";
  write_request.body = agent_codec::write_heartbeat(
      lease_name, {.name = node, .uid = node_uid ? *node_uid : std::string_view()}, over,
      codec::micro_time(std::chrono::system_clock::now()));
  const auto reply = api_caller.call_until(deadline, service::ApiCall::kWriteLease, write_request);
  const auto written = write_outcome(
      "the write of the Lease " + lease_name.name_space + "/" + lease_name.name, reply);
  if (!written) return std::unexpected(written.error());
  return codec::read_lease(reply->body);
}

/// The metadata of the node, as JSON.
base::Result<std::string> KubeNode::State::get_node(CallDeadline deadline) {
  if (auto valid_node = codec::check_object_name("node", node); !valid_node)
    return std::unexpected(valid_node.error());
  ApiRequest get_request;
  get_request.target = "/api/v1/nodes/" + node;
  get_request.accept = kAgentMetadataOnly;
  auto reply = api_caller.call_until(deadline, service::ApiCall::kListOneNode, get_request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status != 200) {
    const bool absent = reply->status == 404 && codec::says_not_found(reply->body, "nodes", node);
    return base::fail(absent ? base::ErrorCode::kNotFound : base::ErrorCode::kUnavailable,
                      "the API server answered " + std::to_string(reply->status) +
                          " to the GET of the node: " + codec::status_message(reply->body));
  }
  return std::move(reply->body);
}

/// A heartbeat without an owner is better than none, so a failure leaves the uid unknown.
void KubeNode::State::read_uid(CallDeadline deadline) {
  const auto metadata = get_node(deadline);
  if (!metadata) return;
  if (auto uid = agent_codec::read_node_uid(*metadata, limits)) node_uid = *std::move(uid);
}

KubeNode::KubeNode(const ApiEndpoint& endpoint, const KubeOptions& options,
                   const KubeContext& context, std::string node)
    : state_(std::make_unique<State>(endpoint, options, context, std::move(node))) {}

KubeNode::~KubeNode() = default;

base::Result<agent_service::NodePort::Marks> KubeNode::read_marks() {
  const auto metadata = state_->get_node(state_->api_caller.new_deadline());
  if (!metadata) return std::unexpected(metadata.error());
  return agent_codec::read_node_marks(*metadata, state_->limits);
}

base::Result<std::optional<std::string>> KubeNode::read_label(std::string_view key) {
  const auto metadata = state_->get_node(state_->api_caller.new_deadline());
  if (!metadata) return std::unexpected(metadata.error());
  return agent_codec::read_node_label(*metadata, key, state_->limits);
}

base::Result<void> KubeNode::write_marks(const Marks& marks) {
  if (auto valid_node = codec::check_object_name("node", state_->node); !valid_node)
    return valid_node;
  ApiRequest patch_request;
  patch_request.method = "PATCH";
  patch_request.target = "/api/v1/nodes/" + state_->node;
  patch_request.content_type = "application/merge-patch+json";
  patch_request.accept = kAgentMetadataOnly;
  patch_request.body = agent_codec::write_node_marks(marks);
  const auto reply = state_->api_caller.call(service::ApiCall::kPatchNode, patch_request);
  // Only a reply with a 2xx status can be too large, so the patch has succeeded.
  if (!reply && reply.error().code == base::ErrorCode::kTooLarge) return {};
  return write_outcome("the patch of the node", reply);
}

base::Result<void> KubeNode::retry(std::string_view name_space, std::string_view name,
                                   std::string_view uid, std::string_view value) {
  auto valid_names = codec::check_object_name("namespace", name_space);
  if (valid_names) valid_names = codec::check_object_name("pod", name);
  if (!valid_names) return valid_names;
  ApiRequest patch_request;
  patch_request.method = "PATCH";
  patch_request.target.append("/api/v1/namespaces/").append(name_space);
  patch_request.target.append("/pods/").append(name).append("/status");
  patch_request.content_type = "application/merge-patch+json";
  patch_request.accept = kAgentMetadataOnly;
  patch_request.body = agent_codec::write_retry_patch(uid, value);
  const auto reply = state_->api_caller.call(service::ApiCall::kRetryPod, patch_request);
  if (!reply && reply.error().code == base::ErrorCode::kTooLarge) return {};
  auto written = write_outcome("the patch of snug.dev/retry", reply);
  // This is how the API server names the field of the patch that it refuses.
  if (!written && written.error().code == base::ErrorCode::kInvalid &&
      codec::status_message(reply->body).contains("metadata.uid: ")) {
    written.error().code = base::ErrorCode::kNotFound;
  }
  return written;
}

base::Result<void> KubeNode::renew_heartbeat() {
  auto valid_names = codec::check_object_name("namespace", state_->lease_name.name_space);
  if (valid_names) valid_names = codec::check_object_name("Lease", state_->lease_name.name);
  if (!valid_names) return valid_names;
  const CallDeadline deadline = state_->api_caller.new_deadline();
  bool owner_refused = false;
  for (int write = 1;; ++write) {
    // A Lease with an unknown resourceVersion must be read before it can be replaced.
    std::optional<leader::Lease> over = std::exchange(state_->own_lease, std::nullopt);
    if (!over) {
      auto found_lease = state_->get_lease(deadline);
      if (!found_lease) return std::unexpected(found_lease.error());
      over = *std::move(found_lease);
      // The Lease may have been deleted with the Node, which then was created anew.
      state_->node_uid = owner_refused ? std::optional<std::string>("") : std::nullopt;
    }
    if (!state_->node_uid) state_->read_uid(deadline);
    auto written = state_->put_lease(deadline, over ? &*over : nullptr);
    if (written) {
      state_->own_lease = *std::move(written);
      return {};
    }
    const bool changed_by_others = written.error().code == base::ErrorCode::kConflict ||
                                   written.error().code == base::ErrorCode::kNotFound;
    // OwnerReferencesPermissionEnforcement lets only those change owners who may delete the Lease.
    owner_refused =
        written.error().code == base::ErrorCode::kInvalid && !state_->node_uid.value_or("").empty();
    if ((!changed_by_others && !owner_refused) || write == kHeartbeatWrites)
      return std::unexpected(written.error());
  }
}

}  // namespace snug::kube
