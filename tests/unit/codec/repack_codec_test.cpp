#include "snug/codec/repack_codec.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/repack_scenario.hpp"

namespace snug::repack_codec_test {
namespace {

advice::RepackAdvice advice_of_one_move() {
  const model::HoldingPtr pod = make_movable("a n1 g1:400");
  model::Reservation to = make_movable("a n2 g0:400 isolation=mps")->reservation;
  model::ReservedDevice slice{
      .index = 3, .mode = model::GpuMode::kMig, .memory = {5}, .compute = {1}};
  slice.slice = model::Slice{.profile = "1g.5gb", .start = 4, .size = 1, .uuid = {}};
  std::get<std::vector<model::ReservedDevice>>(to.containers.front().assigned).push_back(slice);
  return {.fits_now = false,
          .reservation = make_movable("new n1 w1")->reservation,
          .moves = {{pod, to}},
          .explanation = {}};
}

TEST(RepackCodecTest, WhatIsWrittenIsReadBack) {
  const std::string text = codec::write_repack_advice({7}, "gpu-fraction=1", advice_of_one_move());
  EXPECT_TRUE(text.starts_with(
      R"({"generation":7,"request":"gpu-fraction=1","fits":false,"node":"n1","moves":[{"namespace":)"
      R"("default","pod":"a","uid":"a","from":{"node":"n1","devices":[{"index":1,)"))
      << text;
  const base::Result<codec::ParsedAdvice> read = codec::read_repack_advice(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->request_text, "gpu-fraction=1");
  EXPECT_FALSE(read->fits_now);
  EXPECT_EQ(read->place.node + " " + read->place.devices, "n1 1");
  ASSERT_EQ(read->moves.size(), 1U);
  EXPECT_EQ(read->moves[0].pod, "a");
  EXPECT_EQ(read->moves[0].from.node + " " + read->moves[0].from.devices, "n1 1");
  EXPECT_EQ(read->moves[0].to.node + " " + read->moves[0].to.devices, "n2 0,3:1g.5gb@4");
}

TEST(RepackCodecTest, WhereNothingHelpsThereIsASentenceAlone) {
  const std::string text = codec::write_repack_advice({7}, "r", {.explanation = "a \"reason\""});
  EXPECT_EQ(text,
            R"({"generation":7,"request":"r","fits":false,"moves":[],"because":"a \"reason\""})");
  const base::Result<codec::ParsedAdvice> read = codec::read_repack_advice(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->explanation, "a \"reason\"");
  EXPECT_EQ(read->place.node, "");
}

TEST(RepackCodecTest, AnotherTextIsAnError) {
  for (const char* text : {"", "[]", "{}", R"({"request":1})", "no JSON"}) {
    const base::Result<codec::ParsedAdvice> read = codec::read_repack_advice(text);
    ASSERT_FALSE(read) << text;
    EXPECT_TRUE(read.error().message.starts_with("it is not repacking advice: "))
        << read.error().message;
  }
  EXPECT_EQ(codec::read_error_sentence(R"({"Error":"why"})"), "why");
  for (const char* text : {"", "[]", "{}", R"({"Error":1})"}) {
    EXPECT_EQ(codec::read_error_sentence(text), "") << text;
  }
}

}  // namespace
}  // namespace snug::repack_codec_test
