#include "snug/adapters/kube/kube_api.hpp"

#include <atomic>
#include <random>

#include "adapters/kube/api_caller.hpp"
#include "adapters/kube/event_writer.hpp"
#include "adapters/kube/reply_meaning.hpp"
#include "snug/base/mutex.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/api_status.hpp"
#include "snug/codec/api_writes.hpp"
#include "snug/codec/kube_objects.hpp"
#include "snug/codec/object_names.hpp"
#include "snug/codec/proto_wire.hpp"

namespace snug::kube {
namespace {

constexpr const char* kMergePatch = "application/merge-patch+json";
constexpr const char* kMetadataOnly =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
constexpr const char* kMetadataListOnly =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// The first minor version in which kube-scheduler retries waiting pods when a bound pod changes:
/// eventhandlers.go calls MoveAllToActiveOrBackoffQueue for it if SchedulerQueueingHints is on,
/// which is the default since 1.32.
constexpr int kFirstMinorWokenByPods = 32;

/// The object whose changes wake pods in earlier versions (deploy/wake-1.31.yaml).
std::string capacity_path(std::string_view name_space) {
  std::string path = "/apis/storage.k8s.io/v1/namespaces/";
  return path.append(name_space).append("/csistoragecapacities/snug-room");
}

std::string pod_path(std::string_view name_space, std::string_view name) {
  std::string path = "/api/v1/namespaces/";
  return path.append(name_space).append("/pods/").append(name);
}

base::Result<void> check_pod_name(std::string_view name_space, std::string_view name) {
  if (auto valid_namespace = codec::check_object_name("namespace", name_space); !valid_namespace)
    return valid_namespace;
  return codec::check_object_name("pod", name);
}

std::string random_hex() {
  std::random_device entropy;
  return base::hex_number((std::uint64_t{entropy()} << 32U) | entropy());
}

/// Events are written one after the other, on a connection that no bind waits for.
base::Limits event_limits(base::Limits limits) {
  limits.api_connections = 1;
  return limits;
}

}  // namespace

struct KubeApi::State {
  State(const ApiEndpoint& endpoint, const KubeOptions& the_options, const KubeContext& context)
      : options(the_options),
        limits(context.limits),
        clock(context.clock),
        process_tag(random_hex()),
        api_caller(endpoint, the_options, context),
        limits_of_events(event_limits(context.limits)),
        event_caller(endpoint, the_options,
                     {limits_of_events, context.metrics, context.log, context.clock}),
        event_writer(event_caller, the_options, context) {}

  base::Result<void> patch_room(CallDeadline deadline, const std::string& object_path,
                                base::Generation room);
  base::Result<std::string> first_listed_node(CallDeadline deadline);
  base::Result<void> patch_room_on_a_node(CallDeadline deadline, base::Generation room);
  std::string last_annotated_node() SNUG_EXCLUDES(node_mutex);
  void remember_annotated(const std::string& node_name) SNUG_EXCLUDES(node_mutex);

