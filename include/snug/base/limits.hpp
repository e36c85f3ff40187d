// All limits of Snug on the sizes of queues and bodies, on nesting depths and on waits. No other
// file may define such a limit. If a constant elsewhere looks like a limit, its comment says why it
// is not one. docs/reference/limits.md repeats the two tables below; tests/tidy compares it.
//
// SNUG_LIMITS has the limits that an operator may set under `limits:` in the configuration file.
// Its rows are (C++ name, key, default, smallest, largest, meaning). SNUG_FIXED_LIMITS has the
// other limits. Its rows are (C++ name, value, "meaning; why the value suits every cluster"). Each
// row becomes a field of Limits, so that tests can lower any limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// clang-format off
#define SNUG_LIMITS(ROW)                                                                                                   \
  ROW(max_body_bytes,          "maxBodyBytes",        67'108'864,  1'024,   1'073'741'824,  "bytes of one request body") \
  ROW(max_body_bytes_at_once,  "maxBodyBytesAtOnce",  67'108'864,  1'024,   17'179'869'184, "total bytes of the request bodies being read or answered; a body is always admitted if it is the only one or has at most 16 KiB") \
  ROW(max_connections,         "maxConnections",      384,         8,       4'096,          "requests to the extender port being read or answered; one thread each") \
  ROW(max_nodes,               "maxNodes",            50'000,      1,       500'000,        "nodes in the ledger; up to as many further nodes wait until other nodes are deleted") \
  ROW(max_policy_rows,         "maxPolicyRows",       256,         1,       4'096,          "rows in each of a policy's rules, podChoice and sharing, and entries in a row's lists") \
  ROW(intent_ttl_ms,           "intentTtlMs",         10'000,      100,     600'000,        "lifetime of an intent in milliseconds: from filter's choice of a node to the bind") \
  ROW(api_connections,         "apiConnections",      32,          1,       512,            "connections to the API server for calls other than watches") \
  ROW(max_object_bytes,        "maxObjectBytes",      16'777'216,  65'536,  134'217'728,    "bytes of one object in a list or watch stream; must be above six times etcd's --max-request-bytes") \
  ROW(watch_timeout_s,         "watchTimeoutS",       20,          1,       3'600,          "timeoutSeconds of a watch; each watch adds a random jitter of up to 100 %") \
  ROW(watch_silence_s,         "watchSilenceS",       45,          2,       600,            "seconds without a byte after which a watch is abandoned and its view counts as out of date; must be above twice watchTimeoutS") \
  ROW(lease_duration_ms,       "leaseDurationMs",     15'000,      1'000,   300'000,        "milliseconds since its last renewal after which a Lease may be acquired by another replica") \
  ROW(renew_deadline_ms,       "renewDeadlineMs",     10'000,      4'000,   300'000,        "milliseconds since its last renewal after which a leader stops binding; must be below leaseDurationMs by twice apiTimeout and 500 ms") \
  ROW(bind_settle_ms,          "bindSettleMs",        65'000,      100,     600'000,        "milliseconds after a bind of unknown outcome from which a GET that shows the pod unbound is conclusive; must be above the API server's --request-timeout") \
  ROW(webhook_overlap_ms,      "webhookOverlapMs",    300'000,     1'000,   86'400'000,     "milliseconds for which both webhook configurations must have contained all CAs before the next step of replacing a certificate; must exceed the time in which every API server sees a changed configuration") \
  ROW(webhook_linger_ms,       "webhookLingerMs",     5'000,       0,       60'000,         "milliseconds for which the webhook answers after SIGTERM; a Service sends calls to a pod until its endpoints are updated everywhere") \
  ROW(drain_ms,                "drainMs",             5'000,       0,       60'000,         "milliseconds to wait for requests in flight after SIGTERM")

#define SNUG_FIXED_LIMITS(ROW) \
  ROW(max_json_depth,          64,          "nesting depth of any JSON text; pods and nodes are nested less than half as deeply") \
  ROW(max_headers,             100,         "headers of one request; kube-scheduler sends fewer than 10") \
  ROW(max_header_bytes,        65'536,      "bytes of a request line and its headers; kube-scheduler sends less than 1 KiB") \
  ROW(body_wait_ms,            1'000,       "milliseconds that a body beyond maxBodyBytesAtOnce waits before it is refused; a fifth of kube-scheduler's default httpTimeout") \
  ROW(max_admin_connections,   16,          "requests to the admin port that are read or answered at the same time; probes have two threads of their own") \
  ROW(max_webhook_connections, 64,          "requests to the webhook port that are read or answered at the same time; each takes less than a millisecond") \
  ROW(max_review_bytes,        41'943'040,  "bytes of one AdmissionReview; it may contain a pod twice, an API server accepts at most 3 MiB for a request, and JSON escapes make a text at most six times as long") \
  ROW(max_queued_connections,  512,         "open connections to each port whose requests are not being read or answered (idle, sending a head, or waiting for a thread); each costs a few KiB") \
  ROW(listen_backlog,          512,         "connections that the kernel queues until they are accepted; an accept takes microseconds") \
  ROW(keep_alive_ms,           120'000,     "milliseconds after which an idle connection to the extender port is closed; above the 90 s after which kube-scheduler closes it") \
  ROW(admin_keep_alive_ms,     5'000,       "milliseconds after which an idle connection to the admin port is closed; probes and scrapes open a new one") \
  ROW(head_ms,                 2'000,       "milliseconds for a request line and headers to arrive, from their first byte; on a new connection from its accept, including the TLS handshake") \
  ROW(request_silence_ms,      2'000,       "milliseconds without a byte of a body or a reply after which its connection is closed") \
  ROW(request_ms,              10'000,      "milliseconds to receive a body, and as many to send its reply; twice kube-scheduler's default httpTimeout") \
  ROW(min_bytes_per_s,         65'536,      "the lowest rate of a body or a reply in bytes per second; after 250 ms, a slower connection may be closed if another request waits for a thread or for memory; far below the throughput of any cluster network") \
  ROW(max_names_per_call,      500'000,     "node names in one filter, prioritize or preempt call; the largest maxNodes") \
  ROW(max_victims_per_call,    100'000,     "victims in one preempt call: about all pods of 900 nodes with the kubelet's default of 110 pods each") \
  ROW(max_gpus_per_node,       64,          "GPUs in one node inventory; servers have up to 16, rarely 32") \
  ROW(max_inventory_bytes,     262'144,     "bytes of the annotation snug.dev/inventory; the API server's limit for all annotations of an object") \
  ROW(max_reservation_bytes,   65'536,      "bytes of the annotation snug.dev/reservation; four times what max_gpus_per_node devices need") \
  ROW(max_pending_pods,        100'000,     "unbound pods cached from the watch, and all pods of the embedded mode; to bind a pod that is not cached, Snug sends one more GET") \
  ROW(max_intents,             4'096,       "intents at one time; enough for 400 new intents per second with the default intentTtlMs") \
  ROW(max_nominations,         4'096,       "nominated pods for which capacity is reserved; no capacity is reserved for further nominated pods") \
  ROW(max_named_victims,       256,         "pods for which the victims that preempt named are remembered; a further pod displaces the oldest answer") \
  ROW(named_victims_ms,        10'000,      "milliseconds for which the victims that preempt named for a pod are remembered; a working watch shows their eviction within a second") \
  ROW(max_tombstones,          65'536,      "uids of ended pods, remembered because events about them may arrive seconds later and must be discarded; also uids of pods whose problem has been reported") \
  ROW(max_config_bytes,        262'144,     "bytes of a configuration, policy or YAML manifest file; JSON manifests may be larger") \
  ROW(max_manifest_bytes,      536'870'912, "bytes of one JSON manifest file of the embedded mode; 50,000 pods of 10 KiB") \
  ROW(max_policy_terms,        32,          "terms in one profile of a policy; more than there are score terms") \
  ROW(policy_reread_ms,        1'000,       "milliseconds between two checks whether the policy file has changed; after SIGHUP it is read at once") \
  ROW(api_idle_ms,             45'000,      "milliseconds after which an idle connection to the API server is not reused; below the API server's 90 s") \
  ROW(watch_lost_ms,           15'000,      "milliseconds after which a view whose watch cannot be established counts as out of date; time for three retries") \
  ROW(list_timeout_s,          60,          "seconds without a byte after which a list is abandoned; the API server's default --request-timeout") \
  ROW(list_total_s,            600,         "seconds after which a list is abandoned even if bytes keep arriving; protects from a server that never ends it") \
  ROW(backoff_first_ms,        800,         "first wait after a failed list, watch or event, in milliseconds, as in client-go") \
  ROW(backoff_last_ms,         5'000,       "longest wait after failed lists or watches, in milliseconds, before a random jitter of up to 100 %; pods wait until a watch works again") \
  ROW(backoff_reset_ms,        120'000,     "milliseconds without a failure after which the back-off starts again at its first wait, as in client-go") \
  ROW(resync_ms,               60'000,      "milliseconds after which Snug sends a GET for a bound pod that neither list nor watch has shown; a working watch shows it within a second") \
  ROW(settle_interval_ms,      1'000,       "milliseconds between two rounds of GETs for binds whose outcome is unknown; such binds are rare") \
  ROW(lease_retry_ms,          2'000,       "milliseconds between two renewals of the Lease, and between two attempts to acquire it, as in client-go") \
  ROW(clock_skew_ms,           500,         "the largest difference in milliseconds between the times that two machines measure for the same Lease or time-out; clocks slewed by NTP diverge by up to 300 ms over the largest leaseDurationMs") \
  ROW(wake_interval_ms,        1'000,       "milliseconds between two wake-ups of waiting pods; kube-scheduler backs off for at least as long") \
  ROW(mirror_patches_per_tick, 8,           "nodes whose mirrored capacity is patched in one tick of 50 ms; 5,000 nodes take about half a minute, and the other work of the tick waits for at most as many calls") \
  ROW(mirror_retry_ms,         10'000,      "milliseconds after which a patch of a node's mirrored capacity, or a write of the admission policy's parameters, is repeated if it failed or has no visible effect; a working watch shows the effect within a second") \
  ROW(mirror_pause_ms,         1'000,       "milliseconds without patches of mirrored capacity after one that failed; bounds the load on an API server that refuses them all") \
  ROW(webhook_poll_ms,         2'000,       "milliseconds between two reads of the Secret snug-webhook, the webhook configurations and the MirrorParameters; four small GETs") \
  ROW(webhook_certificate_s,   31'536'000,  "seconds for which a certificate of the webhook is valid: 365 days") \
  ROW(webhook_renew_s,         10'368'000,  "seconds before the end of its validity at which the webhook's certificate is replaced: 120 days, so that a cluster may be off for months") \
  ROW(max_queued_events,       1'024,       "Kubernetes events queued to be written, and events remembered for event_repeat_ms; further events are dropped and counted") \
  ROW(event_repeat_ms,         300'000,     "milliseconds in which an identical Kubernetes event is not written again; an API server keeps events for an hour") \
  ROW(pod_events_per_s,        50,          "Kubernetes events per second about binds, refusals and likely mistakes in pods, on average, and as many again about nodes; as many as kube-scheduler writes by default; events about binds beyond max_queued_events are dropped") \
  ROW(refusal_event_delay_ms,  2'000,       "milliseconds for which a pod must have been refused before an event says so; most waits for a promised place are shorter") \
  ROW(refusal_event_repeat_ms, 600'000,     "milliseconds between two events about the same pod and reason; 100,000 pending pods cause at most pod_events_per_s") \
  ROW(history_points,          360,         "points of GET /v1/history; six hours") \
  ROW(history_interval_ms,     60'000,      "milliseconds between two points of GET /v1/history; more would only cost memory, since Prometheus has the metrics") \
  ROW(max_gpu_series,          16'384,      "GPUs that have metrics of their own, in the order of their nodes' names; at six series each, a scrape of some 15 MB") \
  ROW(max_namespace_series,    256,         "namespaces that have metrics of their own, those with the most compute; the others are summed up as one") \
  ROW(access_cache_ms,         10'000,      "milliseconds for which the API server's answer about a client of the admin port is remembered, as in kube-scheduler") \
  ROW(max_access_answers,      1'024,       "answers about clients of the admin port that are remembered; more than the users who read it at one time") \
  ROW(max_token_bytes,         8'000,       "bytes of a token that a client of the admin port sends; a header has at most 8,192, and a service account's token about 1,000") \
  ROW(access_reviews_per_s,    20,          "questions per second to the API server about one valid token whose answers are not remembered, and about all other tokens together; each is two small calls, or three") \
  ROW(access_connections,      8,           "connections to the API server for these questions; tokens that were not valid before use at most half of them") \
  ROW(credentials_reread_ms,   50'000,      "milliseconds between two reads of token and certificate files, as in client-go; after a 401 reply they are read at once")
// clang-format on

namespace snug::base {

struct Limits {
#define SNUG_LIMIT_FIELD(name, key, default_value, smallest, largest, meaning) \
  std::int64_t name = default_value;
#define SNUG_FIXED_LIMIT_FIELD(name, value, meaning) std::int64_t name = value;
  SNUG_LIMITS(SNUG_LIMIT_FIELD)
  SNUG_FIXED_LIMITS(SNUG_FIXED_LIMIT_FIELD)
#undef SNUG_LIMIT_FIELD
#undef SNUG_FIXED_LIMIT_FIELD
};

/// The longest text of one device in a reservation, in bytes. The static_assert ensures that a
/// reservation never exceeds max_reservation_bytes, so that Snug can read every reservation it
/// writes.
inline constexpr std::int64_t kReservationBytesPerGpu = 256;
static_assert(Limits{}.max_reservation_bytes >=
              kReservationBytesPerGpu * Limits{}.max_gpus_per_node);

// The number of buffers that a pool keeps for later calls, and the largest size of each buffer in
// bytes. There are two pools: one for bodies and one for parsers. These limits affect only speed
// and cannot be configured.
inline constexpr std::size_t kMaxPooledBuffers = 8;
inline constexpr std::size_t kMaxPooledBufferBytes = 1'048'576;
/// Number of plan::VerdictCache objects, and total number of verdicts in them. A verdict takes 16
/// bytes.
inline constexpr std::size_t kMaxVerdictCaches = 512;
inline constexpr std::size_t kMaxCachedVerdicts = 4'000'000;
/// Maximum number of steps in the search for a placement of a pod with several containers on one
/// node. This many steps take some milliseconds. If the search reaches this limit, the node is not
/// feasible (docs/decisions/0015).
inline constexpr std::int64_t kMaxFitSteps = 20'000;
/// Maximum number of search steps and comparisons of GPU models in one call, on all nodes together
/// (a few hundred ms). A node that has not been evaluated when this limit is reached is not
/// feasible in this call. The next call evaluates it, because the verdicts on the other nodes are
/// then cached (plan/verdict_cache.hpp).
inline constexpr std::int64_t kMaxFitStepsPerCall = 1'000'000;
/// Maximum number of steps in the search for places for the MIG slices of several containers on one
/// GPU. It is enough for every known card.
inline constexpr std::int64_t kMaxSliceSteps = 5'000;
/// The largest number of containers of one pod that request GPUs by annotation, and the largest
/// number of devices that two or more such containers request together. These limits ensure that
/// every reservation fits into half of max_reservation_bytes, and that src/fit/patterns.hpp can
/// enumerate all sets of containers.
inline constexpr std::size_t kMaxGpuContainers = 8;
inline constexpr std::int64_t kMaxMultiContainerDevices = 64;
/// Maximum length of the name of a GPU model, in bytes. Names from NVML have at most 96 bytes, and
/// label values at most 63. model::ModelMatcher uses one bit of a 128-bit integer for each byte.
inline constexpr std::size_t kMaxModelBytes = 128;

/// Maximum nesting depth of the JSON of a Lease. Real Leases are nested less than ten levels deep.
inline constexpr int kMaxLeaseDepth = 32;

// Limits of mig/layouts.hpp for one MIG card: the number of layouts that it lists, and the number
// of steps that it takes to list them. A step takes some nanoseconds. Known cards have at most
// 2,300 layouts, but a node may publish a MIG table that has more.
inline constexpr std::size_t kMaxMigLayouts = 65'536;
inline constexpr std::int64_t kMaxMigLayoutSteps = 4'000'000;

// Sizes of the learned demand (demand/demand_learner.hpp). They keep its tables small and fast to
// read. Entries beyond a limit are dropped. Only a MIG table with more than kMaxMigPlacements
// placements is refused as a whole.
inline constexpr std::size_t kMaxPodShapes = 4'096;      // pod shapes that are counted separately
inline constexpr std::size_t kMaxWaitingPods = 1'024;    // pods whose wait is observed
inline constexpr std::size_t kMaxPricedShareSizes = 16;  // share sizes priced by LeftOverTable
inline constexpr std::size_t kMaxMultiGpuShapes = 32;    // shapes of pods with several GPUs
inline constexpr std::size_t kMaxHeadroomGpus = 16;      // GPUs of a node that count for headroom
inline constexpr std::size_t kMaxTypicalPods = 128;      // typical pods of FGD's measure
inline constexpr std::size_t kMaxMigPlacements = 512;    // placements in one MIG table
inline constexpr std::size_t kMaxMigTables = 64;         // distinct tables of MIG cards
inline constexpr std::size_t kMaxGpuSizes = 8;  // sizes of GPU memory with a LeftOverTable each

// Cost of reserving capacity for nominated pods on one node (src/plan/nomination_guard.hpp). Work
// is counted as in FitMemo::work(); one unit of it takes some microseconds.
/// The number of pods nominated to one node for which capacity is reserved: those of highest rank.
inline constexpr std::size_t kMaxNominatedOnNode = 64;
/// kMaxPlacingTrials: the number of trials of one search that places several nominated pods
/// together. Trying the tightest placement of every pod costs no trials. For pods with one
/// container each, 64 trials suffice to try all combinations of placements of two pods with up to
/// 63 placements each, or of three pods with up to 7 placements each. kMaxPlacingSearches: the
/// number of such searches on one node.
inline constexpr int kMaxPlacingTrials = 64;
inline constexpr int kMaxPlacingSearches = 16;
/// kMaxWorkBesideNominated: after this much work, no capacity is reserved for further nominated
/// pods, and no further placements of the incoming pod are checked. kSufficientWorkBesideNominated:
/// after this much work on checking placements, the check ends if it has found a placement that
/// leaves enough capacity for the nominated pods.
inline constexpr std::int64_t kMaxWorkBesideNominated = 4'000;
inline constexpr std::int64_t kSufficientWorkBesideNominated = 500;
/// kMaxEvictionWork: work to choose the victims on one node (src/plan/victim_search.hpp). When it
/// is used up, no further victims are reprieved. kLastPassWork: the part of kMaxEvictionWork that
/// is reserved for the last pass over the victims. kMaxEvictionWorkPerCall: work of one preempt
/// call, after which no further nodes are evaluated.
inline constexpr std::int64_t kMaxEvictionWork = 5'000;
inline constexpr std::int64_t kLastPassWork = 1'000;
inline constexpr std::int64_t kMaxEvictionWorkPerCall = 200'000;

// Cost of one repacking advice (advice/repack.hpp), some hundred milliseconds in all. Work is
// counted in calls of fit(). The computation of a node state counts as a few calls.
inline constexpr std::int64_t kMaxRepackWork = 300'000;

// Cost of one explanation (explain/explain.hpp) besides some calls of fit() for each node
// (bench/plan_bench, explain_a_refusal). kMaxExplainNodes:
// nodes on which ends of pods and changes of nodes are tried. kMaxExplainEndWork: work to find pods
// whose end helps. kMaxExplainMoveNodes: nodes between which moves are tried. kMaxExplainMoveWork:
// RepackInput::max_work.
inline constexpr std::size_t kMaxExplainNodes = 32;
inline constexpr std::int64_t kMaxExplainEndWork = 4'000;
inline constexpr std::size_t kMaxExplainMoveNodes = 256;
inline constexpr std::int64_t kMaxExplainMoveWork = 1'000;
/// Explanations that GET /v1/explain computes or lets wait at the same time; they take turns, and
/// the other threads of the admin port stay free.
inline constexpr int kMaxExplanationsAtOnce = 4;
// Explanations in events about refusals. kExplanationLifeMs: a sentence is used again for equal
// requests in this time. kMaxKeptExplanations: such sentences. kExplanationCpuPercent: the part of
// one core that they may take, and kExplanationBurstMs at once after a pause; an event beyond it
// has the reason without advice.
inline constexpr std::int64_t kExplanationLifeMs = 10'000;
inline constexpr std::size_t kMaxKeptExplanations = 256;
inline constexpr int kExplanationCpuPercent = 10;
inline constexpr std::int64_t kExplanationBurstMs = 500;
/// Sentences about one pod's likely mistakes (request/near_misses.hpp), the keys of a pod that are
/// kept for them, the bytes of such a key, and the keys that are compared with the right ones:
/// 256 KiB of annotations can have 30,000 keys, and each comparison is an edit distance.
inline constexpr std::size_t kMaxNearMisses = 8;
inline constexpr std::size_t kMaxStrayKeys = 8;
inline constexpr std::size_t kMaxStrayKeyBytes = 128;
inline constexpr std::size_t kMaxComparedKeys = 64;
/// How often the writing of an event is attempted while the API server does not answer.
inline constexpr int kMaxEventAttempts = 4;
/// Decisions of filter that are remembered until the bind (each keeps its snapshot alive),
/// comparisons that are kept for bound pods (some 500 bytes each), and pods for which it is
/// remembered which nodes kube-scheduler offered when filter refused them (a bit for each node).
inline constexpr std::size_t kMaxDecisionNotes = 256;
inline constexpr std::size_t kMaxPlacementRecords = 10'000;
inline constexpr std::size_t kMaxOfferRecords = 4'096;
/// kMaxRepackMoves: at most this many pods are moved. kMaxPodsForPairs: the search tries all pairs
/// of movable pods of a node only if the node has at most this many movable pods.
inline constexpr std::size_t kMaxRepackMoves = 32;
inline constexpr std::size_t kMaxPodsForPairs = 32;
/// kMaxRepackSets: sets of pods to move that one step of the search tries; sets with the fewest and
/// smallest pods come first. kMaxRequestPlacements: placements of the request that are tried for
/// each set. kMaxRepackSteps: trials to place the moved pods for each of these placements.
inline constexpr std::size_t kMaxRepackSets = 20'000;
inline constexpr std::size_t kMaxRequestPlacements = 8;
inline constexpr int kMaxRepackSteps = 256;
/// The number of nodes that are collected as possible new nodes for the movable pods of one kind:
/// the fullest of the feasible nodes. This number is larger than kMaxRepackMoves.
inline constexpr std::size_t kMaxRepackNodes = 64;

/// Maximum length in bytes of a header line with its CR LF, and of a request target. Common HTTP
/// servers have the same limits, so these need not be configurable.
inline constexpr std::size_t kMaxHeaderLineBytes = 8'192;
inline constexpr std::size_t kMaxTargetBytes = 8'192;

// Requests of snugctl to the admin port: time to connect, time without a received byte, time for
// the whole reply, and bytes of the reply. The largest reply needs 0.6 MB/s.
inline constexpr std::int64_t kAdminConnectTimeoutMs = 5'000;
inline constexpr std::int64_t kAdminIdleTimeoutMs = 30'000;
inline constexpr std::int64_t kAdminReplyTimeoutMs = 120'000;
inline constexpr std::size_t kMaxAdminReplyBytes = 67'108'864;

// kubectl, which snugctl starts to reach Snug in a cluster: time for one of its requests and for
// its port-forward to start, time to end after SIGTERM, bytes that snugctl reads of its output,
// enough for the names of 200,000 nodes, and bytes of a line of the port-forward; a longer line is
// taken in parts.
inline constexpr std::int64_t kKubectlTimeoutMs = 20'000;
inline constexpr std::int64_t kKubectlEndMs = 2'000;
inline constexpr std::size_t kMaxKubectlOutputBytes = 16'777'216;
inline constexpr std::size_t kMaxKubectlLineBytes = 4'096;
/// The shortest and the longest interval of `snugctl top --watch`.
inline constexpr std::int64_t kMinWatchMs = 100;
inline constexpr std::int64_t kMaxWatchMs = 3'600'000;

// Size of one simulation. The number of its nodes is limited by the default of maxNodes, and the
// GPUs of one node or pod by max_gpus_per_node.
inline constexpr std::int64_t kMaxTraceBytes = 268'435'456;  // bytes of each file
inline constexpr std::size_t kMaxTracePods = 1'000'000;
inline constexpr std::size_t kMaxTraceArrivals = 2'000'000;
inline constexpr std::size_t kMaxComparedPolicies = 16;

struct LimitRow {
  std::string_view key;
  std::int64_t Limits::* field;
  std::int64_t default_value;
  std::int64_t smallest;
  std::int64_t largest;
  std::string_view description;
};

/// The rows of SNUG_LIMITS, for the configuration reader.
[[nodiscard]] std::span<const LimitRow> limit_rows();

}  // namespace snug::base
