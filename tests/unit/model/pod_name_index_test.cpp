#include "snug/model/pod_name_index.hpp"

#include <gtest/gtest.h>

namespace snug::pod_name_index_test {
namespace {

TEST(PodNameIndexTest, APodIsFoundByItsNamespaceAndName) {
  model::PodNameIndex index;
  index.add("ml", "a", "u1");
  index.add("ml", "b", "u2");
  index.add("web", "a", "u3");
  EXPECT_EQ(index.find("ml", "a"), "u1");
  EXPECT_EQ(index.find("ml", "b"), "u2");
  EXPECT_EQ(index.find("web", "a"), "u3");
  EXPECT_EQ(index.find("web", "b"), std::nullopt);
  index.remove("ml", "a", "u1");
  EXPECT_EQ(index.find("ml", "a"), std::nullopt);
  index.clear();
  EXPECT_EQ(index.find("web", "a"), std::nullopt);
}

TEST(PodNameIndexTest, TheNewestOfSeveralPodsWithOneNameIsFound) {
  model::PodNameIndex index;
  for (const char* uid : {"u1", "u2", "u3"}) index.add("ml", "a", uid);
  EXPECT_EQ(index.find("ml", "a"), "u3");
  index.remove("ml", "a", "u1");
  EXPECT_EQ(index.find("ml", "a"), "u3") << "the end of an earlier pod changes nothing";
  index.remove("ml", "a", "u3");
  EXPECT_EQ(index.find("ml", "a"), "u2");
  index.remove("ml", "a", "u9");
  index.remove("ml", "z", "u2");
  EXPECT_EQ(index.find("ml", "a"), "u2") << "neither is in the index";
}

}  // namespace
}  // namespace snug::pod_name_index_test
