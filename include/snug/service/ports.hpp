// What the service needs from the outside, as interfaces: whatever does I/O implements one of them
// in adapters/; tests and the embedded mode have other implementations. All are thread-safe. And
// Reply, which the service gives to the HTTP servers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/clock.hpp"
#include "snug/base/enum_names.hpp"
#include "snug/base/ids.hpp"
#include "snug/base/result.hpp"
#include "snug/leader/lease.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/pod.hpp"

namespace snug::service {

/// What the service answers to a call, independent of HTTP.
struct Reply {
  int status = 200;  // as in HTTP
  std::string body;
};

/// The one write of a bind: nodeName and annotations together, guarded by the uid.
struct Binding {
  std::string name_space;
  std::string pod;
  std::string uid;
  std::string node;
  model::StringMap annotations;
  /// It must not be sent later.
  base::TimePoint not_after = base::TimePoint::max();
};

/// A Kubernetes event about a pod, or about a Lease.
struct Notice {
  std::string name_space;
  std::string pod;
  std::string uid;
  std::string reason;  // CamelCase, constant
  std::string note;    // one sentence
  bool lease = false;  // `pod` is the name of a Lease
};

/// Calls to the API server other than watches. No call lasts longer than apiTimeout.
class ApiPort {
 public:
  virtual ~ApiPort() = default;

  /// POST pods/binding. Errors: kConflict and kNotFound: the API server refused (409, 404), as did
  /// kInvalid (any other 4xx); kUnavailable: the request surely did not reach it; kUnknown: it may
  /// or may not have been carried out (time-out, lost connection, 5xx).
  [[nodiscard]] virtual base::Result<void> bind(const Binding& binding) = 0;

  /// GET of one pod, read from the API server's store; nothing: there is no such pod.
  [[nodiscard]] virtual base::Result<std::optional<model::PodFacts>> get_pod(
      std::string_view name_space, std::string_view name) = 0;

  /// Gives an annotation of Snug's own pod, or else of a node, a value that it never had, so that
  /// kube-scheduler tries refused pods again.
  [[nodiscard]] virtual base::Result<void> wake_pending_pods(base::Generation room) = 0;

  /// Queues a Warning event; never waits. Dropped (and counted) when the queue is full.
  virtual void warn(const Notice& notice) = 0;
};

/// The Lease by which one Snug of a cluster is chosen (leader/election.hpp).
class LeasePort {
 public:
  virtual ~LeasePort() = default;

  /// Nothing: there is no such Lease.
  [[nodiscard]] virtual base::Result<std::optional<leader::Lease>> read() = 0;
  /// Writes the record with the current time as its renew time, and as its acquire time if that is
  /// empty. `over`: the Lease that it replaces, null to create it. kConflict: another client has
  /// written or created it; kNotFound: it is gone; kUnknown: it may or may not be written.
  [[nodiscard]] virtual base::Result<leader::Lease> write(const leader::LeaseRecord& record,
                                                          const leader::Lease* over) = 0;
};

/// Notified by a watch that a Lease has changed: a hint, which may come late. Called from one
/// thread.
class LeaseSink {
 public:
  virtual ~LeaseSink() = default;
  /// Empty: there is no such Lease.
  virtual void lease_changed(std::string_view resource_version) = 0;
};

/// Sees each pod before filter decides on it: the embedded mode's API server, which creates a pod
/// when a call shows it for the first time, as if a user had done so. No I/O.
class PodCreator {
 public:
  virtual ~PodCreator() = default;

  /// A pod that exists already with the same request is left as it is. kConflict: its request is
  /// another, another pod has its name or its uid, or a pod that ended had its uid;
  /// kInvalid: it lacks uid, name or namespace, or no scheduler would ask about it, since it is
  /// gated, or assigned to a node that it does not run on here; kTooLarge: there are too many pods.
  [[nodiscard]] virtual base::Result<void> post_pod(const model::PodFacts& pod) = 0;
};

/// What a stream of lists and watch events is about.
enum class Resource : std::uint8_t { kNodes, kPods };
inline constexpr base::EnumNames kResourceNames{
    std::array{base::EnumName{Resource::kNodes, "nodes"}, base::EnumName{Resource::kPods, "pods"}}};
inline constexpr std::size_t kResources = kResourceNames.size();

/// Receives the cluster's state: one call for each list or watch event, in the order of the stream.
/// Node and pod calls may come from two threads; each of the two kinds from one at a time.
class ClusterSink {
 public:
  virtual ~ClusterSink() = default;

  /// The first list is in, or bytes of a watch have come. `version`: the resource version that has
  /// been reached; empty: not known.
  virtual void stream_alive(Resource /*resource*/, std::string_view /*version*/) {}
  /// No watch is established until the next stream_alive.
  virtual void stream_lost(Resource /*resource*/) {}

  /// Before a list is asked for. What happens after this call may be missing from that list.
  virtual void pod_list_started() = 0;
  /// The whole list: every pod that is not finished.
  virtual void pods_listed(std::vector<model::PodFacts> pods) = 0;
  virtual void pod_changed(model::PodFacts pod) = 0;
  virtual void pod_gone(const model::PodFacts& pod) = 0;

