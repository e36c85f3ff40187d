#include "snug/agent/runtime_features.hpp"

#include <gtest/gtest.h>

#include <string>

namespace snug::agent::runtime_features_test {
namespace {

struct Row {
  std::string name;
  std::string version;
  bool cdi_injection;
  bool validation;
};

TEST(RuntimeFeaturesTest, NameAndVersionGiveTheFeatures) {
  const Row rows[] = {
      {"containerd", "v2.4.2", true, true},
      {"containerd", "2.4.2+unknown", true, true},
      {"containerd", "2.2.0", true, true},
      {"containerd", "2.2.0-rc.1", true, false},
      {"containerd", "2.1.9", true, false},
      {"containerd", "v2.1.5-k3s1.33", true, false},
      {"containerd", "v2.2.1-k3s1", true, true},
      {"containerd", "2.1.3", true, false},
      {"containerd", "2.1.2", false, false},
      {"containerd", "2.0.14", false, false},
      {"containerd", "2.0.0-rc.3", false, false},
      {"containerd", "2.0.0~rc.3", false, false},
      {"containerd", "v1.7.30", true, false},
      {"containerd", "1.7.30~ds1", true, false},
      {"containerd", "1.7.30-alpha.1", false, false},
      {"containerd", "1.7.29", false, false},
      {"containerd", "1.7.24~ds1", false, false},
      {"containerd", "1.6.38", false, false},
      {"containerd", "10.0.0", true, true},
      {"cri-o", "1.34.1", true, true},
      {"cri-o", "1.34.0", false, false},
      {"cri-o", "1.33.5", false, false},
      {"docker", "27.0.0", false, false},
      {"", "2.4.2", false, false},
      {"containerd", "", false, false},
      {"containerd", "v", false, false},
      {"containerd", "2.4", false, false},
      {"containerd", "2.4.", false, false},
      {"containerd", "2.-4.2", false, false},
      {"containerd", "-2.4.2", false, false},
      {"containerd", "2.123456789.2", false, false},
      {"containerd", "main", false, false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(runtime_features(row.name, row.version),
              (RuntimeFeatures{.cdi_injection = row.cdi_injection,
                               .start_refusal = row.cdi_injection && row.name == "containerd",
                               .validation = row.validation}))
        << row.name << " " << row.version;
  }
}

}  // namespace
}  // namespace snug::agent::runtime_features_test
