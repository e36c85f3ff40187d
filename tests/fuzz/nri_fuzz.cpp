// Bytes from the container runtime: the messages in them do not depend on how they are cut into
// chunks, and a message that is written is read as it was.
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent_codec/nri_messages.hpp"
#include "snug/agent_codec/nri_wire.hpp"
#include "support/random.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

using agent_codec::NriMessage;

struct Decoded {
  std::vector<NriMessage> messages;
  bool failed = false;

  friend bool operator==(const Decoded&, const Decoded&) = default;
};

/// `longest`: the bytes of the longest chunk.
Decoded decode(std::string_view bytes, std::size_t longest) {
  Random random{bytes.size()};
  agent_codec::NriDecoder decoder;
  Decoded decoded;
  while (!bytes.empty()) {
    const std::string_view chunk = bytes.substr(0, 1 + random.below(longest));
    bytes.remove_prefix(chunk.size());
    decoded.failed = !decoder.feed(chunk, decoded.messages);
  }
  return decoded;
}

void read_payload(std::string_view payload) {
  (void)agent_codec::decode_configure(payload);
  (void)agent_codec::decode_synchronize(payload);
  (void)agent_codec::decode_state_change(payload);
  (void)agent_codec::decode_ttrpc_response(payload);
  const auto request = agent_codec::decode_container_request(payload);
  const auto validation = agent_codec::decode_validation(payload);
  require(request || !request.error().message.empty(), "an error has a message");
  if (!validation) return;
  require(request && request->container == validation->container, "one container for both readers");
  std::string written = agent_codec::encode_created(validation->adjustment);
  if (written.empty()) return;
  written[0] = '\x1a';  // the field `adjust` of a validation
  require(agent_codec::decode_validation(written)->adjustment == validation->adjustment,
          "an adjustment is read as it was written");
}

}  // namespace

void take_input(std::string_view input) {
  const Decoded whole = decode(input, input.size() + 1);
  require(decode(input, 1) == whole && decode(input, 7) == whole, "the same in all chunks");
  std::string again;
  for (const NriMessage& message : whole.messages) {
    again += agent_codec::encode_nri_frames(message).value();
    if (const auto request = agent_codec::decode_ttrpc_request(message.payload)) {
      require(agent_codec::decode_ttrpc_request(agent_codec::encode_ttrpc_request(*request)) ==
                  *request,
              "a request is read as it was written");
      read_payload(request->payload);
    }
  }
  require(decode(again, 11).messages == whole.messages, "messages are read as they were written");
  read_payload(input);
}

}  // namespace snug::fuzz
