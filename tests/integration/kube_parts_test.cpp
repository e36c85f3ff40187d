#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/kube/api_text.hpp"
#include "adapters/kube/backoff.hpp"
#include "adapters/kube/splitters.hpp"
#include "integration/kube_support.hpp"
#include "support/kube_proto.hpp"

namespace snug::kube_parts_test {
namespace {

using ::testing::ElementsAre;

TEST(KubeTextTest, OnlyKubernetesNamesMayStandInAPath) {
  for (const char* good : {"a", "node-1", "ip-10-0-0-1.ec2.internal", "0"}) {
    EXPECT_TRUE(kube::is_object_name(good)) << good;
  }
  const std::string long_name(254, 'a');
  for (const std::string& bad :
       {std::string(), std::string("../x"), std::string("a/b"), std::string("a?b"),
        std::string("a%2fb"), std::string("A"), std::string("-a"), std::string("."),
        std::string(".."), std::string("a\r\nb"), std::string("a\0b", 3), long_name}) {
    EXPECT_FALSE(kube::is_object_name(bad)) << bad;
  }
}

TEST(KubeTextTest, QueryValuesArePercentEncoded) {
  EXPECT_EQ(kube::encode_query("status.phase!=Failed,a&b=c d\n\xC3\xA4"),
            "status.phase%21%3DFailed%2Ca%26b%3Dc%20d%0A%C3%A4");
}

TEST(KubeTextTest, ClippedTextIsValidUtf8AndNeverTooLong) {
  EXPECT_EQ(kube::clip_text("a\xC3\xA4z", 2), "a");
  EXPECT_EQ(kube::clip_text("a\xC3\xA4z", 3), "a\xC3\xA4");
  EXPECT_EQ(kube::clip_text("a\xFFz\xC3", 9), "a?z?");
  EXPECT_EQ(kube::clip_text("\xED\xA0\x80", 9), "???");  // half of a surrogate pair
  EXPECT_EQ(kube::clip_text(std::string(2000, 'x'), 1024).size(), 1024U);
}

TEST(KubeTextTest, StatusMessagesAreFound) {
  EXPECT_EQ(kube::status_message(R"({"kind":"Status","message":"no such pod"})"), "no such pod");
  EXPECT_EQ(kube::status_message(proto::envelope("Status", proto::bytes_field(3, "no\nrights"))),
            "no rights");
  EXPECT_EQ(kube::status_message("<html>\nbusy"), "<html> busy");
  EXPECT_EQ(kube::status_message(""), "no message");
}

TEST(KubeTextTest, Base64IsStrictButForWhiteSpace) {
  EXPECT_EQ(kube::decode_base64("aGVs\n bG8="), "hello");
  EXPECT_EQ(kube::decode_base64("aGVsbG8h"), "hello!");
  EXPECT_EQ(kube::decode_base64("aA=="), "h");
  EXPECT_EQ(kube::decode_base64(""), "");
  for (const char* bad : {"aGVsbG8", "a", "aGV*", "====", "aA=a", "aA==aGVs", "aGVs="}) {
    EXPECT_EQ(kube::decode_base64(bad), std::nullopt) << bad;
  }
}

TEST(KubeBackoffTest, WaitsDoubleUpToTheLastAndJitterOnlyAddsToThem) {
  base::Limits limits;
  limits.backoff_first_ms = 100;
  limits.backoff_last_ms = 1000;
  limits.backoff_reset_ms = 120'000;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    kube::Backoff backoff(limits, seed);
    base::TimePoint now{std::chrono::hours(1)};
    for (const std::int64_t step : {100, 200, 400, 800, 1000, 1000}) {
      const auto wait = backoff.next(now);
      EXPECT_GE(wait.count(), step) << "seed " << seed;
      EXPECT_LE(wait.count(), 2 * step) << "seed " << seed;
      now += wait + std::chrono::seconds(100);
    }
    now += std::chrono::seconds(121);
    EXPECT_LE(backoff.next(now).count(), 200) << "seed " << seed;
  }
}

struct Split {
  std::vector<std::string> objects;
  int oversize = 0;
  bool accepted = true;
};

kube::SplitterCallbacks collect(Split& split) {
  return {[&](std::string_view object) {
            split.objects.emplace_back(object);
            return true;
          },
          [&](std::string_view) {
            ++split.oversize;
            return true;
          }};
}

/// Feeds the text in pieces of every size from one byte to all of it.
template <typename Check>
void in_all_pieces(const std::string& text, Check&& check) {
  for (std::size_t size = 1; size <= text.size(); ++size) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size(); at += size) pieces.push_back(text.substr(at, size));
    check(pieces);
  }
}

