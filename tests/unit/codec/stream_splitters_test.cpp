#include "snug/codec/stream_splitters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace snug::stream_splitters_test {
namespace {

using ::testing::ElementsAre;

struct Split {
  std::vector<std::string> objects;
  int oversize = 0;
  bool accepted = true;
};

codec::SplitterCallbacks collect(Split& split) {
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
      codec::ListSplitter splitter(1000, collect(split));
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
    codec::ListSplitter splitter(1000, collect(split));
    EXPECT_TRUE(
        splitter.feed(std::string(R"({"metadata":{"resourceVersion":"7","continue":""},"items":)") +
                      items + "}"));
    EXPECT_TRUE(splitter.finish()) << items;
    EXPECT_TRUE(split.objects.empty());
  }
}

TEST(KubeListSplitterTest, TooLargeAnItemIsTold) {
  Split split;
  const std::string large = R"({"x":")" + std::string(300, 'x') + R"("})";
  codec::ListSplitter splitter(100, collect(split));
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
      {R"({"metadata":{"resourceVersion":"7","continue":"abc"},"items":[]})", "only one page"},
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
      codec::ListSplitter splitter(1000, collect(split));
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
    codec::LineSplitter splitter(1000, collect(split));
    for (const auto& piece : pieces) ASSERT_TRUE(splitter.feed(piece));
    EXPECT_THAT(split.objects, ElementsAre("{\"a\":1}", "{\"b\":2}\r"));
  });
}

TEST(KubeLineSplitterTest, TooLongALineIsTold) {
  in_all_pieces("{\"a\":1}\n" + std::string(50, 'x') + "\n{\"b\":2}\n",
                [](const std::vector<std::string>& pieces) {
                  Split split;
                  codec::LineSplitter splitter(20, collect(split));
                  for (const auto& piece : pieces) ASSERT_TRUE(splitter.feed(piece));
                  EXPECT_THAT(split.objects, ElementsAre("{\"a\":1}", "{\"b\":2}"));
                  EXPECT_EQ(split.oversize, 1);
                });
}

}  // namespace
}  // namespace snug::stream_splitters_test
