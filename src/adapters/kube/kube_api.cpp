#include "snug/adapters/kube/kube_api.hpp"

#include <mutex>
#include <nlohmann/json.hpp>

#include "adapters/kube/api_caller.hpp"
#include "adapters/kube/binding_proto.hpp"
#include "adapters/kube/event_writer.hpp"
#include "adapters/kube/text.hpp"
#include "snug/codec/kube_objects.hpp"
#include "snug/codec/proto_wire.hpp"

namespace snug {
namespace {

constexpr const char* kMetadataOnly =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
constexpr const char* kMetadataListOnly =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

std::string dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string pod_path(std::string_view name_space, std::string_view name) {
  std::string path = "/api/v1/namespaces/";
  return path.append(name_space).append("/pods/").append(name);
}

Result<void> check_pod_name(std::string_view name_space, std::string_view name) {
  if (auto valid = check_name("namespace", name_space); !valid) return valid;
  return check_name("pod", name);
}

/// What a reply's status says about a write.
Result<void> write_outcome(const std::string& what, const ApiReply& reply) {
  if (reply.status >= 200 && reply.status < 300) return {};
  ErrorCode code = ErrorCode::kUnknown;
  if (reply.status >= 400 && reply.status < 500) code = ErrorCode::kInvalid;
  if (reply.status == 408) code = ErrorCode::kUnknown;  // a proxy's, which may answer nothing
  if (reply.status == 404) code = ErrorCode::kNotFound;
  if (reply.status == 409) code = ErrorCode::kConflict;
  if (reply.status == 429) code = ErrorCode::kUnavailable;  // turned away at the door
  return fail(code, "the API server answered " + std::to_string(reply.status) + " to " + what +
                        ": " + status_message(reply.body));
}

/// The name of the first object of a list; empty: there is none.
std::string first_name(const std::string& body) {
  const auto list = nlohmann::json::parse(body, nullptr, false);
  const auto pointer = nlohmann::json::json_pointer("/items/0/metadata/name");
  if (!list.is_object() || !list.contains(pointer) || !list.at(pointer).is_string()) return {};
  return list.at(pointer).get<std::string>();
}

}  // namespace

struct KubeApi::State {
  State(const ApiEndpoint& endpoint, const KubeOptions& the_options, const KubeContext& context)
      : options(the_options),
        limits(context.limits),
        caller(endpoint, the_options, context),
        events(caller, the_options, context) {}

  Result<void> patch_room(CallDeadline deadline, const std::string& path, Generation room);
  Result<std::string> some_node(CallDeadline deadline);
  Result<void> touch_some_node(CallDeadline deadline, Generation room);
  std::string known_node();
  void remember_node(const std::string& name);

  const KubeOptions options;
  const Limits limits;
  ApiCaller caller;
  EventWriter events;
  std::mutex mutex;
  std::string node;  // touched last; empty: none is known
};

KubeApi::KubeApi(const ApiEndpoint& endpoint, const KubeOptions& options,
                 const KubeContext& context)
    : state_(std::make_unique<State>(endpoint, options, context)) {}

KubeApi::~KubeApi() = default;

Result<void> KubeApi::bind(const Binding& binding) {
  if (auto valid = check_pod_name(binding.name_space, binding.pod); !valid) return valid;
  if (auto valid = check_name("node", binding.node); !valid) return valid;
  ApiRequest request;
  request.method = "POST";
  request.target = pod_path(binding.name_space, binding.pod) + "/binding";
  request.content_type = kProtobufType;
  request.body = binding_proto(binding);
  const auto reply = state_->caller.call("bind", request);
  if (reply) return write_outcome("the binding", *reply);
  // A success whose text is too long is a success.
  if (reply.error().code == ErrorCode::kTooLarge) return {};
  return std::unexpected(reply.error());
}

Result<std::optional<PodFacts>> KubeApi::get_pod(std::string_view name_space,
                                                 std::string_view name) {
  if (auto valid = check_pod_name(name_space, name); !valid) {
    return std::unexpected(valid.error());
  }
  ApiRequest request;
  request.target = pod_path(name_space, name);  // without resourceVersion: a quorum read
  const auto reply = state_->caller.call("get_pod", request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status == 404) return std::nullopt;
  if (reply->status != 200) {
    const bool refused =
        reply->status >= 400 && reply->status < 500 && reply->status != 408 && reply->status != 429;
    return fail(refused ? ErrorCode::kInvalid : ErrorCode::kUnavailable,
                "the API server answered " + std::to_string(reply->status) +
                    " to the read of a pod: " + status_message(reply->body));
  }
  KubeObjectReader reader(state_->limits);
  auto pod = reader.read_pod(reply->body);
  if (!pod) return std::unexpected(pod.error());
  return *std::move(pod);
}

Result<void> KubeApi::State::patch_room(CallDeadline deadline, const std::string& path,
                                        Generation room) {
  ApiRequest request;
  request.method = "PATCH";
  request.target = path;
  request.content_type = "application/merge-patch+json";
  request.accept = kMetadataOnly;
  request.body =
      dump({{"metadata", {{"annotations", {{"snug.dev/room", std::to_string(room.value)}}}}}});
  const auto reply = caller.call_until(deadline, "touch_room", request);
  if (!reply) return std::unexpected(reply.error());
  return write_outcome("the patch of snug.dev/room", *reply);
}

Result<std::string> KubeApi::State::some_node(CallDeadline deadline) {
  ApiRequest request;
  request.target = "/api/v1/nodes?limit=1";
  request.accept = kMetadataListOnly;
  const auto reply = caller.call_until(deadline, "list_one_node", request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status != 200) {
    return fail(ErrorCode::kUnavailable,
                "the API server answered " + std::to_string(reply->status) +
                    " to the list of one node: " + status_message(reply->body));
  }
  std::string name = first_name(reply->body);
  if (!is_object_name(name)) {
    return fail(ErrorCode::kNotFound, "there is no node that could be touched");
  }
  return name;
}

std::string KubeApi::State::known_node() {
  const std::lock_guard lock(mutex);
  return node;
}

void KubeApi::State::remember_node(const std::string& name) {
  const std::lock_guard lock(mutex);
  node = name;
}

Result<void> KubeApi::State::touch_some_node(CallDeadline deadline, Generation room) {
  if (const std::string known = known_node(); !known.empty()) {
    auto touched = patch_room(deadline, "/api/v1/nodes/" + known, room);
    if (touched || touched.error().code != ErrorCode::kNotFound) return touched;
  }
  const auto found = some_node(deadline);
  remember_node(found ? *found : "");
  if (!found) return std::unexpected(found.error());
  return patch_room(deadline, "/api/v1/nodes/" + *found, room);
}

Result<void> KubeApi::touch_room(Generation room) {
  const KubeOptions& options = state_->options;
  const CallDeadline deadline = state_->caller.new_deadline();
  if (options.own_pod.empty() || options.own_namespace.empty()) {
    return state_->touch_some_node(deadline, room);
  }
  if (auto valid = check_pod_name(options.own_namespace, options.own_pod); !valid) return valid;
  return state_->patch_room(deadline, pod_path(options.own_namespace, options.own_pod), room);
}

void KubeApi::warn(const Notice& notice) { state_->events.warn(notice); }

}  // namespace snug
