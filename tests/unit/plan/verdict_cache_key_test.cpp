// Which incoming pods may share a verdict.
#include <gtest/gtest.h>

#include <string>

#include "snug/fit/other_enforcer.hpp"
#include "snug/plan/incoming_pod.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug::verdict_cache_key_test {
namespace {

std::string key_of_container(std::size_t name_bytes) {
  model::GpuRequest request = make_fraction(500);
  request.containers.front().container = std::string(name_bytes, 'c');
  return plan::verdict_cache_key(OwnedIncomingPod(request).view());
}

TEST(VerdictCacheKeyTest, NamesOfContainersCountWhereFitRefusesThem) {
  const std::size_t longest = fit::kLongestFractionName;
  EXPECT_EQ(key_of_container(1), key_of_container(longest));
  EXPECT_NE(key_of_container(longest), key_of_container(longest + 1));
}

}  // namespace
}  // namespace snug::verdict_cache_key_test
