#include "snug/agent_codec/nri_wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/agent_limits.hpp"
#include "support/nri_proto.hpp"
#include "support/random.hpp"

namespace snug::agent_codec::nri_wire_test {
namespace {

using namespace std::string_literals;
using nri_proto::frame;
using nri_proto::ttrpc;

constexpr std::size_t kMaxBytes = base::agent_limits::max_nri_message_bytes;
constexpr std::size_t kFrameBytes = base::agent_limits::nri_frame_bytes;

std::vector<NriMessage> decode(std::string_view bytes) {
  NriDecoder decoder;
  std::vector<NriMessage> messages;
  EXPECT_TRUE(decoder.feed(bytes, messages));
  return messages;
}

TEST(NriWireTest, AMessageHasTheBytesOfTheProtocol) {
  const NriMessage message{.connection = NriConnection::kRuntime,
                           .stream = 0x01020304,
                           .type = NriMessageType::kResponse,
                           .payload = "hi"};
  const std::string bytes =
      "\x00\x00\x00\x02\x00\x00\x00\x0c\x00\x00\x00\x02\x01\x02\x03\x04\x02\x00hi"s;
  EXPECT_EQ(encode_nri_frames(message).value(), bytes);
  EXPECT_EQ(decode(bytes), std::vector{message});
}

TEST(NriWireTest, ALongMessageIsSplitIntoFramesThatTheRuntimeCanRead) {
  const std::string payload(3 * kFrameBytes, 'x');
  std::string bytes = encode_nri_frames({.stream = 1, .payload = payload}).value();
  EXPECT_EQ(decode(bytes).at(0).payload, payload);
  const std::string stream = ttrpc(1, 1, payload);
  std::string expected;
  for (std::size_t at = 0; at < stream.size(); at += 4096) {
    expected += frame(1, std::string_view(stream).substr(at, 4096));
  }
  EXPECT_EQ(bytes, expected);
}

TEST(NriWireTest, FramesThatNobodyReadsAreDropped) {
  const std::string message = frame(1, ttrpc(1, 1, "x"));
  EXPECT_EQ(decode(frame(0, "a") + frame(3, ttrpc(1, 1, "b")) + message).size(), 1);
  EXPECT_EQ(decode(frame(1, "") + message).size(), 1) << "an empty frame";
  EXPECT_EQ(decode(frame(1, ttrpc(1, 3, "data")) + frame(1, ttrpc(1, 0, "")) + message).size(), 1);
}

TEST(NriWireTest, TheTwoConnectionsAreStreamsOfTheirOwn) {
  const std::string one = ttrpc(1, 1, "one");
  const std::string two = ttrpc(1, 2, "two");
  const auto messages = decode(frame(1, one.substr(0, 5)) + frame(2, two.substr(0, 11)) +
                               frame(1, one.substr(5)) + frame(2, two.substr(11)));
  ASSERT_EQ(messages.size(), 2);
  EXPECT_EQ(messages[0].payload, "one");
  EXPECT_EQ(messages[1].payload, "two");
}

TEST(NriWireTest, WhatExceedsTheLimitIsAnErrorForGood) {
  const std::string header = "\x00\x00\x00\x01"s;
  const std::string rows[] = {
      header + nri_proto::big_endian(kMaxBytes + 11),
      header + "\xff\xff\xff\xff",
      header + "\x00\x00\x00\x0a"s + nri_proto::big_endian(kMaxBytes + 1) +
          "\x00\x00\x00\x01\x01\x00"s,
  };
  for (const std::string& bytes : rows) {
    NriDecoder decoder;
    std::vector<NriMessage> messages;
    const auto first = decoder.feed(bytes, messages);
    ASSERT_FALSE(first);
    EXPECT_EQ(first.error().code, base::ErrorCode::kTooLarge) << first.error().message;
    EXPECT_FALSE(decoder.feed(frame(1, ttrpc(1, 1, "x")), messages));
    EXPECT_TRUE(messages.empty());
  }
  EXPECT_FALSE(encode_nri_frames({.payload = std::string(kMaxBytes + 1, 'x')}));
}

TEST(NriWireTest, TheLongestMessageIsReadFromOneFrame) {
  const std::string payload(kMaxBytes, 'x');
  EXPECT_EQ(decode(frame(1, ttrpc(1, 1, payload))).at(0).payload.size(), kMaxBytes);
  EXPECT_TRUE(encode_nri_frames({.payload = payload}));
}

TEST(NriWireTest, MessagesAreTheSameInAnyChunks) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random{seed};
    std::vector<NriMessage> sent;
    std::string bytes;
    for (std::size_t i = random.below(6); i > 0; --i) {
      sent.push_back(
          {.connection = random.one_in(2) ? NriConnection::kPlugin : NriConnection::kRuntime,
           .stream = static_cast<std::uint32_t>(random.below(1U << 31U)),
           .type = random.one_in(2) ? NriMessageType::kRequest : NriMessageType::kResponse,
           .payload = std::string(random.below(random.one_in(3) ? 10'000 : 20), 'p')});
      bytes += encode_nri_frames(sent.back()).value();
    }
    NriDecoder decoder;
    std::vector<NriMessage> received;
    for (std::string_view left = bytes; !left.empty();) {
      const std::string_view chunk = left.substr(0, 1 + random.below(random.one_in(2) ? 3 : 5'000));
      left.remove_prefix(chunk.size());
      ASSERT_TRUE(decoder.feed(chunk, received)) << "seed " << seed;
    }
    EXPECT_EQ(received, sent) << "seed " << seed;
  }
}

}  // namespace
}  // namespace snug::agent_codec::nri_wire_test
