#include "snug/adapters/kube/kube_api.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <random>

#include "adapters/kube/api_caller.hpp"
#include "adapters/kube/event_writer.hpp"
#include "snug/base/mutex.hpp"
#include "snug/codec/api_status.hpp"
#include "snug/codec/api_writes.hpp"
#include "snug/codec/kube_objects.hpp"
#include "snug/codec/object_names.hpp"
#include "snug/codec/proto_wire.hpp"

namespace snug::kube {
namespace {

constexpr const char* kMetadataOnly =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
constexpr const char* kMetadataListOnly =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// Body of the 429 by which an overloaded API server refuses requests; such a reply has no Status.
constexpr std::string_view kTooManyRequests = "Too many requests, please try again later.";

std::string answered_by(bool another) {
  return another ? "something that is not the API server answered " : "the API server answered ";
}

std::string pod_path(std::string_view name_space, std::string_view name) {
  std::string path = "/api/v1/namespaces/";
  return path.append(name_space).append("/pods/").append(name);
}

base::Result<void> check_pod_name(std::string_view name_space, std::string_view name) {
  if (auto valid = codec::check_object_name("namespace", name_space); !valid) return valid;
  return codec::check_object_name("pod", name);
}

std::string random_word() {
  std::random_device random;
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x", random(), random());
  return text.data();
}

/// Whether `reply` is a refusal by the API server itself: a 4xx with a Status (for a 404, with the
/// reason NotFound), or a 429 with kTooManyRequests. Any other 4xx may come from a proxy
/// that forwarded the request and then lost the reply.
bool is_refusal(const ApiReply& reply) {
  if (reply.status < 400 || reply.status >= 500) return false;
  if (reply.status == 429 && reply.body.starts_with(kTooManyRequests)) return true;
  const std::optional<codec::ApiStatus> status = codec::read_status(reply.body);
  return status && status->code == reply.status &&
         (reply.status != 404 || status->reason == "NotFound");
}

/// Returns the error code of a write that the API server refused with `status`.
base::ErrorCode code_of_refusal(int status) {
  switch (status) {
    case 404:
      return base::ErrorCode::kNotFound;
    case 408:
      return base::ErrorCode::kUnknown;
    case 409:
      return base::ErrorCode::kConflict;
    case 429:
      return base::ErrorCode::kUnavailable;
    default:
      return base::ErrorCode::kInvalid;
  }
}

/// Returns the outcome of a write that got `reply`. `what` names the write in the error message.
base::Result<void> write_outcome(const std::string& what, const ApiReply& reply) {
  if (reply.status >= 200 && reply.status < 300) return {};
  const bool refused = is_refusal(reply);
  return base::fail(refused ? code_of_refusal(reply.status) : base::ErrorCode::kUnknown,
                    answered_by(!refused && reply.status < 500) + std::to_string(reply.status) +
                        " to " + what + ": " + codec::status_message(reply.body));
}

}  // namespace

struct KubeApi::State {
  State(const ApiEndpoint& endpoint, const KubeOptions& the_options, const KubeContext& context)
      : options(the_options),
        limits(context.limits),
        clock(context.clock),
        process_tag(random_word()),
        caller(endpoint, the_options, context),
        events(caller, the_options, context) {}

  base::Result<void> patch_room(CallDeadline deadline, const std::string& path,
                                base::Generation room);
  base::Result<std::string> some_node(CallDeadline deadline);
  base::Result<void> touch_some_node(CallDeadline deadline, base::Generation room);
  std::string known_node() SNUG_EXCLUDES(mutex);
  void remember_node(const std::string& name) SNUG_EXCLUDES(mutex);

