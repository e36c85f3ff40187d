#include "adapters/nri/runtime_session.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "snug/agent/required_plugins.hpp"
#include "snug/base/agent_limits.hpp"

namespace snug::nri {
namespace {

using agent_codec::NriContainerEvent;
using agent_codec::NriEvent;
using agent_codec::TtrpcCode;

constexpr std::size_t kMaxObjects = base::agent_limits::max_nri_objects;

std::string success(std::string_view payload = {}) {
  return agent_codec::encode_ttrpc_success(payload);
}

/// The response to a request that cannot be read.
std::string unreadable(const base::Error& error) {
  return agent_codec::encode_ttrpc_error(TtrpcCode::kInvalidArgument, error.message);
}

std::string started(const base::Result<void>& result) {
  if (result) return success();
  return agent_codec::encode_ttrpc_error(TtrpcCode::kFailedPrecondition, result.error().message);
}

/// Appends the frames of a response, or of an error if the response is too large.
base::Result<void> append_response(std::uint32_t stream, std::string response, std::string& out) {
  agent_codec::NriMessage message{.connection = agent_codec::NriConnection::kPlugin,
                                  .stream = stream,
                                  .type = agent_codec::NriMessageType::kResponse,
                                  .payload = std::move(response)};
  auto frames = agent_codec::encode_nri_frames(message);
  if (!frames) {
    message.payload =
        agent_codec::encode_ttrpc_error(TtrpcCode::kResourceExhausted, frames.error().message);
    frames = agent_codec::encode_nri_frames(message);
  }
  if (!frames) return std::unexpected(frames.error());
  out += *frames;
  return {};
}

base::Result<void> check_registration(std::string_view response_bytes) {
  const auto response = agent_codec::decode_ttrpc_response(response_bytes);
  if (!response) return std::unexpected(response.error());
  if (response->code == 0) return {};
  return base::fail(base::ErrorCode::kInvalid,
                    "the runtime refused the registration: " + response->message);
}

}  // namespace

RuntimeSession::~RuntimeSession() {
  if (configured_) sink_.disconnected();
}

base::Result<std::string> RuntimeSession::registration() const {
  return agent_codec::encode_nri_frames(
      {.connection = agent_codec::NriConnection::kRuntime,
       .stream = 1,
       .type = agent_codec::NriMessageType::kRequest,
       .payload = agent_codec::encode_ttrpc_request(
           {.service = std::string(agent_codec::kNriRuntimeService),
            .method = "RegisterPlugin",
            .payload = agent_codec::encode_register_plugin(options_.name, options_.index)})});
}

base::Result<std::string> RuntimeSession::receive(std::string_view bytes) {
  std::vector<agent_codec::NriMessage> messages;
  const auto fed = decoder_.feed(bytes, messages);
  std::string out;
  for (const agent_codec::NriMessage& message : messages) {
    const bool is_request = message.type == agent_codec::NriMessageType::kRequest;
    if (message.connection == agent_codec::NriConnection::kRuntime) {
      // The runtime may send its first calls before this response.
      if (is_request) continue;
      if (auto checked = check_registration(message.payload); !checked) {
        return std::unexpected(checked.error());
      }
    } else if (is_request) {
      if (auto sent = append_response(message.stream, answer(message.payload), out); !sent) {
        return std::unexpected(sent.error());
      }
    }
  }
  if (!fed) return std::unexpected(fed.error());
  return out;
}

const RuntimeSession::Method* RuntimeSession::find_method(std::string_view name) {
  // The runtime calls PostCreateContainer, StartContainer, RemoveContainer and StopPodSandbox in
  // newer versions, StateChange in older.
  static constexpr std::array kMethods{
      Method{"Configure", &RuntimeSession::configure},
      Method{"Synchronize", &RuntimeSession::synchronize},
      Method{"CreateContainer", &RuntimeSession::create_container},
      Method{"ValidateContainerAdjustment", &RuntimeSession::validate_container},
      Method{"PostCreateContainer", &RuntimeSession::container_created},
      Method{"StartContainer", &RuntimeSession::start_container},
      Method{"StopContainer", &RuntimeSession::container_ended},
      Method{"RemoveContainer", &RuntimeSession::container_ended},
      Method{"StopPodSandbox", &RuntimeSession::sandbox_stopped},
      Method{"StateChange", &RuntimeSession::state_change},
      Method{"Shutdown", &RuntimeSession::acknowledge},
  };
  const auto method = std::ranges::find(kMethods, name, &Method::name);
  return method == kMethods.end() ? nullptr : &*method;
}

std::string RuntimeSession::answer(std::string_view request_bytes) {
  const auto request = agent_codec::decode_ttrpc_request(request_bytes);
  if (!request) return unreadable(request.error());
  const Method* method = find_method(request->method);
  if (request->service != agent_codec::kNriPluginService || method == nullptr) {
    return agent_codec::encode_ttrpc_error(
        TtrpcCode::kUnimplemented,
        "this plug-in does not have the method " + request->service + "/" + request->method);
  }
  if (!configured_ && method->handle != &RuntimeSession::configure) {
    return agent_codec::encode_ttrpc_error(TtrpcCode::kFailedPrecondition,
                                           request->method + " was called before Configure");
  }
  return (this->*method->handle)(request->payload);
}

std::string RuntimeSession::configure(std::string_view payload) {
  auto request = agent_codec::decode_configure(payload);
  if (!request) return unreadable(request.error());
  runtime_.name = std::move(request->runtime_name);
  runtime_.version = std::move(request->runtime_version);
  configured_ = true;
  std::vector<NriEvent> events = options_.events;
  if (sink_.connected(runtime_)) events.push_back(NriEvent::kValidateContainerAdjustment);
  return success(agent_codec::encode_configured(events));
}

std::string RuntimeSession::synchronize(std::string_view payload) {
  auto part = agent_codec::decode_synchronize(payload);
  if (!part) return unreadable(part.error());
  std::ranges::move(part->sandboxes, std::back_inserter(sandboxes_));
  std::ranges::move(part->containers, std::back_inserter(containers_));
  if (sandboxes_.size() + containers_.size() > kMaxObjects) {
    sandboxes_ = {};
    containers_ = {};
    return agent_codec::encode_ttrpc_error(
        TtrpcCode::kResourceExhausted,
        "this plug-in can hold " + std::to_string(kMaxObjects) + " pods and containers");
  }
  if (!part->more) {
    sink_.synchronized(std::exchange(sandboxes_, {}), std::exchange(containers_, {}));
    synchronized_ = true;
  }
  return success(agent_codec::encode_synchronized(part->more));
}

std::string RuntimeSession::create_container(std::string_view payload) {
  const auto request = agent_codec::decode_container_request(payload);
  if (!request) return unreadable(request.error());
  auto adjustment = sink_.create_container(request->sandbox, request->container);
  if (!adjustment) {
    return agent_codec::encode_ttrpc_error(TtrpcCode::kFailedPrecondition,
                                           adjustment.error().message);
  }
  agent::mark_if_required(request->sandbox, request->container, options_.name, *adjustment);
  return success(agent_codec::encode_created(*adjustment));
}

std::string RuntimeSession::validate_container(std::string_view payload) {
  auto request = agent_codec::decode_validation(payload);
  if (!request) return unreadable(request.error());
  const auto valid = sink_.validate_container({.sandbox = std::move(request->sandbox),
                                               .container = std::move(request->container),
                                               .adjustment = std::move(request->adjustment)});
  return success(
      agent_codec::encode_validated(valid ? std::nullopt : std::optional(valid.error().message)));
}

std::string RuntimeSession::container_created(std::string_view payload) {
  const auto request = agent_codec::decode_container_request(payload);
  if (!request) return unreadable(request.error());
  sink_.container_created(request->sandbox, request->container);
  return success();
}

std::string RuntimeSession::start_container(std::string_view payload) {
  const auto request = agent_codec::decode_container_request(payload);
  if (!request) return unreadable(request.error());
  return started(sink_.start_container(request->sandbox, request->container));
}

std::string RuntimeSession::container_ended(std::string_view payload) {
  const auto request = agent_codec::decode_container_request(payload);
  if (!request) return unreadable(request.error());
  sink_.container_ended(request->container.id);
  return success();
}

std::string RuntimeSession::sandbox_stopped(std::string_view payload) {
  const auto request = agent_codec::decode_container_request(payload);
  if (!request) return unreadable(request.error());
  sink_.sandbox_stopped(request->sandbox);
  return success();
}

std::string RuntimeSession::state_change(std::string_view payload) {
  const auto request = agent_codec::decode_state_change(payload);
  if (!request) return unreadable(request.error());
  if (request->event == static_cast<int>(NriEvent::kPostCreateContainer)) {
    sink_.container_created(request->sandbox, request->container);
  } else if (request->event == static_cast<int>(NriEvent::kStartContainer)) {
    return started(sink_.start_container(request->sandbox, request->container));
  } else if (request->event == static_cast<int>(NriEvent::kRemoveContainer)) {
    sink_.container_ended(request->container.id);
  } else if (request->event == static_cast<int>(NriEvent::kStopPodSandbox)) {
    sink_.sandbox_stopped(request->sandbox);
  }
  return success();
}

std::string RuntimeSession::acknowledge(std::string_view /*payload*/) { return success(); }

}  // namespace snug::nri
