// NRI's messages, in protobuf as its api.proto defines them, and the envelope of ttrpc around them.
// Only the fields that the agent uses are read; all others are skipped, as is a field with an
// unexpected wire type. Decoding fails with kInvalid if the bytes are not protobuf. Strings are not
// validated. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent/container_view.hpp"
#include "snug/agent_codec/nri_wire.hpp"
#include "snug/base/result.hpp"

namespace snug::agent_codec {

inline constexpr std::string_view kNriRuntimeService = "nri.pkg.api.v1alpha1.Runtime";
inline constexpr std::string_view kNriPluginService = "nri.pkg.api.v1alpha1.Plugin";

/// The envelope of a request.
struct TtrpcRequest {
  std::string service;
  std::string method;
  std::string_view payload;  // of the bytes that were decoded or will be encoded

  friend bool operator==(const TtrpcRequest&, const TtrpcRequest&) = default;
};

/// The codes of gRPC that the agent uses.
enum class TtrpcCode : std::uint8_t {
  kOk = 0,
  kInvalidArgument = 3,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
};

/// The envelope of a response.
struct TtrpcResponse {
  std::int64_t code = 0;  // of gRPC; 0: success
  std::string message;    // of an error
  std::string payload;

  friend bool operator==(const TtrpcResponse&, const TtrpcResponse&) = default;
};

[[nodiscard]] base::Result<TtrpcRequest> decode_ttrpc_request(std::string_view bytes);
[[nodiscard]] base::Result<TtrpcResponse> decode_ttrpc_response(std::string_view bytes);
[[nodiscard]] std::string encode_ttrpc_request(const TtrpcRequest& request);
/// The bytes of a response that is no error.
[[nodiscard]] std::string encode_ttrpc_success(std::string_view payload);
/// The bytes of an error. Its message is made valid UTF-8 and limited in length, since the runtime
/// discards a response that is not valid.
[[nodiscard]] std::string encode_ttrpc_error(TtrpcCode code, std::string_view message);

/// Events that a plug-in can subscribe to, by NRI's numbers.
enum class NriEvent : std::uint8_t {
  kStopPodSandbox = 2,
  kCreateContainer = 4,
  kPostCreateContainer = 5,
  kStartContainer = 6,
  kStopContainer = 10,
  kRemoveContainer = 11,
  kValidateContainerAdjustment = 14,
};

/// The payload of RegisterPlugin: `index` is two digits, by which the runtime orders plug-ins.
[[nodiscard]] std::string encode_register_plugin(std::string_view name, std::string_view index);

struct NriConfigure {
  std::string runtime_name;
  std::string runtime_version;

  friend bool operator==(const NriConfigure&, const NriConfigure&) = default;
};

[[nodiscard]] base::Result<NriConfigure> decode_configure(std::string_view bytes);
/// `events` must not be empty: the runtime takes an empty mask for a subscription to all events.
[[nodiscard]] std::string encode_configured(const std::vector<NriEvent>& events);

/// What the runtime has, or a part of it.
struct NriSynchronize {
  std::vector<agent::SandboxView> sandboxes;
  std::vector<agent::ContainerView> containers;
  bool more = false;  // another part follows

  friend bool operator==(const NriSynchronize&, const NriSynchronize&) = default;
};

[[nodiscard]] base::Result<NriSynchronize> decode_synchronize(std::string_view bytes);
/// `more` must be that of the request; otherwise the runtime disconnects the plug-in.
[[nodiscard]] std::string encode_synchronized(bool more);

/// The payload of CreateContainer, StartContainer, StopContainer, RemoveContainer and
/// StopPodSandbox (without a container), of StateChange (with an event) and of
/// ValidateContainerAdjustment (with an adjustment).
struct NriContainerEvent {
  std::int64_t event = 0;
  agent::SandboxView sandbox;
  agent::ContainerView container;
  agent::Adjustment adjustment;

  friend bool operator==(const NriContainerEvent&, const NriContainerEvent&) = default;
};

[[nodiscard]] base::Result<NriContainerEvent> decode_container_request(std::string_view bytes);
[[nodiscard]] base::Result<NriContainerEvent> decode_validation(std::string_view bytes);
[[nodiscard]] base::Result<NriContainerEvent> decode_state_change(std::string_view bytes);

[[nodiscard]] std::string encode_created(const agent::Adjustment& adjustment);
/// `refusal`: why the container is refused, treated as the message of an error; nullopt: it is not.
[[nodiscard]] std::string encode_validated(const std::optional<std::string>& refusal);

}  // namespace snug::agent_codec