  /// As pod_list_started.
  virtual void node_list_started() {}
  virtual void nodes_listed(std::vector<model::NodeFacts> nodes) = 0;
  virtual void node_changed(model::NodeFacts node) = 0;
  virtual void node_gone(std::string_view name) = 0;
};

/// A source of cluster events: list and watch against a real API server, or the embedded one.
class ClusterSource {
 public:
  virtual ~ClusterSource() = default;
  /// Starts to feed the sink, which must outlive stop().
  virtual void start(ClusterSink& sink) = 0;
  /// Starts new lists of nodes and pods, whatever is under way, and returns before they end.
  virtual void relist() = 0;
  /// Returns when no further call to the sink will be made.
  virtual void stop() = 0;
};

enum class Verb : std::uint8_t { kFilter, kPrioritize, kPreempt, kBind };
inline constexpr base::EnumNames kVerbNames{std::array{
    base::EnumName{Verb::kFilter, "filter"}, base::EnumName{Verb::kPrioritize, "prioritize"},
    base::EnumName{Verb::kPreempt, "preempt"}, base::EnumName{Verb::kBind, "bind"}}};

/// How a bind ended.
enum class BindOutcome : std::uint8_t {
  kBound,         // reserved (where it asks for a GPU) and bound
  kAlreadyBound,  // was bound already
  kPlaceTaken,    // the capacity that filter saw was taken in between
  kRefused,       // the pod or the API server did not allow it
  kUnknown,       // outcome unknown, reservation kept
  kUnavailable,   // the request did not reach the API server
};
inline constexpr base::EnumNames kBindEndNames{
    std::array{base::EnumName{BindOutcome::kBound, "bound"},
               base::EnumName{BindOutcome::kAlreadyBound, "repeated"},
               base::EnumName{BindOutcome::kPlaceTaken, "lost_race"},
               base::EnumName{BindOutcome::kRefused, "refused"},
               base::EnumName{BindOutcome::kUnknown, "unknown"},
               base::EnumName{BindOutcome::kUnavailable, "unavailable"}}};

/// How a watch ended; the label `why` of snug_watch_restarts_total.
enum class WatchEnd : std::uint8_t {
  kEnded,        // the server ended it in order
  kLost,         // the connection was lost
  kSilent,       // no byte for watchSilenceS
  kExpired,      // the resourceVersion is too old (410)
  kErrorEvent,   // an ERROR event other than 410
  kGarbage,      // a part of the stream is no event
  kUnreadable,   // an object that Snug cannot read
  kRefused,      // the server answered 4xx
  kBusy,         // the server answered 429 or 5xx
  kUnreachable,  // there was no reply
};
inline constexpr base::EnumNames kWatchEndNames{std::array{
    base::EnumName{WatchEnd::kEnded, "ended"}, base::EnumName{WatchEnd::kLost, "lost"},
    base::EnumName{WatchEnd::kSilent, "silent"}, base::EnumName{WatchEnd::kExpired, "expired"},
    base::EnumName{WatchEnd::kErrorEvent, "error"}, base::EnumName{WatchEnd::kGarbage, "garbage"},
    base::EnumName{WatchEnd::kUnreadable, "unreadable"},
    base::EnumName{WatchEnd::kRefused, "refused"}, base::EnumName{WatchEnd::kBusy, "busy"},
    base::EnumName{WatchEnd::kUnreachable, "unreachable"}}};

/// What is wrong with what pods hold, or with an object that says so.
enum class ReservationProblem : std::uint8_t {
  kOverCommitment,  // holders add up to more than a GPU or node has, or may have
  kGpuClosed,       // a GPU that is held vanished, changed or has a suspect reservation
  kNodeClosed,      // an inventory cannot be used
  kReservation,     // a reservation is missing, unreadable, edited or added by hand
  kUnreadable,      // an object of the API server cannot be read
};
inline constexpr base::EnumNames kReservationProblemNames{
    std::array{base::EnumName{ReservationProblem::kOverCommitment, "over_commitment"},
               base::EnumName{ReservationProblem::kGpuClosed, "gpu_closed"},
               base::EnumName{ReservationProblem::kNodeClosed, "node_closed"},
               base::EnumName{ReservationProblem::kReservation, "reservation"},
               base::EnumName{ReservationProblem::kUnreadable, "unreadable"}}};

/// Numbers for operators. Implementations never wait.
class Metrics {
 public:
  virtual ~Metrics() = default;
  virtual void verb_done(Verb verb, bool ok, std::int64_t microseconds) = 0;
  virtual void bind_ended(BindOutcome outcome) = 0;
  /// `what`: a short constant snake_case word, counted in snug_api_requests_total.
  virtual void api_request(std::string_view what, bool ok) = 0;
  virtual void watch_restarted(std::string_view resource, WatchEnd why) = 0;
  virtual void pods_woken() = 0;
  virtual void event_dropped() = 0;
  virtual void reservation_problem(ReservationProblem kind) = 0;
  /// The policy file changed: its policy is in force now, or (not ok) was refused.
  virtual void policy_reloaded(bool ok) = 0;
};

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };

class Log {
 public:
  virtual ~Log() = default;
  virtual void write(LogLevel level, std::string_view message) = 0;
};

}  // namespace snug::service
