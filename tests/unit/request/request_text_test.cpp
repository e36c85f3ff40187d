#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "snug/request/pod_request_parser.hpp"

namespace snug::request_text_test {
namespace {

TEST(RequestTextTest, TheTextOfARequestMeansWhatTheRequestMeant) {
  struct Row {
    std::string text;
    model::DeviceRequest ask;
    std::int64_t count;
  };
  const std::vector<Row> rows = {
      {"gpu-fraction=0.25", model::FractionRequest{250}, 1},
      {"gpu-fraction=0.250", model::FractionRequest{250}, 1},
      {"gpu-fraction=3", model::WholeGpuRequest{}, 3},
      {"gpu-memory=4G", model::MemoryRequest{{3815}}, 1},
      {"gpu-memory=4096", model::MemoryRequest{{4096}}, 1},
      {"gpu-mig-profile=2g.10gb", model::SliceRequest{"2g.10gb"}, 1},
      {"gpu-mig-profile=1g.5gb+me", model::SliceRequest{"1g.5gb+me"}, 1},
      {"nvidia.com/gpu=2", model::KubeletRequest{"nvidia.com/gpu"}, 2},
      {"nvidia.com/gpu=1000000000", model::KubeletRequest{"nvidia.com/gpu"}, 1'000'000'000},
      {"nvidia.com/mig-1g.5gb=1", model::KubeletRequest{"nvidia.com/mig-1g.5gb"}, 1}};
  for (const Row& row : rows) {
    EXPECT_EQ(request::parse_request_text(row.text),
              (model::ContainerRequest{.device = row.ask, .count = row.count, .text = row.text}))
        << row.text;
  }
}

TEST(RequestTextTest, EveryKeyOfTheTextIsReadBack) {
  const model::ContainerRequest all{
      .device = model::MemoryRequest{{3815}},
      .count = 2,
      .compute_percent = 30,
      .isolation = model::Isolation::kMps,
      .models = {.included = {"A100*"}, .excluded = {"*MIG*"}},
      .text =
          "gpu-memory=4G;gpu-count=2;gpu-compute=30;gpu-isolation=mps;"
          "gpu-model=A100*,!*MIG*"};
  EXPECT_EQ(request::parse_request_text(all.text), all);
  const model::ContainerRequest whole{.device = model::WholeGpuRequest{},
                                      .count = 2,
                                      .models = {.included = {"T4"}, .excluded = {}},
                                      .text = "gpu-fraction=2;gpu-isolation=any;gpu-model=T4"};
  EXPECT_EQ(request::parse_request_text(whole.text), whole);
  const model::ContainerRequest slice{
      .device = model::SliceRequest{"1g.5gb+me"},
      .count = 2,
      .isolation = model::Isolation::kMig,
      .models = {.included = {"A100*"}, .excluded = {}},
      .text = "gpu-mig-profile=1g.5gb+me;gpu-count=2;gpu-isolation=mig;gpu-model=A100*"};
  EXPECT_EQ(request::parse_request_text(slice.text), slice);
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
    EXPECT_FALSE(request::parse_request_text(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace snug::request_text_test
