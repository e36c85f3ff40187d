#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "unit/request/asked.hpp"

namespace snug::mig_profile_test {
namespace {

const std::string kKey = "gpu-mig-profile";
const std::string kDefault = "kubectl.kubernetes.io/default-container";

TEST(MigProfileTest, AProfileIsNamedAsNvidiaNamesIt) {
  struct Row {
    std::string value;
    std::string profile;
  };
  for (const Row& row : std::vector<Row>{{"2g.10gb", "2g.10gb"},
                                         {"1g.5gb+me", "1g.5gb+me"},
                                         {"1g.24gb-me", "1g.24gb-me"},
                                         {"4g.96gb+gfx", "4g.96gb+gfx"},
                                         {"2g.48gb+me.all", "2g.48gb+me.all"},
                                         {"3c.3g.20gb", "3g.20gb"},
                                         {"1c.1g.5gb+me", "1g.5gb+me"},
                                         {"7g.9999gb", "7g.9999gb"}}) {
    const auto request = request::parse_request(make_pod("p", {{kKey, row.value}}));
    ASSERT_TRUE(request.has_value()) << row.value << ": " << request.error().sentence;
    EXPECT_EQ(request->main_container, "main");
    EXPECT_EQ(request->containers,
              std::vector{(model::ContainerRequest{.container = "main",
                                                   .device = model::SliceRequest{row.profile},
                                                   .text = "gpu-mig-profile=" + row.profile})});
  }
}

TEST(MigProfileTest, WhatIsNoProfilesNameIsRefused) {
  for (const std::string value : {"",
                                  "1g",
                                  "1g.5",
                                  "5gb",
                                  "1g.5gb ",
                                  " 1g.5gb",
                                  "1G.5GB",
                                  "0g.5gb",
                                  "1g.0gb",
                                  "01g.5gb",
                                  "1g.05gb",
                                  "-1g.5gb",
                                  "1g.5gb+",
                                  "1g.5gb+x",
                                  "1g.5gb+me-me",
                                  "1g.5gb.me",
                                  "mig-1g.5gb",
                                  "nvidia.com/mig-1g.5gb",
                                  "all-balanced",
                                  "1g.5gb,2g.10gb",
                                  "10000g.5gb",
                                  "1c.3g.20gb",
                                  "2c.3g.20gb",
                                  "4c.3g.20gb",
                                  "c.3g.20gb",
                                  "3c.3c.3g.20gb",
                                  "0.5",
                                  "1"}) {
    for (const std::string& key : {kKey, kKey + ".main"}) {
      EXPECT_EQ(asked_by(make_pod("p", {{key, value}})),
                key + " is \"" + value +
                    "\"; expected the name of a MIG profile in lower case (2g.10gb, 1g.5gb+me or "
                    "1g.24gb-me), or of a compute instance that fills its slice (3c.3g.20gb)");
    }
  }
}

struct Row {
  model::StringMap annotations;
  std::string_view asked;
};

void expect_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    std::string said;
    for (const auto& [key, value] : row.annotations) said += key + ": " + value + "\n";
    EXPECT_EQ(asked_by(make_pod_of_five(row.annotations)), row.asked) << said;
  }
}

TEST(MigProfileTest, CountsModelsAndPoliciesGoWithIt) {
  expect_rows({
      {{{kKey, "1g.5gb"}, {"gpu-count", "2"}},
       "first{gpu-mig-profile=1g.5gb;gpu-count=2} main=first"},
      {{{kKey, "1g.5gb"}, {"gpu-fraction-num-devices", "999"}},
       "first{gpu-mig-profile=1g.5gb;gpu-count=999} main=first"},
      {{{kKey, "1g.5gb"}, {"gpu-model", "A100*, !*80GB"}},
       "first{gpu-mig-profile=1g.5gb;gpu-model=A100*,!*80GB} main=first"},
      {{{kKey, "1g.5gb"}, {"gpu-policy", "spread"}},
       "first{gpu-mig-profile=1g.5gb} main=first policy=spread"},
      {{{kKey, "1g.5gb"}, {"gpu-isolation", "mig"}},
       "first{gpu-mig-profile=1g.5gb;gpu-isolation=mig} main=first"},
      {{{kKey, "1g.5gb"}, {"gpu-isolation", "any"}},
       "first{gpu-mig-profile=1g.5gb;gpu-isolation=any} main=first"},
  });
}

TEST(MigProfileTest, ComputeAndOtherKindsOfNeighboursAreRefusedBesideIt) {
  const std::string_view mig_or_any =
      "\" beside gpu-mig-profile; expected mig or any, since a MIG profile is a slice";
  for (const std::string value : {"time-slicing", "mps"}) {
    EXPECT_EQ(asked_by(make_pod("p", {{kKey, "1g.5gb"}, {"gpu-isolation", value}})),
              "gpu-isolation is \"" + value + std::string(mig_or_any));
  }
  for (const std::string key : {"gpu-compute", "gpu-compute.main"}) {
    EXPECT_EQ(asked_by(make_pod("p", {{kKey + ".main", "1g.5gb"}, {key, "50"}})),
              key +
                  " is \"50\" beside gpu-mig-profile; expected a share of a GPU "
                  "(gpu-fraction below 1, or gpu-memory)");
  }
}

