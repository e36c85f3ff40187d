// What is a Lease and what is none; a write keeps whatever else the Lease says.
#include "snug/codec/lease_codec.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace snug::lease_codec_test {
namespace {

using nlohmann::json;

std::string with_spec(const std::string& spec) {
  return R"({"metadata":{"resourceVersion":"7"},"spec":)" + spec + "}";
}

TEST(LeaseCodecTest, FieldsThatAreAbsentOrNullAreEmpty) {
  for (const char* text :
       {R"({"metadata":{"resourceVersion":"7"}})",
        R"({"metadata":{"resourceVersion":"7"},"spec":null})",
        R"({"metadata":{"resourceVersion":"7"},"spec":{}})",
        R"({"metadata":{"resourceVersion":"7"},"spec":{"holderIdentity":null}})"}) {
    const auto lease = codec::read_lease(text);
    ASSERT_TRUE(lease.has_value()) << text << ": " << lease.error().message;
    EXPECT_EQ(lease->record, leader::LeaseRecord{}) << text;
    EXPECT_EQ(lease->resource_version, "7");
  }
}

TEST(LeaseCodecTest, WhatIsNoLeaseIsRefused) {
  struct Row {
    std::string text;
    const char* message;
  };
  for (const Row& row :
       {Row{"", "it is not a Lease of the API server"},
        Row{"[]", "it is not a Lease of the API server"},
        Row{R"({"spec":{}})", "it is not a Lease of the API server"},
        Row{R"({"metadata":{"resourceVersion":7},"spec":{}})",
            "it is not a Lease of the API server"},
        Row{std::string(100'000, '['), "it is not a Lease of the API server"},
        Row{with_spec(R"({"x":)" + std::string(40, '[') + std::string(40, ']') + "}"),
            "it is not a Lease of the API server"},
        Row{with_spec(R"({"leaseDurationSeconds":9223372036})"),
            "spec.leaseDurationSeconds of the Lease has a wrong type or is too large"},
        Row{with_spec(R"({"leaseTransitions":-9223372036854775808})"),
            "spec.leaseTransitions of the Lease has a wrong type or is too large"},
        Row{with_spec("[]"), "spec of the Lease is not an object"},
        Row{with_spec("\"x\""), "spec of the Lease is not an object"},
        Row{with_spec("7"), "spec of the Lease is not an object"},
        Row{with_spec("false"), "spec of the Lease is not an object"},
        Row{with_spec(R"({"holderIdentity":7})"),
            "spec.holderIdentity of the Lease has a wrong type or is too large"},
        Row{with_spec(R"({"leaseTransitions":"7"})"),
            "spec.leaseTransitions of the Lease has a wrong type or is too large"}}) {
    const auto lease = codec::read_lease(row.text);
    ASSERT_FALSE(lease.has_value()) << row.text;
    EXPECT_EQ(lease.error().code, base::ErrorCode::kInvalid) << row.text;
    EXPECT_EQ(lease.error().message, row.message) << row.text;
    EXPECT_FALSE(
        codec::read_lease_event(R"({"type":"MODIFIED","object":)" + row.text + "}").has_value())
        << row.text;
  }
}

TEST(LeaseCodecTest, WhateverStandsInManagedFieldsTheLeaseIsRead) {
  const std::string deep = std::string(60, '[') + std::string(60, ']');
  for (const std::string& fields : {deep, std::string("{\"f:\xff\":{}}")}) {
    const auto lease = codec::read_lease(R"({"metadata":{"resourceVersion":"7","managedFields":[)" +
                                         fields + R"(]},"spec":{"holderIdentity":"you"}})");
    ASSERT_TRUE(lease) << lease.error().message;
    EXPECT_EQ(lease->record.holder, "you");
  }
}

TEST(LeaseCodecTest, AWriteKeepsWhatElseTheLeaseSays) {
  const leader::LeaseRecord record{.holder = "me", .duration_s = 15, .transitions = 2};
  for (const char* spec : {"null", "{}", R"({"strategy":"x","holderIdentity":"you"})"}) {
    const auto over = codec::read_lease(with_spec(spec));
    ASSERT_TRUE(over.has_value());
    const json written = json::parse(codec::write_lease({"ns", "n"}, record, &*over, "now"));
    EXPECT_EQ(written.at("metadata"),
              (json{{"resourceVersion", "7"}, {"namespace", "ns"}, {"name", "n"}}));
    const json& now = written.at("spec");
    EXPECT_EQ(now.at("holderIdentity"), "me");
    EXPECT_EQ(now.at("leaseTransitions"), 2);
    EXPECT_EQ(now.at("renewTime"), "now");
    EXPECT_EQ(now.at("acquireTime"), "now");
    EXPECT_EQ(now.contains("strategy"), std::string(spec).contains("strategy"));
  }
}

std::string heartbeat(const std::string& name, const std::string& spec) {
  return R"({"metadata":{"resourceVersion":"7","name":")" + name + R"("},"spec":)" + spec + "}";
}

TEST(LeaseCodecTest, AHeartbeatIsALeaseOfItsHoldersName) {
  const std::string of_n1 = R"({"holderIdentity":"n1","renewTime":"t1"})";
  const auto read = codec::read_heartbeat(heartbeat("agent.n1", of_n1));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, (model::AgentHeartbeat{.node = "n1", .renew_time = "t1"}));
  for (const std::string& other :
       {heartbeat("agent.n2", of_n1), heartbeat("n1", of_n1), heartbeat("agent.", "{}"),
        heartbeat("agent.n1", R"({"holderIdentity":"n1"})"), heartbeat("agent.n1", "null"),
        heartbeat("agent.n1", R"({"holderIdentity":["n1"],"renewTime":"t1"})")}) {
    const auto no_heartbeat = codec::read_heartbeat(other);
    ASSERT_TRUE(no_heartbeat) << other;
    EXPECT_EQ(no_heartbeat->node, "") << other;
  }
  for (const char* no_lease : {"{", "{}", R"({"metadata":{"name":"agent.n1"}})"}) {
    EXPECT_FALSE(codec::read_heartbeat(no_lease)) << no_lease;
  }
}

TEST(LeaseCodecTest, EventsOfHeartbeatsAreThoseOfLeases) {
  const std::string object = heartbeat("agent.n1", R"({"holderIdentity":"n1","renewTime":"t1"})");
  using Type = codec::LeaseEvent::Type;
  for (const auto& [type, kind] : {std::pair{"ADDED", Type::kChanged},
                                   {"MODIFIED", Type::kChanged},
                                   {"DELETED", Type::kDeleted},
                                   {"BOOKMARK", Type::kBookmark}}) {
    const auto read = codec::read_heartbeat_event(R"({"type":")" + std::string(type) +
                                                  R"(","object":)" + object + "}");
    ASSERT_TRUE(read) << type;
    EXPECT_EQ(read->event.type, kind) << type;
    EXPECT_EQ(read->event.resource_version, "7");
    EXPECT_EQ(read->heartbeat.node, "n1");
  }
  const auto error =
      codec::read_heartbeat_event(R"({"type":"ERROR","object":{"code":410,"message":"old"}})");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->event.error_code, 410);
}

}  // namespace
}  // namespace snug::lease_codec_test