TEST(KubeListSplitterTest, ItemsComeOutWholeHoweverTheListIsCut) {
  const std::string first = R"({"a":"}]\"{[\\","items":[1,{"metadata":{}}]})";
  const std::string second = R"({ "b" : { "c" : [ [ ] ] } })";
  const std::string lists[] = {
      R"({"kind":"PodList","metadata":{"resourceVersion":"7","x":{"y":"}"}},"items":[)" + first +
          " ,\n" + second + "]}\n",
      R"( {"items":[)" + first + "," + second +
          R"(],"note":"metadata","n":1.5,"t":true,"metadata":{"resourceVersion":"7"}})",
  };
  for (const std::string& list : lists) {
    in_all_pieces(list, [&](const std::vector<std::string>& pieces) {
      Split split;
      kube::ListSplitter splitter(1000, collect(split));
      for (const auto& piece : pieces) ASSERT_TRUE(splitter.feed(piece));
      const auto version = splitter.finish();
      ASSERT_TRUE(version) << version.error().message;
      EXPECT_EQ(*version, "7");
      EXPECT_THAT(split.objects, ElementsAre(first, second));
    });
  }
}

TEST(KubeListSplitterTest, EmptyListsAreLists) {
  for (const char* items : {"[]", "null", "[ ]"}) {
    Split split;
    kube::ListSplitter splitter(1000, collect(split));
    EXPECT_TRUE(splitter.feed(std::string(R"({"metadata":{"resourceVersion":"7"},"items":)") +
                              items + "}"));
    EXPECT_TRUE(splitter.finish()) << items;
    EXPECT_TRUE(split.objects.empty());
  }
}

TEST(KubeListSplitterTest, TooLargeAnItemIsTold) {
  Split split;
  const std::string large = R"({"x":")" + std::string(300, 'x') + R"("})";
  kube::ListSplitter splitter(100, collect(split));
  const std::string list =
      R"({"metadata":{"resourceVersion":"7"},"items":[{"a":1},)" + large + R"(,{"b":2}]})";
  for (const char c : list) ASSERT_TRUE(splitter.feed(std::string_view(&c, 1)));
  EXPECT_TRUE(splitter.finish());
  EXPECT_THAT(split.objects, ElementsAre(R"({"a":1})", R"({"b":2})"));
  EXPECT_EQ(split.oversize, 1);
}

TEST(KubeListSplitterTest, WhatIsNoWholeListIsRefused) {
  struct Row {
    const char* text;
    const char* sentence;
  };
  const Row rows[] = {
      {"", "ends in the middle"},
      {"no", "not a single JSON object"},
      {"[]", "not a single JSON object"},
      {R"({"metadata":{"resourceVersion":"7"},"items":[{"a":1},{"b")", "ends in the middle"},
      {R"({"metadata":{"resourceVersion":"7"},"items":[{"a":1}])", "ends in the middle"},
      {R"({"metadata":{"resourceVersion":"7"}})", "no items"},
      {R"({"items":[]})", "no metadata.resourceVersion"},
      {R"({"metadata":{"resourceVersion":""},"items":[]})", "no metadata.resourceVersion"},
      {R"({"metadata":{"resourceVersion":7},"items":[]})", "no metadata.resourceVersion"},
      {R"({"metadata":{"resourceVersion":"7"},"items":[1]})", "an item is not an object"},
      {R"({"metadata":{"resourceVersion":"7"},"items":["a"]})", "an item is not an object"},
      {R"({"metadata":{"resourceVersion":"7"},"items":[[]]})", "an item is not an object"},
      {R"({"metadata":{"resourceVersion":"7"},"items":[}})", "brackets do not match"},
      {R"({"metadata":{"resourceVersion":"7"},"items":[]}{})", "not a single JSON object"},
      {R"({"metadata":{"resourceVersion":"7"},"items":[]]})", "brackets do not match"},
  };
  for (const Row& row : rows) {
    in_all_pieces(std::string(row.text) + " ", [&](const std::vector<std::string>& pieces) {
      Split split;
      kube::ListSplitter splitter(1000, collect(split));
      for (const auto& piece : pieces) {
        if (!splitter.feed(piece)) break;
      }
      const auto version = splitter.finish();
      ASSERT_FALSE(version) << row.text;
      EXPECT_THAT(version.error().message, ::testing::HasSubstr(row.sentence)) << row.text;
    });
  }
}

TEST(KubeLineSplitterTest, LinesComeOutWholeHoweverTheStreamIsCut) {
  in_all_pieces("{\"a\":1}\n\n  \n{\"b\":2}\r\n{\"c\"", [](const std::vector<std::string>& pieces) {
    Split split;
    kube::LineSplitter splitter(1000, collect(split));
    for (const auto& piece : pieces) ASSERT_TRUE(splitter.feed(piece));
    EXPECT_THAT(split.objects, ElementsAre("{\"a\":1}", "{\"b\":2}\r"));
  });
}

TEST(KubeLineSplitterTest, TooLongALineIsTold) {
  in_all_pieces("{\"a\":1}\n" + std::string(50, 'x') + "\n{\"b\":2}\n",
                [](const std::vector<std::string>& pieces) {
                  Split split;
                  kube::LineSplitter splitter(20, collect(split));
                  for (const auto& piece : pieces) ASSERT_TRUE(splitter.feed(piece));
                  EXPECT_THAT(split.objects, ElementsAre("{\"a\":1}", "{\"b\":2}"));
                  EXPECT_EQ(split.oversize, 1);
                });
}

}  // namespace
}  // namespace snug::kube_parts_test
