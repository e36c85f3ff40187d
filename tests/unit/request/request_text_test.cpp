#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "snug/request/parse.hpp"

namespace snug {
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
      {"nvidia.com/gpu=2", KubeletAsk{"nvidia.com/gpu"}, 2},
      {"nvidia.com/gpu=1000000000", KubeletAsk{"nvidia.com/gpu"}, 1'000'000'000},
      {"nvidia.com/mig-1g.5gb=1", KubeletAsk{"nvidia.com/mig-1g.5gb"}, 1}};
  for (const Row& row : rows) {
    EXPECT_EQ(parse_request_text(row.text),
              (ContainerRequest{.ask = row.ask, .count = row.count, .text = row.text}))
        << row.text;
  }
}

TEST(RequestTextTest, AnyOtherTextMeansNothing) {
  for (const std::string_view text :
       {"", "=", "gpu-fraction", "gpu-fraction=", "gpu-fraction=0.25x", "gpu-fraction=0",
        "gpu-fraction=0.25,gpu-count=2", "gpu-fraction==1", " gpu-fraction=1", "gpu-memory=4x",
        "gpu-memory=0", "gpu-mig-profile=1g.5gb", "nvidia.com/gpu=0", "nvidia.com/gpu=x",
        "nvidia.com/gpu=1000000001", "nvidia.com/hostdev=1", "test"}) {
    EXPECT_FALSE(parse_request_text(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace snug