  const KubeOptions options;
  const base::Limits limits;
  const base::Clock& clock;
  const std::string process_tag;  // random: makes the values of snug.dev/room unique
  std::atomic<std::uint64_t> room_patches{0};
  ApiCaller api_caller;
  const base::Limits limits_of_events;
  ApiCaller event_caller;
  EventWriter event_writer;
  base::Mutex node_mutex;
  /// The node annotated last; empty: unknown.
  std::string annotated_node SNUG_GUARDED_BY(node_mutex);
};

KubeApi::KubeApi(const ApiEndpoint& endpoint, const KubeOptions& options,
                 const KubeContext& context)
    : state_(std::make_unique<State>(endpoint, options, context)) {}

KubeApi::~KubeApi() = default;

base::Result<void> KubeApi::bind(const model::Binding& binding) {
  if (auto valid_pod = check_pod_name(binding.name_space, binding.pod); !valid_pod)
    return valid_pod;
  if (auto valid_node = codec::check_object_name("node", binding.node); !valid_node)
    return valid_node;
  ApiRequest bind_request;
  bind_request.method = "POST";
  // The API server aborts a binding that it has not executed within this time-out. So no
  // binding is executed after this replica has lost the Lease (docs/decisions/0023).
  bind_request.target = pod_path(binding.name_space, binding.pod) +
                        "/binding?timeout=" + std::to_string(state_->options.api_timeout.count()) +
                        "ms";
  if (binding.not_after != base::TimePoint::max()) {
    bind_request.not_after =
        std::chrono::steady_clock::now() + (binding.not_after - state_->clock.now());
  }
  bind_request.content_type = codec::kProtobufType;
  bind_request.body = codec::write_binding(binding);
  const auto bind_reply = state_->api_caller.call(service::ApiCall::kBind, bind_request);
  // Only a reply with a 2xx status can be too large, so the binding has succeeded.
  if (!bind_reply && bind_reply.error().code == base::ErrorCode::kTooLarge) return {};
  return write_outcome("the binding", bind_reply);
}

base::Result<std::optional<model::PodFacts>> KubeApi::get_pod(std::string_view name_space,
                                                              std::string_view name) {
  if (auto valid_name = check_pod_name(name_space, name); !valid_name) {
    return std::unexpected(valid_name.error());
  }
  ApiRequest pod_request;
  // Without resourceVersion, the API server reads the newest state from its store.
  pod_request.target = pod_path(name_space, name);
  const auto pod_reply = state_->api_caller.call(service::ApiCall::kGetPod, pod_request);
  if (!pod_reply) return std::unexpected(pod_reply.error());
  if (pod_reply->status == 404 && codec::says_not_found(pod_reply->body, "pods", name))
    return std::nullopt;
  if (pod_reply->status != 200) {
    const bool from_elsewhere =
        pod_reply->status < 500 && (pod_reply->status == 404 || !is_refusal(*pod_reply));
    const bool pod_get_refused = !from_elsewhere && pod_reply->status < 500 &&
                                 pod_reply->status != 408 && pod_reply->status != 429;
    return base::fail(pod_get_refused ? base::ErrorCode::kInvalid : base::ErrorCode::kUnavailable,
                      answered_by(from_elsewhere) + std::to_string(pod_reply->status) +
                          " to the GET of a pod: " + codec::status_message(pod_reply->body));
  }
  codec::KubeObjectReader pod_reader(state_->limits);
  auto pod = pod_reader.read_pod(pod_reply->body);
  if (!pod) return std::unexpected(pod.error());
  return *std::move(pod);
}

base::Result<void> KubeApi::State::patch_room(CallDeadline deadline, const std::string& object_path,
                                              base::Generation room) {
  ApiRequest patch_request;
  patch_request.method = "PATCH";
  patch_request.target = object_path;
  patch_request.content_type = kMergePatch;
  patch_request.accept = kMetadataOnly;
  // Each patch writes a new value, because a patch that changes nothing produces no watch event.
  const std::string room_value =
      std::to_string(room.value) + "." + process_tag + "." + std::to_string(++room_patches);
  patch_request.body = codec::write_annotation_patch("snug.dev/room", room_value);
  return write_outcome(
      "the patch of snug.dev/room",
      api_caller.call_until(deadline, service::ApiCall::kTouchRoom, patch_request));
}

base::Result<std::string> KubeApi::State::first_listed_node(CallDeadline deadline) {
  ApiRequest list_request;
  list_request.target = "/api/v1/nodes?limit=1";
  list_request.accept = kMetadataListOnly;
  const auto list_reply =
      api_caller.call_until(deadline, service::ApiCall::kListOneNode, list_request);
  if (!list_reply) return std::unexpected(list_reply.error());
  if (list_reply->status != 200) {
    return base::fail(base::ErrorCode::kUnavailable,
                      "the API server answered " + std::to_string(list_reply->status) +
                          " to a list of nodes: " + codec::status_message(list_reply->body));
  }
  std::string node_name = codec::first_item_name(list_reply->body);
  if (!codec::is_object_name(node_name)) {
    return base::fail(base::ErrorCode::kNotFound,
                      "the list of nodes has no node on which snug.dev/room can be set");
  }
  return node_name;
}

std::string KubeApi::State::last_annotated_node() {
  const base::MutexLock lock(node_mutex);
  return annotated_node;
}

void KubeApi::State::remember_annotated(const std::string& node_name) {
  const base::MutexLock lock(node_mutex);
  annotated_node = node_name;
}

base::Result<void> KubeApi::State::patch_room_on_a_node(CallDeadline deadline,
                                                        base::Generation room) {
  if (const std::string last_node = last_annotated_node(); !last_node.empty()) {
    auto room_patched = patch_room(deadline, "/api/v1/nodes/" + last_node, room);
    if (room_patched || room_patched.error().code != base::ErrorCode::kNotFound)
      return room_patched;
  }
  const auto listed_node = first_listed_node(deadline);
  remember_annotated(listed_node ? *listed_node : "");
  if (!listed_node) return std::unexpected(listed_node.error());
  return patch_room(deadline, "/api/v1/nodes/" + *listed_node, room);
}

base::Result<void> KubeApi::wake_pending_pods(base::Generation room) {
  const KubeOptions& options = state_->options;
  const CallDeadline deadline = state_->api_caller.new_deadline();
  if (options.own_pod.empty() || options.own_namespace.empty()) {
    return state_->patch_room_on_a_node(deadline, room);
  }
  if (auto valid_own_name = check_pod_name(options.own_namespace, options.own_pod); !valid_own_name)
    return valid_own_name;
  if (options.kubernetes_minor < kFirstMinorWokenByPods) {
    return state_->patch_room(deadline, capacity_path(options.own_namespace), room);
  }
  // By the subresource, so that Snug needs no right to change a pod's containers.
  return state_->patch_room(deadline, pod_path(options.own_namespace, options.own_pod) + "/status",
                            room);
}

base::Result<void> KubeApi::set_mirrored_capacity(
    std::string_view node, const std::optional<model::MirroredAmounts>& capacity) {
  if (auto valid_node = codec::check_object_name("node", node); !valid_node) return valid_node;
  ApiRequest patch_request;
  patch_request.method = "PATCH";
  patch_request.target = "/api/v1/nodes/" + std::string(node) + "/status";
  patch_request.content_type = kMergePatch;
  patch_request.accept = kMetadataOnly;
  patch_request.body = codec::write_capacity_patch(capacity);
  return write_outcome("the patch of the node's capacity",
                       state_->api_caller.call(service::ApiCall::kPatchNode, patch_request));
}

base::Result<void> KubeApi::write_mirror_parameters(
    const std::optional<admission::CardRange>& cards) {
  ApiRequest request;
  request.target = "/apis/snug.dev/v1/mirrorparameters/snug";
  request.accept = kMetadataOnly;
  if (cards) {
    // A server-side apply creates the object or replaces the fields that Snug wrote.
    request.method = "PATCH";
    request.target += "?fieldManager=snug-extender&force=true";
    request.content_type = "application/apply-patch+yaml";
    request.body = codec::write_mirror_parameters(*cards);
  } else {
    request.method = "DELETE";
  }
  const auto reply = state_->api_caller.call(service::ApiCall::kWriteMirrorParameters, request);
  if (reply && reply->status == 404) {
    if (!cards) return {};
    return base::fail(base::ErrorCode::kNotFound,
                      "the API server does not serve the kind MirrorParameters; apply "
                      "deploy/mirror-parameters.yaml");
  }
  return write_outcome(
      cards ? "the write of the mirror's parameters" : "the deletion of the mirror's parameters",
      reply);
}

bool KubeApi::notify(const model::Notice& notice) { return state_->event_writer.notify(notice); }

}  // namespace snug::kube