TEST(MigProfileTest, OneContainerAsksInOneWay) {
  expect_rows({
      {{{kKey, "1g.5gb"}, {"gpu-fraction", "0.5"}},
       "gpu-fraction and gpu-mig-profile both request GPUs for the same container; expected one "
       "of the two"},
      {{{kKey, "1g.5gb"}, {"gpu-fraction", "1"}},
       "gpu-fraction and gpu-mig-profile both request GPUs for the same container; expected one "
       "of the two"},
      {{{kKey, "1g.5gb"}, {"gpu-memory", "4G"}},
       "gpu-memory and gpu-mig-profile both request GPUs for the same container; expected one of "
       "the two"},
      {{{kKey + ".first", "x"}, {"gpu-memory", "y"}},
       "gpu-memory and gpu-mig-profile.first both request GPUs for the same container; expected "
       "one of the two"},
      {{{kKey, "1g.5gb"}, {kKey + ".first", "1g.5gb"}},
       "gpu-mig-profile.first and gpu-mig-profile are two names of one setting; expected one of "
       "the two"},
      {{{kKey, "1g.5gb"}, {"gpu-memory.second", "4G"}},
       "first{gpu-mig-profile=1g.5gb} second{gpu-memory=4G} main=first"},
  });
}

TEST(MigProfileTest, EachContainerHasItsOwn) {
  expect_rows({
      {{{kKey, "2g.10gb"}, {"gpu-container", "second"}},
       "second{gpu-mig-profile=2g.10gb} main=second"},
      {{{kKey, "2g.10gb"}, {kDefault, "proxy"}}, "proxy{gpu-mig-profile=2g.10gb} main=proxy"},
      {{{kKey + ".second", "1g.5gb"}, {kKey + ".proxy", "2g.10gb"}, {kKey, "3g.20gb"}},
       "proxy{gpu-mig-profile=2g.10gb} first{gpu-mig-profile=3g.20gb} "
       "second{gpu-mig-profile=1g.5gb} main=first"},
      {{{kKey + ".other", "1g.5gb"}},
       "gpu-mig-profile.other is for the container \"other\"; expected the name of one of the "
       "pod's containers"},
  });
}

TEST(MigProfileTest, AnInitContainerUsesTheSliceThatAnotherHasOrAShare) {
  expect_rows({
      {{{kKey + ".setup", "1g.5gb"}, {kKey, "1g.5gb"}},
       "setup{gpu-mig-profile=1g.5gb} first{gpu-mig-profile=1g.5gb} main=first"},
      {{{kKey + ".setup", "3c.3g.20gb"}, {kKey, "3g.20gb"}},
       "setup{gpu-mig-profile=3g.20gb} first{gpu-mig-profile=3g.20gb} main=first"},
      {{{kKey + ".setup", "1g.5gb"}, {"gpu-count.setup", "2"}, {kKey, "1g.5gb"}},
       "setup{gpu-mig-profile=1g.5gb;gpu-count=2} first{gpu-mig-profile=1g.5gb} main=first"},
      {{{"gpu-memory.setup", "4G"}, {kKey, "1g.5gb"}},
       "setup{gpu-memory=4G} first{gpu-mig-profile=1g.5gb} main=first"},
      {{{kKey + ".setup", "2g.10gb"}, {kKey + ".late", "1g.5gb"}},
       "setup{gpu-mig-profile=2g.10gb} late{gpu-mig-profile=1g.5gb} main=first"},
      {{{kKey + ".setup", "2g.10gb"}}, "setup{gpu-mig-profile=2g.10gb} main=first"},
      {{{kKey + ".proxy", "2g.10gb"}, {kKey, "1g.5gb"}},
       "proxy{gpu-mig-profile=2g.10gb} first{gpu-mig-profile=1g.5gb} main=first"},
      {{{kKey + ".setup", "2g.10gb"}, {kKey, "1g.5gb"}},
       "the init container \"setup\" asks for a slice (gpu-mig-profile=2g.10gb) and the container "
       "\"first\" for another (gpu-mig-profile=1g.5gb); expected a share for the init container, "
       "or the same profile"},
      {{{kKey + ".late", "1g.5gb"}, {kKey, "1g.5gb"}, {kKey + ".proxy", "1g.5gb+me"}},
       "the init container \"late\" asks for a slice (gpu-mig-profile=1g.5gb) and the container "
       "\"proxy\" for another (gpu-mig-profile=1g.5gb+me); expected a share for the init "
       "container, or the same profile"},
      {{{kKey + ".setup", "2g.10gb"}, {"gpu-memory", "4G"}},
       "the init container \"setup\" asks for a slice (gpu-mig-profile=2g.10gb) and the container "
       "\"first\" for a share (gpu-memory=4G); expected a share for the init container too"},
      {{{kKey + ".setup", "2g.10gb"}, {"gpu-fraction", "1"}},
       "the init container \"setup\" asks for a slice (gpu-mig-profile=2g.10gb) and the container "
       "\"first\" for whole GPUs (gpu-fraction=1); expected a share for the init container"},
      {{{"gpu-fraction.setup", "1"}, {kKey, "2g.10gb"}},
       "the init container \"setup\" asks for whole GPUs (gpu-fraction=1) and the container "
       "\"first\" for a slice (gpu-mig-profile=2g.10gb); expected a share for the init "
       "container"},
  });
}

}  // namespace
}  // namespace snug::mig_profile_test
