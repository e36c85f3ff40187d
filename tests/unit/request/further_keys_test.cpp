#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "unit/request/asked.hpp"

namespace snug::further_keys_test {
namespace {

constexpr std::string_view kModelsAllowed =
    "model names separated by commas, with * and ? as wildcards and a leading ! to exclude a "
    "name; at most 253 printable characters without ; or =";

/// What `main` asks for with gpu-fraction: 0.5 and one more annotation.
std::string half_with(const std::string& key, const std::string& value) {
  return asked_by(make_pod("p", {{"gpu-fraction", "0.5"}, {key, value}}));
}

std::string is_not(std::string_view key, std::string_view value, std::string_view allowed) {
  return std::string(key) + " is \"" + std::string(value) + "\"; expected " + std::string(allowed);
}

model::ContainerRequest main_of(const model::StringMap& annotations) {
  const auto request = request::parse_request(make_pod("p", annotations));
  if (!request) {
    ADD_FAILURE() << request.error().sentence;
    return {};
  }
  return request->containers.front();
}

TEST(FurtherKeysTest, AllOfThemStandInTheTextInFixedOrder) {
  EXPECT_EQ(
      main_of({{"gpu-model", "A100* , !*SXM*,H?00"},
               {"gpu-isolation", "mps"},
               {"gpu-compute", "30"},
               {"gpu-count", "2"},
               {"gpu-memory", "4G"}}),
      (model::ContainerRequest{.container = "main",
                               .device = model::MemoryRequest{{3815}},
                               .count = 2,
                               .compute_percent = 30,
                               .isolation = model::Isolation::kMps,
                               .models = {.included = {"A100*", "H?00"}, .excluded = {"*SXM*"}},
                               .text = "gpu-memory=4G;gpu-count=2;gpu-compute=30;"
                                       "gpu-isolation=mps;gpu-model=A100*,!*SXM*,H?00"}));
}

TEST(FurtherKeysTest, CountsAreWholeNumbersFrom1To999) {
  for (const int count : {1, 2, 10, 64, 999}) {
    const model::ContainerRequest asked =
        main_of({{"gpu-fraction", "0.5"}, {"gpu-count", std::to_string(count)}});
    EXPECT_EQ(asked.count, count);
    EXPECT_EQ(asked.text, "gpu-fraction=0.5;gpu-count=" + std::to_string(count));
  }
  for (const std::string key : {"gpu-count", "gpu-fraction-num-devices", "gpu-count.main"}) {
    for (const std::string value : {"", "0", "-1", "+1", "01", "1.0", "1000", "1e1", " 1", "1 ",
                                    "two", "0x1", "4294967297"}) {
      EXPECT_EQ(half_with(key, value), is_not(key, value, "a whole number of GPUs from 1 to 999"));
    }
  }
}

TEST(FurtherKeysTest, ComputeIsAPercentFrom1To100) {
  for (const int percent : {1, 9, 10, 50, 99, 100}) {
    const model::ContainerRequest asked =
        main_of({{"gpu-fraction", "0.5"}, {"gpu-compute", std::to_string(percent)}});
    EXPECT_EQ(asked.compute_percent, percent);
    EXPECT_EQ(asked.text, "gpu-fraction=0.5;gpu-compute=" + std::to_string(percent));
  }
  EXPECT_EQ(main_of({{"gpu-memory", "4G"}}).compute_percent, std::nullopt);
  for (const std::string value :
       {"", "0", "-1", "+1", "01", "101", "999", "1000", "50%", "0.5", "50.0", " 50", "half"}) {
    EXPECT_EQ(half_with("gpu-compute", value),
              is_not("gpu-compute", value, "a whole percentage from 1 to 100"));
  }
}

TEST(FurtherKeysTest, IsolationIsOneOfFourNames) {
  struct Row {
    std::string value;
    model::Isolation isolation;
  };
  for (const Row& row : std::vector<Row>{{"any", model::Isolation::kAny},
                                         {"time-slicing", model::Isolation::kTimeSlicing},
                                         {"mps", model::Isolation::kMps},
                                         {"mig", model::Isolation::kMig}}) {
    const model::ContainerRequest asked =
        main_of({{"gpu-fraction", "0.5"}, {"gpu-isolation", row.value}});
    EXPECT_EQ(asked.isolation, row.isolation);
    EXPECT_EQ(asked.text, "gpu-fraction=0.5;gpu-isolation=" + row.value);
  }
  for (const std::string value :
       {"", "Any", "MPS", "none", "whole", " mps", "mps ", "time", "any,mps"}) {
    EXPECT_EQ(half_with("gpu-isolation", value),
              is_not("gpu-isolation", value, "any, time-slicing, mps or mig"));
  }
}

TEST(FurtherKeysTest, ModelsAreGlobsSomeOfWhichExclude) {
  struct Row {
    std::string value;
    std::vector<std::string> wanted;
    std::vector<std::string> excluded;
    std::string text;
  };
  const std::string longest = std::string(253, 'x');
  const std::vector<Row> rows = {
      {"A100*", {"A100*"}, {}, "A100*"},
      {"!T4", {}, {"T4"}, "!T4"},
      {"*", {"*"}, {}, "*"},
      {"a?00,H100", {"a?00", "H100"}, {}, "a?00,H100"},
      {"A100*,!*40GB,!*MIG*", {"A100*"}, {"*40GB", "*MIG*"}, "A100*,!*40GB,!*MIG*"},
      {"!T4,A100", {"A100"}, {"T4"}, "!T4,A100"},
      {" A100 ,  ! T4 ", {"A100"}, {"T4"}, "A100,!T4"},
      {"Tesla V100", {"Tesla V100"}, {}, "Tesla V100"},
      {"A,A", {"A", "A"}, {}, "A,A"},
      {R"("A"\B)", {R"("A"\B)"}, {}, R"("A"\B)"},
      {"A!B", {"A!B"}, {}, "A!B"},
      {longest, {longest}, {}, longest}};
  for (const Row& row : rows) {
    const model::ContainerRequest asked =
        main_of({{"gpu-fraction", "0.5"}, {"gpu-model", row.value}});
    EXPECT_EQ(asked.models, (model::ModelFilter{.included = row.wanted, .excluded = row.excluded}));
    EXPECT_EQ(asked.text, "gpu-fraction=0.5;gpu-model=" + row.text);
  }
}

TEST(FurtherKeysTest, MalformedModelsAreRefused) {
  struct Row {
    std::string value;
    std::string shown;
  };
  const std::vector<Row> rows = {{"", ""},
                                 {" ", " "},
                                 {",", ","},
                                 {"A100,", "A100,"},
                                 {",A100", ",A100"},
                                 {"A100,,T4", "A100,,T4"},
                                 {"A100, ,T4", "A100, ,T4"},
                                 {"!", "!"},
                                 {"A100,!", "A100,!"},
                                 {"! ", "! "},
                                 {"!!T4", "!!T4"},
                                 {"! !T4", "! !T4"},
                                 {"A;B", "A;B"},
                                 {"A=B", "A=B"},
                                 {"A\tB", "A?B"},
                                 {"A100\n", "A100?"},
                                 {"\xC3\xA9", "??"},
                                 {std::string("A\0B", 3), "A?B"},
                                 {std::string(254, 'x'), std::string(63, 'x') + "..."}};
  for (const Row& row : rows) {
    EXPECT_EQ(half_with("gpu-model", row.value), is_not("gpu-model", row.shown, kModelsAllowed));
  }
}

TEST(FurtherKeysTest, APolicyIsNamedByPrintableCharacters) {
  for (const std::string& name : {std::string("spread"), std::string("my profile"),
                                  std::string("a;b=c"), std::string(63, 'p')}) {
    EXPECT_EQ(half_with("gpu-policy", name), "main{gpu-fraction=0.5} main=main policy=" + name);
  }
  struct Row {
    std::string value;
    std::string shown;
  };
  for (const Row& row : std::vector<Row>{{"", ""},
                                         {std::string(64, 'p'), std::string(63, 'p') + "..."},
                                         {"a\nb", "a?b"},
                                         {"\xC3\xA9", "??"}}) {
    EXPECT_EQ(
        half_with("gpu-policy", row.value),
        is_not("gpu-policy", row.shown, "the name of a profile, of 1 to 63 printable characters"));
  }
}

TEST(FurtherKeysTest, APolicyOfAPodThatAsksForNothingIsRefused) {
  EXPECT_EQ(asked_by(make_pod("p", {{"gpu-policy", "spread"}})),
            "gpu-policy is \"spread\" on a pod that asks for no GPU; expected gpu-policy with "
            "gpu-fraction, gpu-memory, gpu-mig-profile or nvidia.com/* limits");
}

TEST(FurtherKeysTest, TheyNeedAnAskOfTheSameContainer) {
  struct Row {
    std::string key;
    std::string value;
  };
  for (const Row& row : std::vector<Row>{{"gpu-count", "2"},
                                         {"gpu-fraction-num-devices", "2"},
                                         {"gpu-compute", "50"},
                                         {"gpu-isolation", "any"},
                                         {"gpu-model", "A100"},
                                         {"gpu-count.first", "2"},
                                         {"gpu-model.proxy", "A100"}}) {
    const std::string refused =
        row.key + " is \"" + row.value +
        "\" without gpu-fraction, gpu-memory or gpu-mig-profile for the same container; expected "
        "one of them too";
    model::StringMap annotations{{row.key, row.value}};
    EXPECT_EQ(asked_by(make_pod_of_five(annotations)), refused);
    annotations.emplace("gpu-fraction.second", "0.5");
    EXPECT_EQ(asked_by(make_pod_of_five(annotations)), refused);
    annotations.emplace("gpu-policy", "spread");
    EXPECT_EQ(asked_by(make_pod_of_five(annotations)), refused);
  }
}

TEST(FurtherKeysTest, BesideWholeGpusOnlyModelsAndAnyIsolationMakeSense) {
  struct Row {
    std::string key;
    std::string value;
    std::string asked;
  };
  const std::string share =
      "\" beside a whole number of GPUs; expected a share of a GPU (gpu-fraction "
      "below 1, or gpu-memory)";
  const std::string any =
      "\" beside a whole number of GPUs; expected any, since a whole GPU is not shared";
  for (const Row& row : std::vector<Row>{
           {"gpu-count", "2", "gpu-count is \"2" + share},
           {"gpu-count", "1", "gpu-count is \"1" + share},
           {"gpu-fraction-num-devices", "2", "gpu-fraction-num-devices is \"2" + share},
           {"gpu-compute", "100", "gpu-compute is \"100" + share},
           {"gpu-compute.main", "50", "gpu-compute.main is \"50" + share},
           {"gpu-isolation", "mps", "gpu-isolation is \"mps" + any},
           {"gpu-isolation", "time-slicing", "gpu-isolation is \"time-slicing" + any},
           {"gpu-isolation", "mig", "gpu-isolation is \"mig" + any},
           {"gpu-isolation", "any", "main{gpu-fraction=2;gpu-isolation=any} main=main"},
           {"gpu-model", "A100", "main{gpu-fraction=2;gpu-model=A100} main=main"}}) {
    EXPECT_EQ(asked_by(make_pod("p", {{"gpu-fraction", "2"}, {row.key, row.value}})), row.asked);
  }
}

}  // namespace
}  // namespace snug::further_keys_test