  const KubeOptions options;
  const base::Limits limits;
  const base::Clock& clock;
  const std::string process_tag;  // random: makes the values of snug.dev/room unique
  std::atomic<std::uint64_t> touches{0};
  ApiCaller caller;
  EventWriter events;
  base::Mutex mutex;
  std::string node SNUG_GUARDED_BY(mutex);  // the node annotated last; empty: unknown
};

KubeApi::KubeApi(const ApiEndpoint& endpoint, const KubeOptions& options,
                 const KubeContext& context)
    : state_(std::make_unique<State>(endpoint, options, context)) {}

KubeApi::~KubeApi() = default;

base::Result<void> KubeApi::bind(const model::Binding& binding) {
  if (auto valid = check_pod_name(binding.name_space, binding.pod); !valid) return valid;
  if (auto valid = codec::check_object_name("node", binding.node); !valid) return valid;
  ApiRequest request;
  request.method = "POST";
  // The API server aborts a binding that it has not executed within this time-out. So no
  // binding is executed after this replica has lost the Lease (docs/decisions/0023).
  request.target = pod_path(binding.name_space, binding.pod) +
                   "/binding?timeout=" + std::to_string(state_->options.api_timeout.count()) + "ms";
  if (binding.not_after != base::TimePoint::max()) {
    request.not_after =
        std::chrono::steady_clock::now() + (binding.not_after - state_->clock.now());
  }
  request.content_type = codec::kProtobufType;
  request.body = codec::write_binding(binding);
  const auto reply = state_->caller.call(service::ApiCall::kBind, request);
  if (reply) return write_outcome("the binding", *reply);
  // Only a reply with a 2xx status can be too large, so the binding has succeeded.
  if (reply.error().code == base::ErrorCode::kTooLarge) return {};
  return std::unexpected(reply.error());
}

base::Result<std::optional<model::PodFacts>> KubeApi::get_pod(std::string_view name_space,
                                                              std::string_view name) {
  if (auto valid = check_pod_name(name_space, name); !valid) {
    return std::unexpected(valid.error());
  }
  ApiRequest request;
  // Without resourceVersion, the API server reads the newest state from its store.
  request.target = pod_path(name_space, name);
  const auto reply = state_->caller.call(service::ApiCall::kGetPod, request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status == 404 && codec::says_not_found(reply->body, "pods", name)) return std::nullopt;
  if (reply->status != 200) {
    const bool another = reply->status < 500 && (reply->status == 404 || !is_refusal(*reply));
    const bool refused =
        !another && reply->status < 500 && reply->status != 408 && reply->status != 429;
    return base::fail(refused ? base::ErrorCode::kInvalid : base::ErrorCode::kUnavailable,
                      answered_by(another) + std::to_string(reply->status) +
                          " to the GET of a pod: " + codec::status_message(reply->body));
  }
  codec::KubeObjectReader reader(state_->limits);
  auto pod = reader.read_pod(reply->body);
  if (!pod) return std::unexpected(pod.error());
  return *std::move(pod);
}

base::Result<void> KubeApi::State::patch_room(CallDeadline deadline, const std::string& path,
                                              base::Generation room) {
  ApiRequest request;
  request.method = "PATCH";
  request.target = path;
  request.content_type = "application/merge-patch+json";
  request.accept = kMetadataOnly;
  // Each patch writes a new value, because a patch that changes nothing produces no watch event.
  const std::string value =
      std::to_string(room.value) + "." + process_tag + "." + std::to_string(++touches);
  request.body = codec::write_annotation_patch("snug.dev/room", value);
  const auto reply = caller.call_until(deadline, service::ApiCall::kTouchRoom, request);
  if (!reply) return std::unexpected(reply.error());
  return write_outcome("the patch of snug.dev/room", *reply);
}

base::Result<std::string> KubeApi::State::some_node(CallDeadline deadline) {
  ApiRequest request;
  request.target = "/api/v1/nodes?limit=1";
  request.accept = kMetadataListOnly;
  const auto reply = caller.call_until(deadline, service::ApiCall::kListOneNode, request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status != 200) {
    return base::fail(base::ErrorCode::kUnavailable,
                      "the API server answered " + std::to_string(reply->status) +
                          " to a list of nodes: " + codec::status_message(reply->body));
  }
  std::string name = codec::first_item_name(reply->body);
  if (!codec::is_object_name(name)) {
    return base::fail(base::ErrorCode::kNotFound,
                      "the list of nodes has no node on which snug.dev/room can be set");
  }
  return name;
}

std::string KubeApi::State::known_node() {
  const base::MutexLock lock(mutex);
  return node;
}

void KubeApi::State::remember_node(const std::string& name) {
  const base::MutexLock lock(mutex);
  node = name;
}

base::Result<void> KubeApi::State::touch_some_node(CallDeadline deadline, base::Generation room) {
  if (const std::string known = known_node(); !known.empty()) {
    auto touched = patch_room(deadline, "/api/v1/nodes/" + known, room);
    if (touched || touched.error().code != base::ErrorCode::kNotFound) return touched;
  }
  const auto found = some_node(deadline);
  remember_node(found ? *found : "");
  if (!found) return std::unexpected(found.error());
  return patch_room(deadline, "/api/v1/nodes/" + *found, room);
}

base::Result<void> KubeApi::wake_pending_pods(base::Generation room) {
  const KubeOptions& options = state_->options;
  const CallDeadline deadline = state_->caller.new_deadline();
  if (options.own_pod.empty() || options.own_namespace.empty()) {
    return state_->touch_some_node(deadline, room);
  }
  if (auto valid = check_pod_name(options.own_namespace, options.own_pod); !valid) return valid;
  return state_->patch_room(deadline, pod_path(options.own_namespace, options.own_pod), room);
}

void KubeApi::warn(const model::Notice& notice) { state_->events.warn(notice); }

}  // namespace snug::kube
