// Every bound of the system, in one table. A row is (C++ name, key under `limits:` in the
// configuration file, default, smallest, largest, meaning). docs/limits.md shows the same rows, and
// a test compares the two. Nothing else in the tree may hold a queue, body, depth or wait bound;
// a constant that looks like one says in its place why it is none that an operator would set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// clang-format off
#define SNUG_LIMITS(ROW)                                                                                                   \
  ROW(max_body_bytes,          "maxBodyBytes",          67'108'864, 1'024, 1'073'741'824, "bytes of one request body")      \
  ROW(max_body_bytes_at_once,  "maxBodyBytesAtOnce",    67'108'864, 1'024, 17'179'869'184, "bytes of all request bodies that are read and answered at once; a lone one, and those up to 16 KiB, always may") \
  ROW(body_wait_ms,            "bodyWaitMs",            1'000,      0,     60'000,        "wait of a body beyond maxBodyBytesAtOnce, in milliseconds; then it is refused (below the scheduler's httpTimeout)") \
  ROW(max_json_depth,          "maxJsonDepth",          64,         16,    1'024,         "nesting of any JSON text")        \
  ROW(max_headers,             "maxHeaders",            100,        16,    10'000,        "headers of one request")          \
  ROW(max_connections,         "maxConnections",        384,        8,     4'096,         "requests to the extender port that are read and answered at once; one thread each") \
  ROW(max_admin_connections,   "maxAdminConnections",   16,         2,     256,           "requests to the admin port that are read and answered at once; probes have two more threads") \
  ROW(max_queued_connections,  "maxQueuedConnections",  512,        8,     8'192,         "open connections to each port beyond those: idle, in a head, or waiting for a thread") \
  ROW(listen_backlog,          "listenBacklog",         512,        1,     4'096,         "connections that the kernel holds until they are accepted") \
  ROW(max_header_bytes,        "maxHeaderBytes",        65'536,     4'096, 1'048'576,     "bytes of a request's line and headers") \
  ROW(keep_alive_ms,           "keepAliveMs",           120'000,    100,   3'600'000,     "idle time after which a connection to the extender port is closed, in milliseconds (above kube-scheduler's 90 s)") \
  ROW(admin_keep_alive_ms,     "adminKeepAliveMs",      5'000,      100,   3'600'000,     "idle time after which a connection to the admin port is closed, in milliseconds") \
  ROW(head_ms,                 "headMs",                2'000,      10,    60'000,        "time in which a request's line and headers must have come, in milliseconds: from their first byte, on a new connection from its accept (TLS handshake included)") \
  ROW(request_silence_ms,      "requestSilenceMs",      2'000,      10,    60'000,        "silence in the midst of a body or reply after which its connection is closed, in milliseconds") \
  ROW(request_ms,              "requestMs",             10'000,     100,   600'000,       "time in which a body must have come, and again its reply have left, in milliseconds") \
  ROW(min_bytes_per_s,         "minBytesPerS",          65'536,     0,     1'000'000'000, "bytes per second of a body or a reply below which a client, after its first 250 ms, may lose its connection to a request that waits for a thread or for room") \
  ROW(max_nodes,               "maxNodes",              50'000,     1,     500'000,       "nodes in the ledger, and again nodes left out of it that wait for a place")             \
  ROW(max_names_per_call,      "maxNamesPerCall",       50'000,     1,     500'000,       "node names in one filter, prioritize or preempt call") \
  ROW(max_victims_per_call,    "maxVictimsPerCall",     100'000,    1,     1'000'000,     "pods that one preempt call would evict") \
  ROW(max_gpus_per_node,       "maxGpusPerNode",        64,         1,     1'024,         "GPUs in one node's inventory")    \
  ROW(max_inventory_bytes,     "maxInventoryBytes",     262'144,    1'024, 1'048'576,     "bytes of the annotation snug.dev/inventory") \
  ROW(max_reservation_bytes,   "maxReservationBytes",   65'536,     32'768, 262'144,      "bytes of the annotation snug.dev/reservation") \
  ROW(max_pending_pods,        "maxPendingPods",        100'000,    16,    1'000'000,     "unbound pods remembered from the watch, one more costs a GET at bind; and all pods of the embedded mode") \
  ROW(max_intents,             "maxIntents",            4'096,      1,     65'536,        "winners named and not yet bound") \
  ROW(intent_ttl_ms,           "intentTtlMs",           10'000,     100,   600'000,       "life of an intent, in milliseconds") \
  ROW(max_nominations,         "maxNominations",        4'096,      1,     65'536,        "nominated pods for which room on their node is kept, for one more none is") \
  ROW(max_tombstones,          "maxTombstones",         65'536,     16,    1'000'000,     "uids of ended pods remembered against late events, and again of pods whose problem has been reported") \
  ROW(max_object_bytes,        "maxObjectBytes",        16'777'216, 65'536, 134'217'728,  "bytes of one object in a list or watch stream (above six times etcd's --max-request-bytes)") \
  ROW(max_config_bytes,        "maxConfigBytes",        262'144,    1'024, 1'048'576,     "bytes of a configuration, policy or YAML manifest file") \
  ROW(max_manifest_bytes,      "maxManifestBytes",      536'870'912, 1'024, 2'147'483'647, "bytes of one JSON manifest file of the embedded mode") \
  ROW(max_policy_terms,        "maxPolicyTerms",        32,         1,     256,           "terms in one profile of a policy") \
  ROW(max_policy_rows,         "maxPolicyRows",         256,        1,     4'096,         "rows in each of a policy's rules, podChoice and sharing, and entries in a row's lists") \
  ROW(policy_reread_ms,        "policyRereadMs",        1'000,      10,    3'600'000,     "between two looks at whether the policy file has changed, in milliseconds; SIGHUP reads it at once") \
  ROW(api_connections,         "apiConnections",        32,         1,     512,           "connections to the API server for calls other than watches") \
  ROW(api_idle_ms,             "apiIdleMs",             45'000,     0,     3'600'000,     "idle time after which a connection to the API server is not used again, in milliseconds (below the API server's 90 s)") \
  ROW(watch_timeout_s,         "watchTimeoutS",         20,         1,     3'600,         "seconds a watch asks the API server to last; each adds up to as much again at random") \
  ROW(watch_silence_s,         "watchSilenceS",         45,         2,     600,           "seconds without a byte after which a watch is given up, and its view is out of date (above twice watchTimeoutS)") \
  ROW(watch_lost_ms,           "watchLostMs",           15'000,     100,   600'000,       "after which a view is out of date whose watch cannot be established, in milliseconds") \
  ROW(list_timeout_s,          "listTimeoutS",          60,         2,     600,           "seconds without a byte after which a list is given up") \
  ROW(list_total_s,            "listTotalS",            600,        2,     3'600,         "seconds after which a list is given up though bytes still come") \
  ROW(backoff_first_ms,        "backoffFirstMs",        800,        10,    60'000,        "first wait after a failed list or watch, in milliseconds") \
  ROW(backoff_last_ms,         "backoffLastMs",         5'000,      100,   600'000,       "longest step of the wait after failed lists or watches, in milliseconds; each adds up to as much again at random") \
  ROW(backoff_reset_ms,        "backoffResetMs",        120'000,    100,   3'600'000,     "time without a failure after which the wait is the first again, in milliseconds") \
  ROW(resync_ms,               "resyncMs",              60'000,     500,   600'000,       "after which a bound pod that neither list nor watch has shown is asked for, in milliseconds") \
  ROW(settle_interval_ms,      "settleIntervalMs",      1'000,      10,    60'000,        "between two rounds that ask the API server about binds that it has not confirmed, in milliseconds") \
  ROW(lease_duration_ms,       "leaseDurationMs",       15'000,     1'000, 600'000,       "after which the Lease of a leader that renews it no more may be taken, in milliseconds") \
  ROW(renew_deadline_ms,       "renewDeadlineMs",       10'000,     500,   600'000,       "after its last renewal a leader binds no more, in milliseconds (below leaseDurationMs by twice apiTimeout and clockSkewMs)") \
  ROW(lease_retry_ms,          "leaseRetryMs",          2'000,      50,    60'000,        "between two renewals of the Lease, and at least between two tries to get it, in milliseconds") \
  ROW(clock_skew_ms,           "clockSkewMs",           500,        0,     60'000,        "by which clocks may differ that measure the same Lease or time-out, in milliseconds") \
  ROW(bind_settle_ms,          "bindSettleMs",          65'000,     100,   600'000,       "after a bind of unknown outcome, when a read that shows the pod unbound is conclusive (above the API server's --request-timeout)") \
  ROW(room_touch_interval_ms,  "roomTouchIntervalMs",   1'000,      10,    60'000,        "between two wake-ups of waiting pods, in milliseconds") \
  ROW(max_queued_events,       "maxQueuedEvents",       1'024,      1,     65'536,        "Kubernetes events waiting to be written, one more is dropped and counted; and again those remembered for eventRepeatMs") \
  ROW(event_repeat_ms,         "eventRepeatMs",         300'000,    0,     86'400'000,    "an identical Kubernetes event is not written again for so long, in milliseconds") \
  ROW(credentials_reread_ms,   "credentialsRereadMs",   50'000,     100,   3'600'000,     "between two reads of token and certificate files, in milliseconds; a 401 reads them at once") \
  ROW(drain_ms,                "drainMs",               5'000,      0,     60'000,        "SIGTERM waits this long for requests in flight, in milliseconds")
// clang-format on

namespace snug {

struct Limits {
#define SNUG_LIMIT_FIELD(name, key, default_value, smallest, largest, meaning) \
  std::int64_t name = default_value;
  SNUG_LIMITS(SNUG_LIMIT_FIELD)
#undef SNUG_LIMIT_FIELD
};

/// maxReservationBytes has room for a device of every GPU that maxGpusPerNode allows.
inline constexpr std::int64_t kReservationBytesPerGpu = 256;

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
/// asks in several: its reservation fits into the smallest maxReservationBytes whatever its names
/// and texts are, and all sets of its containers can be looked at (src/fit/patterns.hpp).
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

// What advice on repacking may cost (plan/repack.hpp), some hundred milliseconds in all. Work is
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

// What a simulation may consist of. Nodes, and GPUs of one node or pod, are bounded by the defaults
// of maxNodes and maxGpusPerNode.
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

/// The rows above, for the configuration reader and for the test that compares docs/limits.md.
[[nodiscard]] std::span<const LimitRow> limit_rows();

}  // namespace snug
