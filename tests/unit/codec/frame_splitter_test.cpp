// The frames of a watch in protobuf, whole and in pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "snug/codec/object_names.hpp"
#include "snug/codec/stream_splitters.hpp"

namespace snug::frame_splitter_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string length_of(std::size_t size) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((size >> shift) & 255U);
  return bytes;
}

std::string frame(std::string_view bytes) { return length_of(bytes.size()).append(bytes); }

struct Told {
  std::vector<std::string> objects;
  std::vector<std::string> oversize;
  std::size_t stop_after = 1'000;  // objects and oversize ones

  codec::SplitterCallbacks callbacks() {
    return {[this](std::string_view object) {
              objects.emplace_back(object);
              return go_on();
            },
            [this](std::string_view beginning) {
              oversize.emplace_back(beginning);
              return go_on();
            }};
  }
  [[nodiscard]] bool go_on() const { return objects.size() + oversize.size() < stop_after; }
};

/// What is told of the stream when it comes in pieces of that size.
Told told_in(const std::string& stream, std::size_t size, std::size_t max_bytes) {
  Told told;
  codec::FrameSplitter splitter(max_bytes, told.callbacks());
  for (std::size_t at = 0; at < stream.size(); at += size) {
    EXPECT_TRUE(splitter.feed(std::string_view(stream).substr(at, size)));
  }
  return told;
}

TEST(KubeFrameSplitterTest, FramesComeOutWholeHoweverTheStreamIsCut) {
  const std::string long_one(300, 'x');
  const std::string stream = frame("one") + frame("") + frame(long_one) + frame(frame("a")) +
                             frame("") + frame("last") + length_of(9) + "cut";
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    const Told told = told_in(stream, size, 300);
    EXPECT_THAT(told.objects, ElementsAre("one", long_one, frame("a"), "last")) << size;
    EXPECT_THAT(told.oversize, IsEmpty()) << size;
  }
}

TEST(KubeFrameSplitterTest, TooLargeAFrameIsToldByItsBeginningAndSkipped) {
  const std::string large = std::string(codec::kNamedWithin, 'a') + std::string(1'000, 'b');
  const std::string stream = frame("one") + frame(large) + frame("two") + frame(large);
  for (std::size_t size = 1; size <= stream.size(); size += size < 50 ? 1 : 97) {
    const Told told = told_in(stream, size, large.size() - 1);
    const std::string beginning(codec::kNamedWithin, 'a');
    EXPECT_THAT(told.objects, ElementsAre("one", "two")) << size;
    EXPECT_THAT(told.oversize, ElementsAre(beginning, beginning)) << size;
  }
}

TEST(KubeFrameSplitterTest, NoMoreThanTheLimitIsToldOfWhatIsLarger) {
  for (const std::size_t size : {1U, 3U, 1'000U}) {
    const Told told = told_in(frame(std::string(50, 'x')) + frame("b"), size, 20);
    EXPECT_THAT(told.oversize, ElementsAre(std::string(20, 'x')));
    EXPECT_THAT(told.objects, ElementsAre("b"));
  }
}

TEST(KubeFrameSplitterTest, ALengthThatNobodyCouldSendIsToldBeforeTheFrameEnds) {
  Told told;
  codec::FrameSplitter splitter(1'000, told.callbacks());
  EXPECT_TRUE(splitter.feed("\xFF\xFF\xFF\xFF" + std::string(999, 'x')));
  EXPECT_THAT(told.oversize, IsEmpty());
  EXPECT_TRUE(splitter.feed("x"));
  EXPECT_THAT(told.oversize, ElementsAre(std::string(1'000, 'x')));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(splitter.feed(std::string(100'000, 'x')));
  EXPECT_THAT(told.oversize, ::testing::SizeIs(1));
}

TEST(KubeFrameSplitterTest, AFrameThatIsWholeInItsPieceIsNotCopied) {
  const std::string stream = frame("first") + frame("second");
  std::vector<const char*> places;
  codec::FrameSplitter splitter(100, {[&](std::string_view object) {
                                        places.push_back(object.data());
                                        return true;
                                      },
                                      [](std::string_view) { return true; }});
  EXPECT_TRUE(splitter.feed(std::string_view(stream).substr(0, 2)));
  EXPECT_TRUE(splitter.feed(std::string_view(stream).substr(2)));
  EXPECT_THAT(places, ElementsAre(stream.data() + 4, stream.data() + 13));
}

TEST(KubeFrameSplitterTest, ACallbackStopsTheSplitting) {
  for (const std::string& bytes : {std::string("ab"), std::string(30, 'x')}) {
    for (const std::size_t size : {1U, 100U}) {
      Told told{.stop_after = 1};
      codec::FrameSplitter splitter(20, told.callbacks());
      const std::string stream = frame(bytes) + frame("next");
      bool go_on = true;
      for (std::size_t at = 0; go_on && at < stream.size(); at += size) {
        go_on = splitter.feed(std::string_view(stream).substr(at, size));
      }
      EXPECT_FALSE(go_on);
      EXPECT_EQ(told.objects.size() + told.oversize.size(), 1U);
    }
  }
}

}  // namespace
}  // namespace snug::frame_splitter_test
