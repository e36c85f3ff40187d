#include "snug/codec/webhook_objects.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "snug/base/text.hpp"

namespace snug::webhook_objects_test {
namespace {

using nlohmann::json;

const base::Limits kLimits;
const admission::WebhookIdentities kBoth{
    .serving = {.authority = "A", .certificate = "B", .key = "C"},
    .next = {.authority = "D", .certificate = "E", .key = "F"},
    .old_authority = "G"};

TEST(WebhookSecret, IsReadAsItIsWritten) {
  admission::WebhookIdentities one = kBoth;
  one.next = {};
  one.old_authority.clear();
  for (const admission::WebhookIdentities& identities : {kBoth, one}) {
    const auto read = codec::read_webhook_secret(codec::write_webhook_secret(identities), kLimits);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, identities);
  }
}

TEST(WebhookSecret, APatchRemovesWhatIsEmptyAndNamesTheVersion) {
  admission::WebhookIdentities one = kBoth;
  one.next = {};
  const json patch = json::parse(codec::write_webhook_secret_patch(one, "7"));
  EXPECT_EQ(patch["metadata"], json::parse(R"({"resourceVersion":"7"})"));
  EXPECT_EQ(patch["data"]["tls.crt"], "Qg==");
  EXPECT_TRUE(patch["data"].at("next-tls.key").is_null());
}

TEST(WebhookSecret, WhatIsNoBase64CountsAsAbsent) {
  const auto read =
      codec::read_webhook_secret(R"({"data":{"ca.crt":"QQ==","tls.crt":"?"}})", kLimits);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->serving, (admission::ServerIdentity{.authority = "A"}));
  EXPECT_TRUE(codec::read_webhook_secret("{}", kLimits));
  for (const char* text :
       {"", "[]", R"({"data":[]})", R"({"data":{"ca.crt":1}})", R"({"data":{},"data":{}})"}) {
    EXPECT_FALSE(codec::read_webhook_secret(text, kLimits)) << text;
  }
}

TEST(WebhookTrust, OnlyTheFieldThatDiffersIsPatched) {
  const std::string trusted = base::encode_base64("PEM");
  const auto webhooks = codec::read_webhook_trust(
      R"({"webhooks":[{"name":"a.gpu-pods.snug.dev","clientConfig":{"caBundle":")" + trusted +
          R"("}},{"name":"b.gpu-pods.snug.dev","clientConfig":{"url":"x"}},
             {"name":"b.example.org","clientConfig":{"caBundle":"QQ=="}},
             {"name":"c.gpu-pods.snug.dev","clientConfig":{"caBundle":"QQ=="}}]})",
      kLimits);
  ASSERT_TRUE(webhooks) << webhooks.error().message;
  json expected = json::array();
  for (const auto& [path, name] : {std::pair{"/webhooks/1", "b.gpu-pods.snug.dev"},
                                   std::pair{"/webhooks/3", "c.gpu-pods.snug.dev"}}) {
    const std::string webhook = path;
    expected.push_back({{"op", "test"}, {"path", webhook + "/name"}, {"value", name}});
    expected.push_back(
        {{"op", "add"}, {"path", webhook + "/clientConfig/caBundle"}, {"value", trusted}});
  }
  EXPECT_EQ(json::parse(codec::write_trust_patch(*webhooks, "PEM")), expected);
  EXPECT_EQ(codec::write_trust_patch({{"a.gpu-pods.snug.dev", trusted}}, "PEM"), "");
  EXPECT_EQ(codec::write_trust_patch({{"a.example.org", ""}}, "PEM"), "") << "another's webhook";
  EXPECT_EQ(codec::write_trust_patch({}, "PEM"), "");
  EXPECT_FALSE(codec::read_webhook_trust(R"({"webhooks":[{"name":"a"}]})", kLimits));
}

TEST(MirrorParameters, AreRead) {
  const auto cards = codec::read_mirror_parameters(
      R"({"spec":{"smallestMib":16384,"largestMib":81920}})", kLimits);
  ASSERT_TRUE(cards) << cards.error().message;
  EXPECT_EQ(*cards, (admission::CardRange{.smallest = {16384}, .largest = {81920}}));
  for (const char* text :
       {"{}", R"({"spec":{"smallestMib":0,"largestMib":1}})", R"({"spec":{"smallestMib":1}})",
        R"({"spec":{"smallestMib":"1","largestMib":1}})"}) {
    EXPECT_FALSE(codec::read_mirror_parameters(text, kLimits)) << text;
  }
}

TEST(ResourceVersion, IsRead) {
  EXPECT_EQ(codec::read_version(R"({"metadata":{"resourceVersion":"12"}})", kLimits).value(), "12");
  EXPECT_FALSE(codec::read_version(R"({"metadata":{}})", kLimits));
}

}  // namespace
}  // namespace snug::webhook_objects_test
