#include "snug/service/policy_store.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

namespace snug::policy_store_test {
namespace {

score::PolicyPtr numbered(std::uint64_t number) {
  score::Policy policy;
  policy.default_profile_name = std::to_string(number);
  return std::make_shared<const score::Policy>(std::move(policy));
}

TEST(PolicyStoreTest, EachPolicyHasAVersionOfItsOwn) {
  service::PolicyStore store(numbered(1));
  const service::CurrentPolicy first = store.current();
  EXPECT_EQ(first.version, 1U);
  store.replace(first.policy);  // the same one counts too: whoever put it wants it looked at
  EXPECT_EQ(store.current().version, 2U);
  store.replace(numbered(3));
  EXPECT_EQ(store.current().version, 3U);
  EXPECT_EQ(store.current().policy->default_profile_name, "3");
  EXPECT_EQ(first.policy->default_profile_name, "1");  // whoever took it keeps it
}

TEST(PolicyStoreTest, ReadersSeeAPolicyWithItsOwnVersion) {
  constexpr std::uint64_t kLast = 2'000;
  service::PolicyStore store(numbered(1));
  std::atomic<int> wrong = 0;
  const auto read = [&] {
    for (std::uint64_t seen = 0; seen < kLast;) {
      const service::CurrentPolicy now = store.current();
      if (now.policy->default_profile_name != std::to_string(now.version) || now.version < seen)
        ++wrong;
      seen = now.version;
    }
  };
  std::thread one(read);
  std::thread other(read);
  for (std::uint64_t number = 2; number <= kLast; ++number) store.replace(numbered(number));
  one.join();
  other.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace snug::policy_store_test
