// The interfaces between the service and the outside world. The service implements the sinks. The
// adapters implement the other interfaces, and so do tests. Implementations are thread-safe unless
// a comment below says otherwise. This file also defines Reply, which the service returns to the
// HTTP servers.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "snug/admission/mirrored_resources.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/enum_names.hpp"
#include "snug/base/ids.hpp"
#include "snug/base/result.hpp"
#include "snug/leader/lease.hpp"
#include "snug/model/agent_heartbeat.hpp"
#include "snug/model/api_writes.hpp"
#include "snug/model/mirrored_amounts.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/reasons.hpp"

namespace snug::service {

/// The service's answer to a call, independent of HTTP.
struct Reply {
  int status = 200;  // an HTTP status code
  std::string body;
};

/// The calls to the API server, except lists, watches and the calls about Leases. No call lasts
/// longer than apiTimeout.
class ApiPort {
 public:
  virtual ~ApiPort() = default;

  /// Sends a binding (POST pods/binding). Errors:
  ///   - kConflict (409), kNotFound (404), kInvalid (other 4xx): the API server refused the
  ///     binding.
  ///   - kUnavailable: the binding was certainly not executed, since no API server received it or a
  ///     busy one rejected it.
  ///   - kUnknown: the binding may or may not have been executed (time-out, lost connection, 5xx).
  [[nodiscard]] virtual base::Result<void> bind(const model::Binding& binding) = 0;

  /// Reads one pod (GET) from the API server's store, not from its cache. Nullopt: the pod does not
  /// exist.
  [[nodiscard]] virtual base::Result<std::optional<model::PodFacts>> get_pod(
      std::string_view name_space, std::string_view name) = 0;

  /// Sets an annotation of Snug's own pod, or of some node if Snug's pod is unknown, to a new
  /// value. This update makes kube-scheduler retry the pods that it could not schedule.
  [[nodiscard]] virtual base::Result<void> wake_pending_pods(base::Generation room) = 0;

  /// Sets the capacity and the allocatable of the two resources that mirror shares in the status of
  /// a node; nullopt: removes both resources. Errors:
  ///   - kNotFound: the node does not exist.
  ///   - kConflict, kInvalid: the API server refused the write.
  ///   - kUnavailable: the write was certainly not executed.
  ///   - kUnknown: it may or may not have been executed.
  [[nodiscard]] virtual base::Result<void> set_mirrored_capacity(
      std::string_view node, const std::optional<model::MirroredAmounts>& capacity) = 0;

  /// Writes `cards` to the object that an admission policy reads (deploy/mirror-parameters.yaml);
  /// nullopt: deletes the object, and succeeds if it does not exist. Errors as in
  /// set_mirrored_capacity(); kNotFound: the API server does not know the object's kind.
  [[nodiscard]] virtual base::Result<void> write_mirror_parameters(
      const std::optional<admission::CardRange>& cards) = 0;

  /// Queues an event and returns without waiting. If the queue is full, drops the event, counts
  /// that in the metrics and returns false. Returns true also for an event that is not queued
  /// because an identical one was queued a short time ago.
  virtual bool notify(const model::Notice& notice) = 0;
};

/// One Lease: the one that elects the leading Snug (leader/election.hpp), or a scheduler's.
class LeasePort {
 public:
  virtual ~LeasePort() = default;

  /// Nullopt: the Lease does not exist.
  [[nodiscard]] virtual base::Result<std::optional<leader::Lease>> read() = 0;
  /// Writes `record` with the current time as its renew time. If its acquire time is empty, the
  /// current time is written for that too. Replaces the Lease `over`, or creates the Lease if
  /// `over` is null. Errors: kConflict: another client has changed or created the Lease; kNotFound:
  /// the Lease was deleted; kUnknown: the write may or may not have been executed.
  [[nodiscard]] virtual base::Result<leader::Lease> write(const leader::LeaseRecord& record,
                                                          const leader::Lease* over) = 0;
};

/// Receives notifications that a Lease has changed, from a watch. A notification may be late. All
/// notifications come from one thread.
class LeaseSink {
 public:
  virtual ~LeaseSink() = default;
  /// `resource_version` is empty if the Lease does not exist.
  virtual void lease_changed(std::string_view resource_version) = 0;
};

/// Receives the heartbeats of the nodes' agents and the state of their watch, from one thread.
class HeartbeatSink {
 public:
  virtual ~HeartbeatSink() = default;
  /// The watch has shown that it works.
  virtual void stream_alive() = 0;
  /// The watch has ended or could not begin. No renewal is reported until the next stream_alive()
  /// or heartbeats_listed().
  virtual void stream_lost() = 0;
  /// `heartbeats` is a complete list.
  virtual void heartbeats_listed(std::vector<model::AgentHeartbeat> heartbeats) = 0;
  virtual void heartbeat_changed(model::AgentHeartbeat heartbeat) = 0;
  virtual void heartbeat_gone(std::string_view node) = 0;
};

/// Creates pods in the embedded mode. Before filter decides on a pod, it passes the pod to
/// post_pod(), which creates the pod if it does not exist, as a user would at a real API server.
/// Does no I/O.
class PodCreator {
 public:
  virtual ~PodCreator() = default;

