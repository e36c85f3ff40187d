#include "snug/model/name_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace snug {
namespace {

TEST(NameIndexTest, AnEmptyOneKnowsNothing) {
  const NameIndex index;
  EXPECT_TRUE(index.empty());
  EXPECT_FALSE(index.find("n1"));
  const std::vector<std::string_view> names = {"n1", ""};
  EXPECT_EQ(index.find_all(names), (std::vector<std::optional<NodeIndex>>(2)));
}

TEST(NameIndexTest, FindsWhatIsInItAndNothingElseWhateverItsSize) {
  for (const std::uint32_t size : {1U, 2U, 31U, 32U, 33U, 1000U}) {
    NameIndex index;
    std::vector<std::string> asked;
    for (std::uint32_t i = 0; i < size; ++i) {
      index.emplace("node-" + std::to_string(i), NodeIndex{3 * i});
      asked.push_back("node-" + std::to_string(i));
      asked.push_back("other-" + std::to_string(i));
    }
    std::shuffle(asked.begin(), asked.end(), std::mt19937(size));
    const std::vector<std::string_view> names(asked.begin(), asked.end());
    const auto found = index.find_all(names);
    EXPECT_EQ(index.size(), size);
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(found[i], index.find(names[i]));
      const bool known = asked[i].starts_with("node-");
      ASSERT_EQ(found[i].has_value(), known) << asked[i];
      if (known) {
        EXPECT_EQ(found[i]->value, 3 * std::stoul(asked[i].substr(5)));
      }
    }
  }
}

}  // namespace
}  // namespace snug
