#include "snug/codec/explain_codec.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>

namespace snug::codec::explain_codec_test {
namespace {

ExplainReply with_placement() {
  ExplainReply reply{.state = "bound"};
  explain::PlacementScore chosen{
      .node = "n1", .profile = "a", .total = 21, .score_class = 3, .quantum = 10, .terms = {}};
  chosen.terms.push_back({.term = "spread", .weight = 7, .value = 3});
  explain::PlacementScore other = chosen;
  other.node = "n2";
  other.total = 28;
  other.terms.front().value = 4;
  reply.placement = {.comparison = {.chosen = std::move(chosen), .runner_up = std::move(other)},
                     .decided = "at bind"};
  return reply;
}

TEST(ExplainCodecTest, ReadsTheScoresThatItWrites) {
  const auto read = read_explanation(write_explanation(with_placement()));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->placement && read->placement->comparison.runner_up);
  const auto& [chosen, runner_up] = read->placement->comparison;
  EXPECT_EQ(chosen.node, "n1");
  EXPECT_EQ(chosen.total, 21);
  EXPECT_EQ(chosen.score_class, 3);
  EXPECT_EQ(chosen.quantum, 10);
  ASSERT_EQ(chosen.terms.size(), 1U);
  EXPECT_EQ(chosen.terms[0].score(), 21);
  EXPECT_EQ(runner_up->node, "n2");
  EXPECT_EQ(runner_up->total, 28);
  EXPECT_EQ(runner_up->score_class, 3);
  EXPECT_EQ(runner_up->quantum, 10);
}

TEST(ExplainCodecTest, ScoresWithoutAClassAreTheirOwnClass) {
  std::string json = write_explanation(with_placement());
  for (const std::string text : {R"("scoreClass":3,)", R"("quantum":10,)"}) {
    for (std::size_t at = json.find(text); at != std::string::npos; at = json.find(text))
      json.erase(at, text.size());
  }
  const auto read = read_explanation(json);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->placement && read->placement->comparison.runner_up);
  EXPECT_EQ(read->placement->comparison.chosen.score_class, 21);
  EXPECT_EQ(read->placement->comparison.runner_up->score_class, 28);
  EXPECT_EQ(read->placement->comparison.chosen.quantum, 1);
}

TEST(ExplainCodecTest, ReadsTheReasonsOfNodesThatItWrites) {
  const ExplainReply::Node node{.node = "n\"1\\", .code = "NoRoom", .sentence = "a \x01 and µ"};
  for (std::size_t count = 0; count < 3; ++count) {
    ExplainReply reply{.state = "pending", .nearest = node};
    reply.per_node.emplace(count, node);
    const auto read = read_explanation(write_explanation(reply));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_TRUE(read->per_node && read->nearest);
    ASSERT_EQ(read->per_node->size(), count);
    for (const ExplainReply::Node& each : *read->per_node) {
      EXPECT_EQ(each.node, node.node);
      EXPECT_EQ(each.code, read->nearest->code);
      EXPECT_EQ(each.sentence, read->nearest->sentence);
    }
  }
  ExplainReply invalid{.state = "pending"};
  invalid.per_node = {{.node = "n\xff", .code = "", .sentence = ""}};
  const auto read = read_explanation(write_explanation(invalid));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->per_node->at(0).node, "n\xEF\xBF\xBD");
  EXPECT_FALSE(read_explanation(write_explanation({.state = "pending"}))->per_node);
}

}  // namespace
}  // namespace snug::codec::explain_codec_test