  /// Creates the pod. If the pod exists with the same request, only removes its scheduling gates.
  /// Errors:
  ///   - kConflict: the pod exists with a different request, another pod has the same name or
  ///     uid, or a pod that has ended had this uid.
  ///   - kInvalid: the pod lacks a uid, a name or a namespace; or it has scheduling gates; or
  ///     its spec.nodeName names a node on which it does not run.
  ///   - kTooLarge: there are too many pods.
  [[nodiscard]] virtual base::Result<void> post_pod(const model::PodFacts& pod) = 0;
};

/// The resources that Snug lists and watches, each in its own stream.
enum class Resource : std::uint8_t { kNodes, kPods };
inline constexpr base::EnumNames kResourceNames{
    std::array{base::EnumName{Resource::kNodes, "nodes"}, base::EnumName{Resource::kPods, "pods"}}};
inline constexpr std::size_t kResources = kResourceNames.size();

/// Receives the cluster's state: one call for each list and each watch event, in the order of the
/// stream. Calls about nodes never overlap each other, and neither do calls about pods. A call
/// about nodes may overlap a call about pods.
class ClusterSink {
 public:
  virtual ~ClusterSink() = default;

  /// Reports that the stream is working: a list has been applied, or bytes of a watch have arrived.
  /// `version` is the resource version that the stream has reached; empty: unknown.
  virtual void stream_alive(Resource /*resource*/, std::string_view /*version*/) {}
  /// Reports that the stream has no working watch until the next call of stream_alive().
  virtual void stream_lost(Resource /*resource*/) {}

  /// Called before a list of pods is requested. Changes after this call may be missing from that
  /// list.
  virtual void pod_list_started() = 0;
  /// `pods` is a complete list of the pods that have not finished.
  virtual void pods_listed(std::vector<model::PodFacts> pods) = 0;
  virtual void pod_changed(model::PodFacts pod) = 0;
  virtual void pod_gone(const model::PodFacts& pod) = 0;

