// Every bound of the system, in two tables that docs/limits.md repeats; tests/tidy compares them.
// No other file may hold a bound on a queue, a body, a depth or a wait; a constant that looks like
// one says why it is none.
//
// SNUG_LIMITS are the bounds that an operator may set under `limits:` in the configuration file, as
// rows of (C++ name, key, default, smallest, largest, meaning). SNUG_FIXED_LIMITS are the rest, as
// rows of (C++ name, value, meaning; why the value suits every cluster). Both are fields of Limits,
// so that a test can lower any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// clang-format off
#define SNUG_LIMITS(ROW)                                                                                                   \
  ROW(max_body_bytes,          "maxBodyBytes",        67'108'864,  1'024,   1'073'741'824,  "bytes of one request body") \
  ROW(max_body_bytes_at_once,  "maxBodyBytesAtOnce",  67'108'864,  1'024,   17'179'869'184, "bytes of all request bodies that are read and answered at once; a single body, and bodies up to 16 KiB, are always admitted") \
  ROW(max_connections,         "maxConnections",      384,         8,       4'096,          "requests to the extender port that are read and answered at once; one thread each") \
  ROW(max_nodes,               "maxNodes",            50'000,      1,       500'000,        "nodes in the ledger, and as many that wait for a place in it") \
  ROW(max_policy_rows,         "maxPolicyRows",       256,         1,       4'096,          "rows in each of a policy's rules, podChoice and sharing, and entries in a row's lists") \
  ROW(intent_ttl_ms,           "intentTtlMs",         10'000,      100,     600'000,        "life of an intent, in milliseconds: from filter's choice of a node to the bind") \
  ROW(api_connections,         "apiConnections",      32,          1,       512,            "connections to the API server for calls other than watches") \
  ROW(max_object_bytes,        "maxObjectBytes",      16'777'216,  65'536,  134'217'728,    "bytes of one object in a list or watch stream (above six times etcd's --max-request-bytes)") \
  ROW(watch_timeout_s,         "watchTimeoutS",       20,          1,       3'600,          "seconds a watch asks the API server to last; each adds up to as much again at random") \
  ROW(watch_silence_s,         "watchSilenceS",       45,          2,       600,            "seconds without a byte after which a watch is given up and its view counts as out of date (above twice watchTimeoutS)") \
  ROW(lease_duration_ms,       "leaseDurationMs",     15'000,      1'000,   300'000,        "after which the Lease of a leader that renews it no more may be taken, in milliseconds") \
  ROW(renew_deadline_ms,       "renewDeadlineMs",     10'000,      4'000,   300'000,        "after its last renewal a leader binds no more, in milliseconds (below leaseDurationMs by twice apiTimeout and 500 ms)") \
  ROW(bind_settle_ms,          "bindSettleMs",        65'000,      100,     600'000,        "after a bind of unknown outcome, when a read that shows the pod unbound is conclusive (above the API server's --request-timeout)") \
  ROW(drain_ms,                "drainMs",             5'000,       0,       60'000,         "SIGTERM waits this long for requests in flight, in milliseconds")

#define SNUG_FIXED_LIMITS(ROW) \
  ROW(max_json_depth,          64,          "nesting of any JSON text; pods and nodes nest less than half as deep") \
  ROW(max_headers,             100,         "headers of one request; kube-scheduler sends below 10") \
  ROW(max_header_bytes,        65'536,      "bytes of a request line and its headers; kube-scheduler sends below 1 KiB") \
  ROW(body_wait_ms,            1'000,       "milliseconds that a body beyond maxBodyBytesAtOnce waits before it is refused; a fifth of kube-scheduler's default httpTimeout") \
  ROW(max_admin_connections,   16,          "requests to the admin port that are read and answered at once; probes have two more threads") \
  ROW(max_queued_connections,  512,         "open connections to each port beyond those: idle, in a head, or waiting for a thread; they cost a few KiB each") \
  ROW(listen_backlog,          512,         "connections that the kernel holds until they are accepted, which takes microseconds") \
  ROW(keep_alive_ms,           120'000,     "milliseconds after which an idle connection to the extender port is closed; above the 90 s after which kube-scheduler closes it") \
  ROW(admin_keep_alive_ms,     5'000,       "milliseconds after which an idle connection to the admin port is closed; probes and scrapes open a new one") \
  ROW(head_ms,                 2'000,       "milliseconds for a request line and headers to arrive: from their first byte, on a new connection from its accept (TLS handshake included)") \
  ROW(request_silence_ms,      2'000,       "milliseconds without a byte of a body or a reply after which its connection is closed") \
  ROW(request_ms,              10'000,      "milliseconds for a body to arrive, and again for its reply to leave; twice kube-scheduler's default httpTimeout") \
  ROW(min_bytes_per_s,         65'536,      "bytes per second of a body or a reply below which a client, after its first 250 ms, may lose its connection to a request that waits for a thread or for memory; far below any network of a cluster") \
  ROW(max_names_per_call,      500'000,     "node names in one filter, prioritize or preempt call; the largest maxNodes") \
  ROW(max_victims_per_call,    100'000,     "pods that one preempt call would evict; as many as 900 nodes run at the kubelet's default of 110") \
  ROW(max_gpus_per_node,       64,          "GPUs in one node inventory; servers have up to 16, rarely 32") \
  ROW(max_inventory_bytes,     262'144,     "bytes of the annotation snug.dev/inventory; the API server allows as many for all annotations of an object") \
  ROW(max_reservation_bytes,   65'536,      "bytes of the annotation snug.dev/reservation; four times what max_gpus_per_node devices need") \
  ROW(max_pending_pods,        100'000,     "unbound pods remembered from the watch, and all pods of the embedded mode; beyond them a bind needs one GET more") \
  ROW(max_intents,             4'096,       "nodes chosen by filter and not yet bound; 400 decisions per second over the default intentTtlMs") \
  ROW(max_nominations,         4'096,       "nominated pods whose place is kept; beyond them another pod may take it") \
  ROW(max_tombstones,          65'536,      "uids of ended pods remembered against late events, and of pods whose problem has been reported; an event is late by seconds") \
  ROW(max_config_bytes,        262'144,     "bytes of a configuration, policy or YAML manifest file; JSON manifests may be larger") \
  ROW(max_manifest_bytes,      536'870'912, "bytes of one JSON manifest file of the embedded mode; 50,000 pods of 10 KiB") \
  ROW(max_policy_terms,        32,          "terms in one profile of a policy; more than there are score terms") \
  ROW(policy_reread_ms,        1'000,       "milliseconds between two checks whether the policy file has changed; SIGHUP reads it at once") \
  ROW(api_idle_ms,             45'000,      "milliseconds after which an idle connection to the API server is not used again; below the API server's 90 s") \
  ROW(watch_lost_ms,           15'000,      "milliseconds after which a view whose watch cannot be established counts as out of date; time for three retries") \
  ROW(list_timeout_s,          60,          "seconds without a byte after which a list is given up; the API server's default --request-timeout") \
  ROW(list_total_s,            600,         "seconds after which a list is given up though bytes still arrive; against a server that never ends it") \
  ROW(backoff_first_ms,        800,         "first wait after a failed list or watch, in milliseconds, as in client-go") \
  ROW(backoff_last_ms,         5'000,       "longest wait after failed lists or watches, in milliseconds, plus up to as much again at random; pods wait until a watch works again") \
  ROW(backoff_reset_ms,        120'000,     "milliseconds without a failure after which the wait is the first again, as in client-go") \
  ROW(resync_ms,               60'000,      "milliseconds after which Snug asks for a bound pod that neither list nor watch has shown; a watch that works shows it within a second") \
  ROW(settle_interval_ms,      1'000,       "milliseconds between two rounds of GETs for binds whose outcome is unknown; they are rare") \
  ROW(lease_retry_ms,          2'000,       "milliseconds between two renewals of the Lease, and between two attempts to acquire it, as in client-go") \
  ROW(clock_skew_ms,           500,         "milliseconds by which two machines may measure the same Lease or time-out differently; clocks that NTP slews differ by 300 ms over the largest leaseDurationMs") \
  ROW(room_touch_interval_ms,  1'000,       "milliseconds between two wake-ups of waiting pods; kube-scheduler backs off for at least as long") \
  ROW(max_queued_events,       1'024,       "Kubernetes events that wait to be written, and events remembered for event_repeat_ms; one more is dropped and counted") \
  ROW(event_repeat_ms,         300'000,     "milliseconds in which an identical Kubernetes event is not written again; an API server keeps events for an hour") \
  ROW(credentials_reread_ms,   50'000,      "milliseconds between two reads of token and certificate files, as in client-go; a 401 reads them at once")
// clang-format on

namespace snug {

struct Limits {
#define SNUG_LIMIT_FIELD(name, key, default_value, smallest, largest, meaning) \
  std::int64_t name = default_value;
#define SNUG_FIXED_LIMIT_FIELD(name, value, meaning) std::int64_t name = value;
  SNUG_LIMITS(SNUG_LIMIT_FIELD)
  SNUG_FIXED_LIMITS(SNUG_FIXED_LIMIT_FIELD)
#undef SNUG_LIMIT_FIELD
#undef SNUG_FIXED_LIMIT_FIELD
};

/// The largest device of a reservation, so that every reservation that Snug writes can be read
/// back.
inline constexpr std::int64_t kReservationBytesPerGpu = 256;
static_assert(Limits{}.max_reservation_bytes >=
              kReservationBytesPerGpu * Limits{}.max_gpus_per_node);

// How much memory is kept for the next calls, of bodies and of parsers each: so many buffers of at
// most so many bytes. Only speed depends on them, so that they are no operator's business.
inline constexpr std::size_t kKeptBuffers = 8;
inline constexpr std::size_t kKeptBytes = 1'048'576;
/// And so many requests for which plan() remembers the nodes, at 16 bytes for each node, and so
/// many nodes in all.
inline constexpr std::size_t kKeptMemos = 512;
inline constexpr std::size_t kKeptVerdicts = 4'000'000;
/// So many steps the search for the GPUs of a pod of several containers takes on one node at most
/// (some milliseconds); a pod for which it comes to that counts as not fitting there
/// (docs/decisions/0015).
inline constexpr std::int64_t kMostFitSteps = 20'000;
/// After so many steps in one call (some hundred milliseconds), comparing models among them, the
/// nodes that have not been judged count as without room for this call: they come first in the
/// next, since the others are remembered (plan/memo.hpp).
inline constexpr std::int64_t kMostFitStepsOfCall = 1'000'000;
/// So many steps the search for places of several containers' slices on one GPU takes: all that any
/// known card needs.
inline constexpr std::int64_t kMostSliceSteps = 5'000;
/// A pod may ask for GPUs in so many containers by annotation, and for so many devices where it
/// asks in several: its reservation fits into half of max_reservation_bytes whatever its names and
/// texts are, and all sets of its containers can be looked at (src/fit/patterns.hpp).
inline constexpr std::size_t kMostAskingContainers = 8;
inline constexpr std::int64_t kMostDevicesOfSeveral = 64;
/// A GPU's model has so many characters: more than NVML, whose names have 96 at most, and labels,
/// whose values have 63. gpu-model is compared with it, byte by byte.
inline constexpr std::size_t kMostModelBytes = 128;

/// A Lease is nested so deeply at most; real ones stay below ten.
inline constexpr int kMostLeaseDepth = 32;

// How many layouts of a MIG card's slices are listed, in how many steps of some nanoseconds
// (mig/layouts.hpp): a node may publish any table. Known cards have some 2,300 layouts at most.
inline constexpr std::size_t kMostMigLayouts = 65'536;
inline constexpr std::int64_t kMostMigLayoutSteps = 4'000'000;

// What is learned of demand (demand/learner.hpp), so that it stays small and cheap to read. What
// goes beyond counts least.
inline constexpr std::size_t kMostShapes = 4'096;     // kinds of pods that are counted apart
inline constexpr std::size_t kMostWaiting = 1'024;    // pods of which it is seen who passes them
inline constexpr std::size_t kPricedSizes = 16;       // sizes of shares with prices of their own
inline constexpr std::size_t kMostRoomShapes = 32;    // kinds of pods with several GPUs that matter
inline constexpr std::size_t kMostRoomGpus = 16;      // GPUs of a node that make rooms
inline constexpr std::size_t kMostTypicalPods = 128;  // kinds of pods that FGD looks at
inline constexpr std::size_t kMostMigPlacements = 512;  // of one MIG card, over all its profiles
inline constexpr std::size_t kMostMigTables = 64;       // of MIG cards that differ, told apart
inline constexpr std::size_t kMostGpuSizes = 8;  // sizes of GPU memory with prices of their own

// What keeping room for nominated pods may cost on one node (src/plan/nominated.hpp). Work is in
// the units of FitMemo::work, some microseconds each.
/// So many of the pods nominated to a node are looked at, the first by rank.
inline constexpr std::size_t kMostNominatedOnNode = 64;
/// So many trials place several anew beyond the first place for each: every way to place two pods
/// of which each has up to 63, and three of which each has up to 7, where each asks in one
/// container; and that often one more is tried to be kept so.
inline constexpr int kMostPlacingTrials = 64;
inline constexpr int kMostPlacingSearches = 16;
/// After so much work no more pods are kept, and no more placements are judged; where some that
/// leave room have been found, after the lesser.
inline constexpr std::int64_t kMostWorkBesideNominated = 4'000;
inline constexpr std::int64_t kEnoughWorkBesideNominated = 500;
/// After so much work about whom to evict on a node, whoever has not been tried goes
/// (src/plan/victim_search.hpp); a part is left for the last pass over those who would go. After
/// so much in one call, no more nodes are looked at.
inline constexpr std::int64_t kMostEvictionWork = 5'000;
inline constexpr std::int64_t kLastPassWork = 1'000;
inline constexpr std::int64_t kMostEvictionWorkOfCall = 200'000;

// What advice on repacking may cost (advice/repack.hpp), some hundred milliseconds in all. Work is
// counted in calls of fit() and, a few each, in node states that are added up.
inline constexpr std::int64_t kMostRepackWork = 300'000;
/// An advice has no more moves than this; nodes with more pods that may be moved are not searched
/// for all pairs of them.
inline constexpr std::size_t kMostRepackMoves = 32;
inline constexpr std::size_t kMostPodsForPairs = 32;
/// So many sets of pods to move are kept to be tried, the fewest and smallest; of each so many ways
/// to place the request, and for each of these so many trials to place the pods.
inline constexpr std::size_t kMostRepackSets = 20'000;
inline constexpr std::size_t kMostRequestWays = 8;
inline constexpr int kMostRepackSteps = 256;
/// For pods of one kind so many nodes that have room are looked for, from the fullest on: more than
/// an advice has moves.
inline constexpr std::size_t kMostRepackPlaces = 64;

// How snugctl asks a server: so long until it is connected and in silence, and so large a reply.
inline constexpr std::int64_t kAskConnectMs = 5'000;
inline constexpr std::int64_t kAskSilenceMs = 30'000;
inline constexpr std::size_t kMostAskedBytes = 67'108'864;

// What a simulation may consist of. Its nodes are bounded by the default of maxNodes, and the GPUs
// of one node or pod by max_gpus_per_node.
inline constexpr std::int64_t kMostTraceBytes = 268'435'456;  // of each file
inline constexpr std::size_t kMostTracePods = 1'000'000;
inline constexpr std::size_t kMostTraceArrivals = 2'000'000;
inline constexpr std::size_t kMostComparedPolicies = 16;

struct LimitRow {
  std::string_view key;
  std::int64_t Limits::* field;
  std::int64_t default_value;
  std::int64_t smallest;
  std::int64_t largest;
  std::string_view meaning;
};

/// The rows of SNUG_LIMITS, for the configuration reader.
[[nodiscard]] std::span<const LimitRow> limit_rows();

}  // namespace snug
