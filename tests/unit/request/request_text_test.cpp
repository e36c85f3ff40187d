#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "snug/request/parse.hpp"

namespace snug::request_text_test {
namespace {

TEST(RequestTextTest, TheTextOfARequestMeansWhatTheRequestMeant) {
  struct Row {
    std::string text;
    Ask ask;
    std::int64_t count;
  };
  const std::vector<Row> rows = {
      {"gpu-fraction=0.25", FractionAsk{250}, 1},
      {"gpu-fraction=0.250", FractionAsk{250}, 1},
      {"gpu-fraction=3", WholeAsk{}, 3},
      {"gpu-memory=4G", MemoryAsk{{3815}}, 1},
      {"gpu-memory=4096", MemoryAsk{{4096}}, 1},
      {"gpu-mig-profile=2g.10gb", SliceAsk{"2g.10gb"}, 1},
      {"gpu-mig-profile=1g.5gb+me", SliceAsk{"1g.5gb+me"}, 1},
      {"nvidia.com/gpu=2", KubeletAsk{"nvidia.com/gpu"}, 2},
      {"nvidia.com/gpu=1000000000", KubeletAsk{"nvidia.com/gpu"}, 1'000'000'000},
      {"nvidia.com/mig-1g.5gb=1", KubeletAsk{"nvidia.com/mig-1g.5gb"}, 1}};
  for (const Row& row : rows) {
    EXPECT_EQ(parse_request_text(row.text),
              (ContainerRequest{.ask = row.ask, .count = row.count, .text = row.text}))
        << row.text;
  }
}

TEST(RequestTextTest, EveryKeyOfTheTextIsReadBack) {
  const ContainerRequest all{.ask = MemoryAsk{{3815}},
                             .count = 2,
                             .compute_percent = 30,
                             .isolation = Isolation::kMps,
                             .models = {.wanted = {"A100*"}, .excluded = {"*MIG*"}},
                             .text =
                                 "gpu-memory=4G;gpu-count=2;gpu-compute=30;gpu-isolation=mps;"
                                 "gpu-model=A100*,!*MIG*"};
  EXPECT_EQ(parse_request_text(all.text), all);
  const ContainerRequest whole{.ask = WholeAsk{},
                               .count = 2,
                               .models = {.wanted = {"T4"}, .excluded = {}},
                               .text = "gpu-fraction=2;gpu-isolation=any;gpu-model=T4"};
  EXPECT_EQ(parse_request_text(whole.text), whole);
  const ContainerRequest slice{
      .ask = SliceAsk{"1g.5gb+me"},
      .count = 2,
      .isolation = Isolation::kMig,
      .models = {.wanted = {"A100*"}, .excluded = {}},
      .text = "gpu-mig-profile=1g.5gb+me;gpu-count=2;gpu-isolation=mig;gpu-model=A100*"};
  EXPECT_EQ(parse_request_text(slice.text), slice);
}

TEST(RequestTextTest, AnyOtherTextMeansNothing) {
  for (const std::string_view text : {"",
                                      "=",
                                      "gpu-fraction",
                                      "gpu-fraction=",
                                      "gpu-fraction=0.25x",
                                      "gpu-fraction=0",
                                      "gpu-fraction=0.25,gpu-count=2",
                                      "gpu-fraction==1",
                                      " gpu-fraction=1",
                                      "gpu-memory=4x",
                                      "gpu-memory=0",
                                      "gpu-mig-profile=",
                                      "gpu-mig-profile=1g.5",
                                      "gpu-mig-profile=3c.3g.20gb",
                                      "gpu-mig-profile=1c.3g.20gb",
                                      "gpu-mig-profile=1g.5gb;gpu-compute=50",
                                      "gpu-mig-profile=1g.5gb;gpu-isolation=mps",
                                      "gpu-mig-profile=1g.5gb;gpu-fraction=0.5",
                                      "gpu-fraction=0.5;gpu-mig-profile=1g.5gb",
                                      "nvidia.com/gpu=0",
                                      "nvidia.com/gpu=x",
                                      "nvidia.com/gpu=1000000001",
                                      "nvidia.com/hostdev=1",
                                      "test",
                                      ";",
                                      "gpu-fraction=0.5;",
                                      ";gpu-fraction=0.5",
                                      "gpu-fraction=0.5;;gpu-count=2",
                                      "gpu-fraction=0.5; gpu-count=2",
                                      "gpu-count=2",
                                      "gpu-count=2;gpu-fraction=0.5",
                                      "gpu-fraction=0.5;gpu-fraction=0.5",
                                      "gpu-fraction=0.5;gpu-memory=4G",
                                      "gpu-fraction=0.5;gpu-count=2;gpu-count=2",
                                      "gpu-fraction=0.5;gpu-compute=10;gpu-count=2",
                                      "gpu-fraction=0.5;gpu-count=02",
                                      "gpu-fraction=0.5;gpu-model=A, B",
                                      "gpu-fraction=0.5;gpu-model=",
                                      "gpu-fraction=2;gpu-count=2",
                                      "gpu-fraction=0.5;gpu-policy=a",
                                      "gpu-fraction=0.5;gpu-container=a",
                                      "gpu-fraction=0.5;gpu-fraction-num-devices=2",
                                      "gpu-fraction.a=0.5",
                                      "gpu-fraction=0.5;gpu-count.a=2",
                                      "gpu-fraction=0.5;later=1",
                                      "gpu-fraction=0.5;nvidia.com/gpu=1",
                                      "nvidia.com/gpu=1;gpu-count=2",
                                      "nvidia.com/gpu=1;gpu-model=A"}) {
    EXPECT_FALSE(parse_request_text(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace snug::request_text_test
