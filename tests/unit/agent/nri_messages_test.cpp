#include "snug/agent_codec/nri_messages.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "snug/base/agent_limits.hpp"
#include "support/nri_proto.hpp"

namespace snug::agent_codec::nri_messages_test {
namespace {

using namespace std::string_literals;
using nri_proto::bytes_field;
using nri_proto::example_adjustment;
using nri_proto::example_container;
using nri_proto::example_sandbox;
using nri_proto::number_field;

TEST(NriMessagesTest, MessagesHaveTheBytesOfTheProtocol) {
  EXPECT_EQ(encode_register_plugin("snug", "10"), "\x0a\x04snug\x12\x02\x31\x30");
  EXPECT_EQ(encode_ttrpc_request({"s", "m", "p"}), "\x0a\x01s\x12\x01m\x1a\x01p");
  EXPECT_EQ(encode_ttrpc_success("p"), "\x12\x01p");
  EXPECT_EQ(encode_ttrpc_error(TtrpcCode::kFailedPrecondition, "no"), "\x0a\x06\x08\x09\x12\x02no");
  // Bits 3, 4, 1 and 13.
  EXPECT_EQ(encode_configured({NriEvent::kCreateContainer, NriEvent::kPostCreateContainer,
                               NriEvent::kStopPodSandbox, NriEvent::kValidateContainerAdjustment}),
            "\x10\x9a\x40");
  EXPECT_EQ(encode_configured({NriEvent::kCreateContainer}), "\x10\x08");
  EXPECT_EQ(encode_synchronized(true), "\x10\x01");
  EXPECT_EQ(encode_synchronized(false), "");
  EXPECT_EQ(encode_validated(std::nullopt), "");
  EXPECT_EQ(encode_validated("no"), "\x08\x01\x12\x02no");
  EXPECT_EQ(encode_validated(""), "\x08\x01\x12\x00"s) << "refused without a reason";
  EXPECT_EQ(encode_created({}), "");
  EXPECT_EQ(encode_created({.env = {{"A", "b"}}, .cdi_devices = {"c"}}),
            "\x0a\x0d\x22\x06\x0a\x01\x41\x12\x01\x62\x42\x03\x0a\x01\x63");
}

TEST(NriMessagesTest, AReasonIsShortAndValidText) {
  const auto response = decode_ttrpc_response(
      encode_ttrpc_error(TtrpcCode::kFailedPrecondition, "a\xff" + std::string(9000, 'x')));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->code, 9);
  EXPECT_TRUE(response->message.starts_with("a?x"));
  EXPECT_EQ(response->message.size(), base::agent_limits::max_nri_reason_bytes);
}

TEST(NriMessagesTest, TheRequestsOfTheRuntimeAreRead) {
  const std::string pod = nri_proto::sandbox(example_sandbox());
  const std::string container = nri_proto::container(example_container());
  EXPECT_EQ(decode_configure(bytes_field(1, "config") + bytes_field(2, "containerd") +
                             bytes_field(3, "v2.4.2") + number_field(4, 5000) +
                             number_field(5, 2000) + bytes_field(6, "v0.12.3"))
                .value(),
            (NriConfigure{"containerd", "v2.4.2"}));
  EXPECT_EQ(decode_container_request(bytes_field(1, pod) + bytes_field(2, container)).value(),
            (NriContainerEvent{.sandbox = example_sandbox(), .container = example_container()}));
  EXPECT_EQ(
      decode_state_change(number_field(1, 11) + bytes_field(2, pod) + bytes_field(3, container))
          .value(),
      (NriContainerEvent{
          .event = 11, .sandbox = example_sandbox(), .container = example_container()}));
  EXPECT_EQ(decode_validation(bytes_field(1, pod) + bytes_field(2, container) +
                              bytes_field(3, nri_proto::adjustment(example_adjustment())) +
                              bytes_field(6, nri_proto::entry("snug", "10")))
                .value(),
            (NriContainerEvent{.sandbox = example_sandbox(),
                               .container = example_container(),
                               .adjustment = example_adjustment()}));
  const auto part = decode_synchronize(bytes_field(1, pod) + bytes_field(1, pod) +
                                       bytes_field(2, container) + number_field(3, 1));
  ASSERT_TRUE(part);
  EXPECT_EQ(part->sandboxes, (std::vector{example_sandbox(), example_sandbox()}));
  EXPECT_EQ(part->containers, std::vector{example_container()});
  EXPECT_TRUE(part->more);
}

TEST(NriMessagesTest, AnAdjustmentIsReadAsItWasWritten) {
  const std::string response = encode_created(example_adjustment());
  ASSERT_EQ(response[0], '\x0a');  // the field adjust = 1, which is field 3 in a validation
  EXPECT_EQ(decode_validation("\x1a" + response.substr(1))->adjustment, example_adjustment());
}

TEST(NriMessagesTest, StatesOfContainersHaveNrisNumbers) {
  using enum agent::ContainerState;
  const std::pair<std::int64_t, agent::ContainerState> rows[] = {
      {0, kUnknown}, {1, kCreated}, {2, kPaused},  {3, kRunning},
      {4, kStopped}, {5, kUnknown}, {-1, kUnknown}};
  for (const auto& [number, state] : rows) {
    const auto request = decode_container_request(bytes_field(2, number_field(4, number)));
    EXPECT_EQ(request->container.state, state) << number;
  }
}

TEST(NriMessagesTest, PartsOfAMessageAreMergedAndTheLastValueOfAKeyCounts) {
  const auto request = decode_container_request(
      bytes_field(1, bytes_field(2, "old") + bytes_field(6, nri_proto::entry("k", "1"))) +
      bytes_field(1, bytes_field(2, "new") + bytes_field(6, nri_proto::entry("k", "2"))) +
      bytes_field(2, bytes_field(11, bytes_field(5, "/cgroup"))) +
      bytes_field(2, bytes_field(11, bytes_field(2, bytes_field(1, "/dev/a")))));
  EXPECT_EQ(request->sandbox.name, "new");
  EXPECT_EQ(request->sandbox.annotations, (model::StringMap{{"k", "2"}}));
  EXPECT_EQ(request->container.cgroup_path, "/cgroup");
  EXPECT_EQ(request->container.devices.at(0).path, "/dev/a");
}

TEST(NriMessagesTest, FieldsThatAreUnknownOrOfAnotherTypeAreSkipped) {
  const std::string unknown = bytes_field(99, "x") + number_field(98, 1) +
                              "\xa5\x06"
                              "1234" +
                              "\xa1\x06"
                              "12345678";
  EXPECT_EQ(
      decode_container_request(unknown + number_field(1, 5) +
                               bytes_field(2, unknown + bytes_field(4, "state") +
                                                  number_field(1, 3) + bytes_field(3, "main")))
          .value(),
      (NriContainerEvent{.container = {.name = "main"}}));
}

TEST(NriMessagesTest, WhatIsNotProtobufIsAnError) {
  const std::string rows[] = {
      "\x0a"s, "\x0a\x05yx"s, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s,
      "\x0b"s, "\x00\x01"s,   "\x0a\x02\x0a\x09"s};
  for (const std::string& bytes : rows) {
    const auto request = decode_container_request(bytes);
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().code, base::ErrorCode::kInvalid);
    EXPECT_FALSE(decode_synchronize(bytes));
    EXPECT_FALSE(decode_validation(bytes));
  }
  EXPECT_FALSE(decode_state_change("\x12\x02\x0a\x09"));
  EXPECT_FALSE(decode_configure("\x0a"));
  EXPECT_FALSE(decode_ttrpc_request("\x0a"));
  EXPECT_FALSE(decode_ttrpc_response("\x0a\x02\x08\xff"));
}

}  // namespace
}  // namespace snug::agent_codec::nri_messages_test
