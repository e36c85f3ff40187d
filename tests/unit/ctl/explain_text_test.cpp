#include "ctl/explain_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace snug::explain_text_test {
namespace {

struct Score {
  std::string node;
  std::int64_t total = 0;
  std::int64_t score_class = 0;
  std::int64_t quantum = 1;
};

explain::PlacementScore placement_score(const Score& score) {
  explain::PlacementScore placement{.node = score.node,
                                    .profile = "p",
                                    .total = score.total,
                                    .score_class = score.score_class,
                                    .quantum = score.quantum,
                                    .terms = {}};
  placement.terms.push_back({.term = "spread", .weight = 1, .value = score.total});
  return placement;
}

/// The text about a pod that is on the first node; `decided` is `at bind` or `now`.
std::string text_of(const Score& chosen, const Score& other, const std::string& decided) {
  codec::ExplainReply reply{.name_space = "ml", .pod = "a", .state = "bound", .node = chosen.node};
  reply.placement = {
      .comparison = {.chosen = placement_score(chosen), .runner_up = placement_score(other)},
      .decided = decided};
  return ctl::explain_text(reply, false);
}

/// The last line of the text, without its indentation.
std::string last_line(std::string text) {
  text.pop_back();
  const std::size_t at = text.find_last_of('\n') + 1;
  return text.substr(text.find_first_not_of(' ', at));
}

TEST(ExplainTextTest, ABetterScoreExplainsItself) {
  EXPECT_EQ(text_of({"n1", 30, 30}, {"n2", 20, 20}, "at bind"),
            "pod ml/a is bound on node n1\n"
            "\n"
            "why node n1: profile p, scores when it was bound\n"
            "  TERM    WEIGHT  ON n1  ON n2\n"
            "  spread  1       30     20\n"
            "  total           30     20\n");
}

TEST(ExplainTextTest, TheScoreClassIsShownIfThereIsAQuantum) {
  EXPECT_EQ(text_of({"n1", 21, 3, 10}, {"n2", 28, 3, 10}, "at bind"),
            "pod ml/a is bound on node n1\n"
            "\n"
            "why node n1: profile p, scores when it was bound\n"
            "  TERM         WEIGHT  ON n1  ON n2\n"
            "  spread       1       21     28\n"
            "  total                21     28\n"
            "  score class          3      3\n"
            "  both scores are in the same step of 10 (quantum): equally good; the node with the "
            "lower name wins\n");
}

TEST(ExplainTextTest, SaysWhatDecidedBetweenTheNodes) {
  struct Row {
    Score chosen;
    Score other;
    std::string decided;
    std::string sentence;
  };
  const Row rows[] = {
      {{"n1", 30, 30},
       {"n2", 30, 30},
       "at bind",
       "equal scores: the node with the lower name wins"},
      {{"n1", 30, 1, 50},
       {"n2", 30, 1, 50},
       "now",
       "equal scores: the node with the lower name wins"},
      {{"n1", 30, 3, 10},
       {"n2", 45, 3, 15},
       "now",
       "the score classes are the same: equally good; the node with the lower name wins"},
      {{"n1", 20, 20},
       {"n2", 30, 30},
       "at bind",
       "kube-scheduler chose this node; Snug's best was n2"},
      {{"n2", 28, 3, 10},
       {"n1", 21, 3, 10},
       "at bind",
       "both scores are in the same step of 10 (quantum): equally good; kube-scheduler chose this "
       "node; Snug's best was n1"},
      {{"n2", 30, 30},
       {"n1", 30, 30},
       "at bind",
       "equal scores; kube-scheduler chose this node; Snug's best was n1"},
      {{"n1", 20, 20}, {"n2", 30, 30}, "now", "the best node would now be n2"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(last_line(text_of(row.chosen, row.other, row.decided)), row.sentence);
}

}  // namespace
}  // namespace snug::explain_text_test
