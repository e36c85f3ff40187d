#include "snug/agent_codec/nri_wire.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "snug/base/agent_limits.hpp"

namespace snug::agent_codec {
namespace {

constexpr std::size_t kFrameHeaderBytes = 8;
constexpr std::size_t kMessageHeaderBytes = 10;
constexpr std::size_t kMaxMessageBytes = base::agent_limits::max_nri_message_bytes;
constexpr std::size_t kMaxFrameBytes = kMessageHeaderBytes + kMaxMessageBytes;

std::uint32_t read_number(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char byte : bytes.substr(0, 4)) {
    number = (number << 8U) | static_cast<std::uint8_t>(byte);
  }
  return number;
}

void append_number(std::string& bytes, std::size_t number) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    bytes += static_cast<char>((number >> shift) & 0xffU);
  }
}

std::string too_large(std::string_view what, std::size_t bytes, std::size_t limit) {
  return "NRI: a " + std::string(what) + " of " + std::to_string(bytes) +
         " bytes is longer than the limit of " + std::to_string(limit);
}

/// Nullopt: the receiver ignores the type. ttrpc's type 3 is data of a stream, which NRI does not
/// use.
std::optional<NriMessageType> known_type(char type) {
  switch (type) {
    case 1:
      return NriMessageType::kRequest;
    case 2:
      return NriMessageType::kResponse;
    default:
      return std::nullopt;
  }
}

/// Moves up to `count` bytes from the front of `from` to the end of `to`.
void move_bytes(std::string_view& from, std::size_t count, std::string& to) {
  count = std::min(count, from.size());
  to.append(from.substr(0, count));
  from.remove_prefix(count);
}

}  // namespace

base::Result<void> NriDecoder::take_frame_header() {
  connection_ = read_number(frame_header_);
  payload_left_ = read_number(std::string_view(frame_header_).substr(4));
  frame_header_.clear();
  if (payload_left_ <= kMaxFrameBytes) return {};
  failure_ = too_large("frame", payload_left_, kMaxFrameBytes);
  return base::fail(base::ErrorCode::kTooLarge, failure_);
}

base::Result<void> NriDecoder::take_payload(std::string_view payload,
                                            std::vector<NriMessage>& messages) {
  if (connection_ != 1 && connection_ != 2) return {};
  std::string& message = incomplete_.at(connection_ - 1);
  while (!payload.empty()) {
    if (message.size() < kMessageHeaderBytes) {
      move_bytes(payload, kMessageHeaderBytes - message.size(), message);
      if (message.size() < kMessageHeaderBytes) return {};
    }
    const std::size_t length = read_number(message);
    if (length > kMaxMessageBytes) {
      failure_ = too_large("message", length, kMaxMessageBytes);
      return base::fail(base::ErrorCode::kTooLarge, failure_);
    }
    message.reserve(kMessageHeaderBytes + length);  // += alone could allocate up to twice as much
    move_bytes(payload, kMessageHeaderBytes + length - message.size(), message);
    if (message.size() < kMessageHeaderBytes + length) return {};
    std::string complete = std::exchange(message, {});
    if (const auto type = known_type(complete[8])) {
      const std::uint32_t stream = read_number(std::string_view(complete).substr(4));
      complete.erase(0, kMessageHeaderBytes);
      messages.push_back({.connection = static_cast<NriConnection>(connection_),
                          .stream = stream,
                          .type = *type,
                          .payload = std::move(complete)});
    }
  }
  return {};
}

base::Result<void> NriDecoder::feed(std::string_view bytes, std::vector<NriMessage>& messages) {
  if (!failure_.empty()) return base::fail(base::ErrorCode::kTooLarge, failure_);
  while (!bytes.empty()) {
    if (payload_left_ == 0) {
      move_bytes(bytes, kFrameHeaderBytes - frame_header_.size(), frame_header_);
      if (frame_header_.size() < kFrameHeaderBytes) return {};
      if (auto header = take_frame_header(); !header) return header;
    }
    const std::string_view payload = bytes.substr(0, payload_left_);
    bytes.remove_prefix(payload.size());
    payload_left_ -= payload.size();
    if (auto taken = take_payload(payload, messages); !taken) return taken;
  }
  return {};
}

base::Result<std::string> encode_nri_frames(const NriMessage& message) {
  constexpr std::size_t kFrameBytes = base::agent_limits::nri_frame_bytes;
  if (message.payload.size() > kMaxMessageBytes) {
    return base::fail(base::ErrorCode::kTooLarge,
                      too_large("message", message.payload.size(), kMaxMessageBytes));
  }
  std::string stream;
  stream.reserve(kMessageHeaderBytes + message.payload.size());
  append_number(stream, message.payload.size());
  append_number(stream, message.stream);
  stream += static_cast<char>(message.type);
  stream += '\0';
  stream += message.payload;
  std::string frames;
  frames.reserve(stream.size() + (stream.size() / kFrameBytes + 1) * kFrameHeaderBytes);
  for (std::string_view left = stream; !left.empty();) {
    const std::string_view payload = left.substr(0, kFrameBytes);
    left.remove_prefix(payload.size());
    append_number(frames, static_cast<std::size_t>(message.connection));
    append_number(frames, payload.size());
    frames += payload;
  }
  return frames;
}

}  // namespace snug::agent_codec
