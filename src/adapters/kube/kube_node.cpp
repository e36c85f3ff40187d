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

constexpr const char* kNodeMetadataOnly =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// How often one renewal writes the Lease. Only a Lease that somebody else changes at the same
/// moment needs a second write.
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

  [[nodiscard]] base::Result<std::optional<leader::Lease>> get_lease(CallDeadline deadline);
  [[nodiscard]] base::Result<leader::Lease> put_lease(CallDeadline deadline,
                                                      const leader::Lease* over);

  const base::Limits limits;
  const std::string node;
  const leader::LeaseName lease_name;
  const std::string leases_path;
  const std::string lease_path;
  ApiCaller api_caller;
  std::optional<leader::Lease> own_lease;  // as last written; nullopt: unknown
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
      lease_name, node, over, codec::micro_time(std::chrono::system_clock::now()));
  const auto reply = api_caller.call_until(deadline, service::ApiCall::kWriteLease, write_request);
  const auto written = write_outcome(
      "the write of the Lease " + lease_name.name_space + "/" + lease_name.name, reply);
  if (!written) return std::unexpected(written.error());
  return codec::read_lease(reply->body);
}

KubeNode::KubeNode(const ApiEndpoint& endpoint, const KubeOptions& options,
                   const KubeContext& context, std::string node)
    : state_(std::make_unique<State>(endpoint, options, context, std::move(node))) {}

KubeNode::~KubeNode() = default;

base::Result<agent_service::NodePort::Marks> KubeNode::read_marks() {
  if (auto valid_node = codec::check_object_name("node", state_->node); !valid_node)
    return std::unexpected(valid_node.error());
  ApiRequest get_request;
  get_request.target = "/api/v1/nodes/" + state_->node;
  get_request.accept = kNodeMetadataOnly;
  const auto reply = state_->api_caller.call(service::ApiCall::kListOneNode, get_request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status != 200) {
    const bool absent =
        reply->status == 404 && codec::says_not_found(reply->body, "nodes", state_->node);
    return base::fail(absent ? base::ErrorCode::kNotFound : base::ErrorCode::kUnavailable,
                      "the API server answered " + std::to_string(reply->status) +
                          " to the GET of the node: " + codec::status_message(reply->body));
  }
  return agent_codec::read_node_marks(reply->body, state_->limits);
}

base::Result<void> KubeNode::write_marks(const Marks& marks) {
  if (auto valid_node = codec::check_object_name("node", state_->node); !valid_node)
    return valid_node;
  ApiRequest patch_request;
  patch_request.method = "PATCH";
  patch_request.target = "/api/v1/nodes/" + state_->node;
  patch_request.content_type = "application/merge-patch+json";
  patch_request.accept = kNodeMetadataOnly;
  patch_request.body = agent_codec::write_node_marks(marks);
  const auto reply = state_->api_caller.call(service::ApiCall::kPatchNode, patch_request);
  // Only a reply with a 2xx status can be too large, so the patch has succeeded.
  if (!reply && reply.error().code == base::ErrorCode::kTooLarge) return {};
  return write_outcome("the patch of the node", reply);
}

base::Result<void> KubeNode::renew_heartbeat() {
  auto valid_names = codec::check_object_name("namespace", state_->lease_name.name_space);
  if (valid_names) valid_names = codec::check_object_name("Lease", state_->lease_name.name);
  if (!valid_names) return valid_names;
  const CallDeadline deadline = state_->api_caller.new_deadline();
  for (int write = 1;; ++write) {
    // A Lease with an unknown resourceVersion must be read before it can be replaced.
    std::optional<leader::Lease> over = std::exchange(state_->own_lease, std::nullopt);
    if (!over) {
      auto found_lease = state_->get_lease(deadline);
      if (!found_lease) return std::unexpected(found_lease.error());
      over = *std::move(found_lease);
    }
    auto written = state_->put_lease(deadline, over ? &*over : nullptr);
    if (written) {
      state_->own_lease = *std::move(written);
      return {};
    }
    const bool changed_by_others = written.error().code == base::ErrorCode::kConflict ||
                                   written.error().code == base::ErrorCode::kNotFound;
    if (!changed_by_others || write == kHeartbeatWrites) return std::unexpected(written.error());
  }
}

}  // namespace snug::kube
