// The policies that deploy/ ships are those that `snugctl admission` writes, and an operator's
// choices cannot write CEL of their own.
#include "snug/codec/admission_policies.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "support/source_file.hpp"

namespace snug::admission_policies_test {
namespace {

std::string written(const admission::PodDefaults& defaults) {
  const auto text = codec::write_admission_policies(defaults);
  return text ? *text : "refused: " + text.error().message;
}

TEST(AdmissionPolicies, ThoseOfDeployAreTheDefault) {
  std::ifstream file(source_file("deploy/admission-gpu-pods.yaml"));
  const std::string shipped{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(written({}), shipped) << "snugctl admission > deploy/admission-gpu-pods.yaml";
}

TEST(AdmissionPolicies, HaveTheOperatorsChoices) {
  const std::string text =
      written({.scheduler = "packer", .tolerations = {"a/b", "c"}, .runtime_class = "nvidia"});
  EXPECT_NE(text.find("path: '/spec/schedulerName', value: 'packer'"), std::string::npos);
  EXPECT_NE(text.find("['a/b', 'c']"), std::string::npos);
  EXPECT_NE(text.find("path: '/spec/runtimeClassName', value: 'nvidia'"), std::string::npos);
  EXPECT_EQ(text.find("{{"), std::string::npos);
}

TEST(AdmissionPolicies, LeaveOutWhatTheOperatorDoesNotWant) {
  const std::string text = written({.scheduler = "", .tolerations = {}, .runtime_class = ""});
  EXPECT_EQ(text.find("schedulerName"), std::string::npos);
  EXPECT_EQ(text.find("runtimeClassName"), std::string::npos);
  EXPECT_NE(text.find("+ [].filter("), std::string::npos);
}

TEST(AdmissionPolicies, RefuseWhatIsNoName) {
  EXPECT_EQ(written({.scheduler = "x'", .tolerations = {}, .runtime_class = ""}).substr(0, 8),
            "refused:");
  EXPECT_EQ(written({.scheduler = "", .tolerations = {}, .runtime_class = "A b"}).substr(0, 8),
            "refused:");
  EXPECT_EQ(
      written({.scheduler = "", .tolerations = {"a' + 'b"}, .runtime_class = ""}),
      "refused: the toleration \"a' + 'b\" is not the key of a taint; expected 1 to 317 letters, "
      "digits and -_./");
}

}  // namespace
}  // namespace snug::admission_policies_test
