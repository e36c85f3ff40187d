// The frames of NRI's connection to the container runtime. One unix socket carries two connections,
// whose frames the multiplexer marks with the number of the connection: a frame is the number and
// the length of its payload (both 32 bits, big-endian), then the payload. The payloads of one
// connection are a stream of ttrpc messages: length and stream (as above), type and flags (8 bits
// each), then the payload. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/result.hpp"

namespace snug::agent_codec {

/// A connection of the multiplexer. Requests on it are those to the named side.
enum class NriConnection : std::uint8_t { kPlugin = 1, kRuntime = 2 };

/// The receiver of a message ignores all other types, as ttrpc requires.
enum class NriMessageType : std::uint8_t { kRequest = 1, kResponse = 2 };

struct NriMessage {
  NriConnection connection = NriConnection::kPlugin;
  std::uint32_t stream = 0;  // the same in a request and its response
  NriMessageType type = NriMessageType::kRequest;
  std::string payload;

  friend bool operator==(const NriMessage&, const NriMessage&) = default;
};

/// Finds the messages in the bytes that come from the socket. It holds at most one incomplete
/// message of each connection. Not thread-safe.
class NriDecoder {
 public:
  /// Appends the messages that `bytes` completes to `messages`. Drops frames of unknown connections
  /// and messages of unknown types. kTooLarge: a frame or message is longer than the limit
  /// max_nri_message_bytes allows. After an error, each further call fails in the same way.
  [[nodiscard]] base::Result<void> feed(std::string_view bytes, std::vector<NriMessage>& messages);

 private:
  [[nodiscard]] base::Result<void> take_frame_header();
  [[nodiscard]] base::Result<void> take_payload(std::string_view payload,
                                                std::vector<NriMessage>& messages);

  std::string frame_header_;  // incomplete, or empty if the header of the current frame is complete
  std::uint32_t connection_ = 0;             // of the current frame
  std::size_t payload_left_ = 0;             // bytes of the current frame that are still to come
  std::array<std::string, 2> incomplete_{};  // the beginning of a ttrpc message, by connection
  std::string failure_;                      // empty: there is none
};

/// Returns the frames of a message, each with at most nri_frame_bytes of payload. kTooLarge: its
/// payload is longer than max_nri_message_bytes.
[[nodiscard]] base::Result<std::string> encode_nri_frames(const NriMessage& message);

}  // namespace snug::agent_codec