  /// Called before a list of nodes is requested. Changes after this call may be missing from it.
  virtual void node_list_started() {}
  virtual void nodes_listed(std::vector<model::NodeFacts> nodes) = 0;
  virtual void node_changed(model::NodeFacts node) = 0;
  virtual void node_gone(std::string_view name) = 0;
};

/// Lists and watches a cluster's nodes and pods: those of a real API server, or of the embedded
/// one.
class ClusterSource {
 public:
  virtual ~ClusterSource() = default;
  /// Starts to call the sink, which must stay valid until stop() returns.
  virtual void start(ClusterSink& sink) = 0;
  /// Interrupts any list or watch in progress, and starts new lists of nodes and pods. Returns
  /// without waiting for the new lists.
  virtual void relist() = 0;
  /// Stops the calls to the sink. When this function returns, the last call has ended.
  virtual void stop() = 0;
};

enum class Verb : std::uint8_t { kFilter, kPrioritize, kPreempt, kBind };
inline constexpr base::EnumNames kVerbNames{std::array{
    base::EnumName{Verb::kFilter, "filter"}, base::EnumName{Verb::kPrioritize, "prioritize"},
    base::EnumName{Verb::kPreempt, "preempt"}, base::EnumName{Verb::kBind, "bind"}}};

/// How a bind ended.
enum class BindOutcome : std::uint8_t {
  kBound,         // the pod was bound, and the GPUs that it asks for were reserved
  kAlreadyBound,  // the pod was already bound to this node
  kPlaceTaken,    // the node no longer has the capacity that filter saw
  kRefused,       // Snug or the API server refused the bind
  kUnknown,       // the outcome is unknown; the reservation, if any, is kept
  kUnavailable,   // the binding was not sent, or was certainly not executed
};
inline constexpr base::EnumNames kBindOutcomeNames{
    std::array{base::EnumName{BindOutcome::kBound, "bound"},
               base::EnumName{BindOutcome::kAlreadyBound, "repeated"},
               base::EnumName{BindOutcome::kPlaceTaken, "lost_race"},
               base::EnumName{BindOutcome::kRefused, "refused"},
               base::EnumName{BindOutcome::kUnknown, "unknown"},
               base::EnumName{BindOutcome::kUnavailable, "unavailable"}}};

/// How the webhook answered a review.
enum class ReviewOutcome : std::uint8_t {
  kPatched,     // /mutate: something was added to the pod
  kUnchanged,   // /mutate: nothing was to be added
  kAllowed,     // /validate
  kDenied,      // /validate
  kUnreadable,  // the body was no review
};
inline constexpr base::EnumNames kReviewOutcomeNames{
    std::array{base::EnumName{ReviewOutcome::kPatched, "patched"},
               base::EnumName{ReviewOutcome::kUnchanged, "unchanged"},
               base::EnumName{ReviewOutcome::kAllowed, "allowed"},
               base::EnumName{ReviewOutcome::kDenied, "denied"},
               base::EnumName{ReviewOutcome::kUnreadable, "unreadable"}}};

/// How a watch ended: the values of the label `why` of snug_watch_restarts_total.
enum class WatchEnd : std::uint8_t {
  kEnded,        // the server closed the watch normally
  kLost,         // the connection was lost
  kSilent,       // no byte arrived for watchSilenceS
  kExpired,      // the resourceVersion is too old (410)
  kErrorEvent,   // an ERROR event other than 410
  kGarbage,      // the stream contained something other than watch events
  kUnreadable,   // the stream contained an object that Snug cannot read
  kRefused,      // the server answered 4xx other than 410 and 429
  kBusy,         // the server answered 429 or 5xx
  kUnreachable,  // the server did not reply
};
inline constexpr base::EnumNames kWatchEndNames{std::array{
    base::EnumName{WatchEnd::kEnded, "ended"}, base::EnumName{WatchEnd::kLost, "lost"},
    base::EnumName{WatchEnd::kSilent, "silent"}, base::EnumName{WatchEnd::kExpired, "expired"},
    base::EnumName{WatchEnd::kErrorEvent, "error"}, base::EnumName{WatchEnd::kGarbage, "garbage"},
    base::EnumName{WatchEnd::kUnreadable, "unreadable"},
    base::EnumName{WatchEnd::kRefused, "refused"}, base::EnumName{WatchEnd::kBusy, "busy"},
    base::EnumName{WatchEnd::kUnreachable, "unreachable"}}};

/// A problem with the devices that pods hold, or with an object that describes them.
enum class ReservationProblem : std::uint8_t {
  kOverCommitment,  // the pods on a GPU or node exceed its capacity or conflict with each other
  kGpuClosed,       // a GPU is closed: vanished, changed, suspect or without a MIG table
  kNodeClosed,      // a node is closed because its inventory cannot be used
  kReservation,     // a pod's reservation is missing, unreadable or edited
  kUnreadable,      // Snug cannot read an object of the API server
};
inline constexpr base::EnumNames kReservationProblemNames{
    std::array{base::EnumName{ReservationProblem::kOverCommitment, "over_commitment"},
               base::EnumName{ReservationProblem::kGpuClosed, "gpu_closed"},
               base::EnumName{ReservationProblem::kNodeClosed, "node_closed"},
               base::EnumName{ReservationProblem::kReservation, "reservation"},
               base::EnumName{ReservationProblem::kUnreadable, "unreadable"}}};

/// The requests to the API server that the metrics count.
enum class ApiCall : std::uint8_t {
  kBind,
  kGetPod,
  kTouchRoom,              // a patch of the annotation snug.dev/room, which wakes pending pods
  kRetryPod,               // the agent's patch of snug.dev/retry, which makes the kubelet try again
  kPatchNode,              // a patch of the mirrored capacity of a node
  kWriteMirrorParameters,  // a write or the deletion of the object MirrorParameters
  kGetLease,
  kWriteLease,
  kReviewAccess,  // a TokenReview or SubjectAccessReview of a client of the admin port
  kGetWebhook,    // a read of an object that concerns the webhook
  kWriteWebhook,  // a write of the Secret or of a configuration of the webhook
  kEvent,
  kListOneNode,
  kListNodes,
  kListPods,
  kListLeases,
  kListHeartbeats,
  kWatchNodes,
  kWatchPods,
  kWatchLeases,
  kWatchHeartbeats,
};
inline constexpr base::EnumNames kApiCallNames{
    std::array{base::EnumName{ApiCall::kBind, "bind"},
               base::EnumName{ApiCall::kGetPod, "get_pod"},
               base::EnumName{ApiCall::kTouchRoom, "touch_room"},
               base::EnumName{ApiCall::kRetryPod, "retry_pod"},
               base::EnumName{ApiCall::kPatchNode, "patch_node"},
               base::EnumName{ApiCall::kWriteMirrorParameters, "write_mirror_parameters"},
               base::EnumName{ApiCall::kGetLease, "get_lease"},
               base::EnumName{ApiCall::kWriteLease, "write_lease"},
               base::EnumName{ApiCall::kReviewAccess, "review_access"},
               base::EnumName{ApiCall::kGetWebhook, "get_webhook"},
               base::EnumName{ApiCall::kWriteWebhook, "write_webhook"},
               base::EnumName{ApiCall::kEvent, "event"},
               base::EnumName{ApiCall::kListOneNode, "list_one_node"},
               base::EnumName{ApiCall::kListNodes, "list_nodes"},
               base::EnumName{ApiCall::kListPods, "list_pods"},
               base::EnumName{ApiCall::kListLeases, "list_leases"},
               base::EnumName{ApiCall::kListHeartbeats, "list_heartbeats"},
               base::EnumName{ApiCall::kWatchNodes, "watch_nodes"},
               base::EnumName{ApiCall::kWatchPods, "watch_pods"},
               base::EnumName{ApiCall::kWatchLeases, "watch_leases"},
               base::EnumName{ApiCall::kWatchHeartbeats, "watch_heartbeats"}}};

/// The resources that Snug watches. kHeartbeats: the Leases of the nodes' agents. Readiness depends
/// only on the streams of nodes and pods.
enum class WatchedResource : std::uint8_t { kNodes, kPods, kLeases, kHeartbeats };
inline constexpr base::EnumNames kWatchedResourceNames{
    std::array{base::EnumName{WatchedResource::kNodes, "nodes"},
               base::EnumName{WatchedResource::kPods, "pods"},
               base::EnumName{WatchedResource::kLeases, "leases"},
               base::EnumName{WatchedResource::kHeartbeats, "heartbeats"}}};

/// Counts events for operators. Implementations never block.
class Metrics {
 public:
  virtual ~Metrics() = default;
  virtual void verb_done(Verb verb, bool ok, std::int64_t microseconds) = 0;
  virtual void bind_ended(BindOutcome outcome) = 0;
  /// `microseconds`: from the request to the end of its reply, or for a list or watch to the
  /// beginning of the reply.
  virtual void api_request(ApiCall call, bool ok, std::int64_t microseconds) = 0;
  /// Counts a filter call that named no node. `reason`: plan::main_reason().
  virtual void pod_refused(model::ReasonCode reason) = 0;
  virtual void watch_restarted(WatchedResource resource, WatchEnd why) = 0;
  virtual void pods_woken() = 0;
  virtual void event_dropped() = 0;
  virtual void reservation_problem(ReservationProblem problem) = 0;
  /// Counts a change of the policy file. If `ok`, the new policy is in force; if not, it was
  /// refused.
  virtual void policy_reloaded(bool ok) = 0;
  virtual void review_answered(ReviewOutcome outcome) = 0;
  /// `healthy`: the webhook's Secret could be read and written, and each webhook configuration that
  /// exists contains its CAs. `valid_until`: of the certificate
  /// that is used; nullopt: there is none.
  virtual void webhook_checked(bool healthy,
                               std::optional<std::chrono::sys_seconds> valid_until) = 0;
};

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };

/// A named value of a log line. Durations are written in milliseconds.
struct LogField {
  std::string_view key;
  std::variant<std::string_view, std::int64_t, std::chrono::microseconds> value;
};

/// Lines for operators. The fields of a line are named as in the logs of Kubernetes: `namespace`,
/// `pod`, `uid`, `node`, `verb`, `reason`, `duration_ms`.
class Log {
 public:
  virtual ~Log() = default;
  /// Whether lines of this level are written. A caller need not collect fields for others.
  [[nodiscard]] virtual bool is_enabled(LogLevel level) const = 0;
  virtual void write_line(LogLevel level, std::string_view message,
                          std::span<const LogField> fields) = 0;

  void write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields = {}) {
    write_line(level, message, {fields.begin(), fields.size()});
  }
};

}  // namespace snug::service
