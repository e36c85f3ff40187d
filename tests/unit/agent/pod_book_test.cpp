#include "snug/agent_service/pod_book.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "snug/base/agent_limits.hpp"

namespace snug::pod_book_test {
namespace {

agent::PodView pod(const std::string& name, const std::string& uid) {
  return {.name_space = "ns", .name = name, .uid = uid, .runtime_uid = uid};
}

class PodBookTest : public ::testing::Test {
 protected:
  int changes = 0;
  agent_service::PodBook book{[this] { ++changes; }};
};

TEST_F(PodBookTest, APodIsFoundByItsNameIfTheRuntimeMeansThisPod) {
  agent::PodView mirror = pod("static", "u-api");
  mirror.runtime_uid = "u-kubelet";
  book.pods_listed({pod("a", "u-a"), mirror});
  ASSERT_NE(book.lookup("u-a", "ns", "a"), nullptr);
  EXPECT_EQ(*book.lookup("u-a", "ns", "a"), pod("a", "u-a"));
  EXPECT_NE(book.lookup("u-kubelet", "ns", "static"), nullptr);
  EXPECT_EQ(book.lookup("u-api", "ns", "static"), nullptr);
  EXPECT_EQ(book.lookup("u-old", "ns", "a"), nullptr) << "an earlier pod of this name";
  EXPECT_EQ(book.lookup("u-a", "other", "a"), nullptr);
  EXPECT_EQ(book.lookup("u-a", "ns", "b"), nullptr);
}

TEST_F(PodBookTest, APodWithTheUidOfAnotherPodHidesNothing) {
  book.pods_listed({pod("a", "u-a")});
  agent::PodView forged = pod("z", "u-z");
  forged.runtime_uid = "u-a";
  book.pod_changed(forged);
  EXPECT_EQ(book.lookup("u-a", "ns", "a")->uid, "u-a");
}

TEST_F(PodBookTest, EventsAndListsReplaceWhatIsKnown) {
  book.pods_listed({pod("a", "u-a"), pod("b", "u-b")});
  agent::PodView changed = pod("a", "u-a");
  changed.terminating = true;
  const auto before = book.lookup("u-a", "ns", "a");
  book.pod_changed(changed);
  EXPECT_TRUE(book.lookup("u-a", "ns", "a")->terminating);
  EXPECT_FALSE(before->terminating) << "what was looked up does not change";
  book.pod_changed(pod("c", "u-c"));
  EXPECT_EQ(book.pods().size(), 3U);
  book.pod_gone(pod("b", "u-b"));
  EXPECT_EQ(book.lookup("u-b", "ns", "b"), nullptr);
  book.pods_listed({pod("c", "u-c")});
  EXPECT_EQ(book.pods().size(), 1U);
  EXPECT_EQ(book.lookup("u-a", "ns", "a"), nullptr);
}

TEST_F(PodBookTest, TheEndOfAnEarlierPodLeavesItsSuccessor) {
  book.pods_listed({pod("a", "u-1")});
  book.pod_changed(pod("a", "u-2"));
  EXPECT_EQ(book.lookup("u-1", "ns", "a"), nullptr);
  book.pod_gone(pod("a", "u-1"));
  EXPECT_NE(book.lookup("u-2", "ns", "a"), nullptr);
}

TEST_F(PodBookTest, ItIsFreshWhileAWatchFollowsAList) {
  EXPECT_FALSE(book.fresh());
  book.stream_alive();
  EXPECT_FALSE(book.fresh()) << "no list yet";
  book.pods_listed({});
  EXPECT_TRUE(book.fresh());
  book.stream_lost();
  EXPECT_FALSE(book.fresh());
  book.stream_alive();
  EXPECT_TRUE(book.fresh());
}

TEST_F(PodBookTest, EachChangeIsReportedAndNothingElse) {
  const auto reported = [this](const auto& call) {
    const int before = changes;
    call();
    return changes - before;
  };
  EXPECT_EQ(reported([&] { book.pods_listed({pod("a", "u-a")}); }), 1);
  EXPECT_EQ(reported([&] { book.stream_alive(); }), 1);
  EXPECT_EQ(reported([&] { book.stream_alive(); }), 0);
  EXPECT_EQ(reported([&] { book.pod_changed(pod("a", "u-a")); }), 0) << "nothing that is read";
  EXPECT_EQ(reported([&] { book.pod_changed(pod("b", "u-b")); }), 1);
  EXPECT_EQ(reported([&] { book.pod_gone(pod("b", "u-b")); }), 1);
  EXPECT_EQ(reported([&] { book.pod_gone(pod("b", "u-b")); }), 0);
  EXPECT_EQ(reported([&] { book.stream_lost(); }), 1);
}

TEST(PodBookHookTest, TheHookMayReadTheBook) {
  const agent_service::PodBook* seen_book = nullptr;
  std::size_t seen_pods = 0;
  agent_service::PodBook book([&] { seen_pods = seen_book->pods().size(); });
  seen_book = &book;
  book.pods_listed({pod("a", "u-a")});
  EXPECT_EQ(seen_pods, 1U);
}

TEST_F(PodBookTest, NoMorePodsAreKnownThanAllowed) {
  std::vector<agent::PodView> many;
  for (int i = 0; i <= base::agent_limits::max_node_pods; ++i)
    many.push_back(pod("p" + std::to_string(i), "u"));
  book.pods_listed(many);
  EXPECT_EQ(std::ssize(book.pods()), base::agent_limits::max_node_pods);
  book.pod_changed(pod("one-more", "u"));
  EXPECT_EQ(book.lookup("u", "ns", "one-more"), nullptr);
  book.pod_changed(pod("p0", "u-new"));
  EXPECT_NE(book.lookup("u-new", "ns", "p0"), nullptr) << "a known pod still changes";
}

TEST(PodBookThreadsTest, LookUpsWhileThePodsChangeSeeOneOfTheStates) {
  agent_service::PodBook book;
  book.pods_listed({pod("a", "u")});
  std::thread writer([&] {
    for (int i = 0; i < 2'000; ++i) {
      agent::PodView changed = pod("a", "u");
      changed.host_paths.assign(static_cast<std::size_t>(i % 3), "/x");
      changed.terminating = i % 3 == 2;
      book.pod_changed(changed);
    }
  });
  for (int i = 0; i < 2'000; ++i) {
    const auto found = book.lookup("u", "ns", "a");
    ASSERT_NE(found, nullptr);
    ASSERT_EQ(found->terminating, found->host_paths.size() == 2);
  }
  writer.join();
}

}  // namespace
}  // namespace snug::pod_book_test
