#include "snug/model/node_name_index.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "snug/base/name_hash.hpp"
#include "support/random.hpp"

namespace snug::name_index_test {
namespace {

TEST(NameIndexTest, AnEmptyOneKnowsNothing) {
  const model::NameIndex index;
  EXPECT_TRUE(index.empty());
  EXPECT_FALSE(index.find("n1"));
  const std::vector<std::string_view> names = {"n1", ""};
  EXPECT_EQ(index.find_all(names), (std::vector<std::optional<base::NodeIndex>>(2)));
}

TEST(NameIndexTest, FindsWhatIsInItAndNothingElseWhateverItsSize) {
  for (const std::uint32_t size : {1U, 2U, 31U, 32U, 33U, 1000U}) {
    model::NameIndex index;
    std::vector<std::string> asked;
    for (std::uint32_t i = 0; i < size; ++i) {
      index.emplace("node-" + std::to_string(i), base::NodeIndex{3 * i});
      asked.push_back("node-" + std::to_string(i));
      asked.push_back("other-" + std::to_string(i));
    }
    Random(size).shuffle(asked);
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

/// The table keeps 32 bits of a name's hash: names that agree in them, and in length, differ still.
TEST(NameIndexTest, NamesWithTheSameHashAreTold) {
  constexpr int kNames = 400'000;  // of which some twenty pairs meet
  std::unordered_map<std::uint32_t, std::string> by_hash;
  int pairs = 0;
  for (int i = 100'000; i < 100'000 + kNames; ++i) {
    const std::string name = "node-" + std::to_string(i);
    const auto [other, first] =
        by_hash.emplace(static_cast<std::uint32_t>(base::name_hash(name)), name);
    if (first) continue;
    ++pairs;
    model::NameIndex index;
    index.emplace(other->second, base::NodeIndex{1});
    EXPECT_FALSE(index.find(name)) << name << " and " << other->second;
    index.emplace(name, base::NodeIndex{2});
    const std::vector<std::string_view> both = {name, other->second};
    EXPECT_EQ(index.find_all(both), (std::vector<std::optional<base::NodeIndex>>{
                                        base::NodeIndex{2}, base::NodeIndex{1}}));
  }
  EXPECT_GT(pairs, 0) << "no two of the names met";
}

}  // namespace
}  // namespace snug::name_index_test
