// What is learned of demand, across a restart: the living pods teach it anew, all of them once, and
// from there on the same events teach the same, bit for bit.
#include <algorithm>

#include "snug/demand/demand_learner.hpp"
#include "snug/demand/gpu_supply.hpp"
#include "snug/request/pod_request_parser.hpp"
#include "unit/service/fixture.hpp"

namespace snug::testing::relearning_test {
namespace {

/// A power of two, so that tables are made when the last of so many has come.
constexpr int kLiving = 64;
constexpr int kGone = 40;
/// Enough for tables to be made twice more.
#ifdef SNUG_SANITIZED
constexpr int kFurther = 200;  // there is one thread, so the sanitizers need no more
#else
constexpr int kFurther = 400;
#endif

struct Process : ProcessParts {
  void list(const std::vector<model::NodeFacts>& nodes, const std::vector<model::PodFacts>& pods) {
    reconciler.nodes_listed(nodes);
    list_pods(pods);
  }
  void list_pods(const std::vector<model::PodFacts>& pods) {
    reconciler.pod_list_started();
    reconciler.pods_listed(pods);
  }
  /// But for the version, which says how often tables were made.
  [[nodiscard]] model::Demand learned() {
    model::Demand tables = *ledger.snapshot()->demand;
    tables.version = 0;
    return tables;
  }
};

std::vector<model::NodeFacts> nodes() {
  std::vector<model::NodeFacts> all;
  for (int i = 0; i < 30; ++i) {
    model::NodeFacts node = make_node("n" + std::to_string(i), 8, i % 3 == 0 ? 16384 : 40960);
    node.host = {.resources = {96'000, std::int64_t{512} << 30}, .pod_slots = 110, .known = true};
    all.push_back(std::move(node));
  }
  return all;
}

/// The n-th pod that comes, of one of some kinds.
model::PodFacts nth_pod(int n) {
  const std::vector<model::StringMap> kinds = {
      {{"gpu-fraction", "0.25"}}, {{"gpu-fraction", "1"}},
      {{"gpu-memory", "4Gi"}},    {{"gpu-fraction", "0.5"}},
      {{"gpu-fraction", "2"}},    {{"gpu-fraction", "0.1"}, {"gpu-model", "*A100*"}},
      {{"gpu-memory", "12Gi"}},
  };
  const auto kind = static_cast<std::size_t>(n) * 5 % kinds.size();
  model::PodFacts pod = make_pod("p" + std::to_string(n), kinds[kind]);
  pod.containers[0].host = {.cpu_milli = 1'000 + n % 9 * 1'500,
                            .memory_bytes = std::int64_t{1 + n % 4} << 32};
  return pod;
}

/// As the API server shows it after a bind.
model::PodFacts on_a_node(model::PodFacts pod) {
  pod.node_name = "n1";
  return pod;
}

model::Demand taught_by(const std::vector<model::PodFacts>& pods, const model::Snapshot& snapshot) {
  demand::DemandLearner learner;
  const demand::Supply supply = demand::supply_of(snapshot);
  for (const model::PodFacts& pod : pods) {
    learner.pod_was_present(
        pod.uid, demand::shape_of(*request::parse_request(pod), request::host_requests_of(pod)));
  }
  learner.build_tables(supply);
  return learner.demand();
}

/// What happens after the restart, to all alike: pods come, are bound, leave.
void further_event(Process& process, int n) {
  const model::PodFacts pod = nth_pod(1'000 + n);
  process.reconciler.pod_changed(pod);
  process.reconciler.pod_changed(on_a_node(pod));
  // Few leave, so that every one shows in Demand::churn.
  if (n % 12 == 0) process.reconciler.pod_gone(nth_pod(1 + n / 6));  // of before the restart
  if (n % 12 == 6) process.reconciler.pod_gone(nth_pod(1'000 + n / 2));
}

/// That two processes have learned the same, and go on to.
void expect_same_from_here(Process& one, Process& other) {
  ASSERT_TRUE(one.learned() == other.learned());
  const model::Demand before = one.learned();
  for (int n = 0; n < kFurther; ++n) {
    further_event(one, n);
    further_event(other, n);
    ASSERT_TRUE(one.learned() == other.learned()) << "after " << n << " further pods";
  }
  EXPECT_FALSE(one.learned() == before) << "the further pods must teach something";
  EXPECT_GT(one.learned().churn, 0) << "and pods must leave";
  EXPECT_LT(one.learned().churn, model::Demand::kFullChurn)
      << "but not so many that none makes more of it";
}

class RelearningTest : public ServiceTest {
 protected:
  /// A first life: pods come, most are bound, and some of them leave.
  void live() {
    start();
    list(nodes());
    for (int n = 0; n < kLiving + kGone; ++n) come(nth_pod(n), n % 10 != 3);
    for (int n = 0; n < kGone; ++n) {
      const int gone = n * 2;  // every other one of the first
      reconciler.pod_gone(nth_pod(gone));
      std::erase_if(living,
                    [&](const model::PodFacts& pod) { return pod.uid == nth_pod(gone).uid; });
    }
    ASSERT_EQ(living.size(), kLiving);
  }
  void come(const model::PodFacts& pod, bool placed) {
    reconciler.pod_changed(pod);
    if (!placed) {
      living.push_back(pod);
      return;
    }
    const std::vector<model::NodeFacts> all = nodes();
    ASSERT_TRUE(std::ranges::any_of(all, [&](const model::NodeFacts& node) {
      return bind(pod, node.name).empty();
    })) << pod.name;
    living.push_back(bound(pod, api.bindings.back()));
    reconciler.pod_changed(living.back());
  }

  std::vector<model::PodFacts> living;  // as the API server shows them
};

TEST_F(RelearningTest, TheLivingPodsTeachWhatIsKnownAfterARestart) {
  live();
  Process restarted;
  restarted.list(nodes(), living);
  EXPECT_EQ(restarted.learned().churn, 0) << "how fast pods come and go, no list says";
  EXPECT_TRUE(restarted.learned() == taught_by(living, *restarted.ledger.snapshot()));

  Process watched;  // the very same pods, one by one
  watched.list(nodes(), {});
  for (const model::PodFacts& pod : living) watched.reconciler.pod_changed(pod);
  model::Demand tables = watched.learned();
  tables.saturation = 0;  // who waited how long, no list says either
  EXPECT_TRUE(restarted.learned() == tables);

  std::vector<model::PodFacts> fewer = living;
  fewer.pop_back();
  EXPECT_FALSE(restarted.learned() == taught_by(fewer, *restarted.ledger.snapshot()));
}

TEST_F(RelearningTest, TheOrderOfTheListsMeansNothing) {
  live();
  Process one;
  one.list(nodes(), living);
  Process other;
  std::ranges::reverse(living);
  other.list_pods(living);
  other.reconciler.nodes_listed(nodes());
  expect_same_from_here(one, other);
}

TEST_F(RelearningTest, AListThatComesAgainCountsNobodyTwice) {
  live();
  Process once;
  once.list(nodes(), living);
  Process thrice;
  thrice.list(nodes(), living);
  thrice.list_pods(living);
  for (const model::PodFacts& pod : living) thrice.reconciler.pod_changed(pod);
  thrice.list(nodes(), living);
  expect_same_from_here(once, thrice);
}

TEST_F(RelearningTest, APodThatHasEndedIsNotCountedAgain) {
  live();
  Process once;
  Process late;
  once.list(nodes(), living);
  late.list(nodes(), living);
  late.reconciler.pod_list_started();
  for (const model::PodFacts& ended : {living.front(), living.back()}) {
    once.reconciler.pod_gone(ended);
    model::PodFacts finished = ended;
    finished.finished = true;
    late.reconciler.pod_gone(ended);
    // Of a pod with a node the event would say that it runs again.
    if (ended.node_name.empty()) late.reconciler.pod_changed(ended);
    late.reconciler.pod_changed(finished);
  }
  ASSERT_FALSE(living.front().node_name.empty());
  ASSERT_TRUE(living.back().node_name.empty());
  late.reconciler.pods_listed(living);  // as it was when they lived
  EXPECT_EQ(late.pending.find(living.back().uid), nullptr);
  late.reconciler.pod_gone(living.back());
  late.reconciler.pod_changed(living.back());
  expect_same_from_here(once, late);
}

TEST_F(RelearningTest, PodsThatLeftUnseenAreGoneWithTheNextList) {
  live();
  const std::vector<model::PodFacts> half(living.begin(), living.begin() + kLiving / 2);
  Process told;
  told.list(nodes(), living);
  std::vector<model::PodFacts> left(living.begin() + kLiving / 2, living.end());
  std::ranges::sort(left, {}, &model::PodFacts::uid);
  for (const model::PodFacts& pod : left) told.reconciler.pod_gone(pod);
  Process listed;
  listed.list(nodes(), living);
  listed.list_pods(half);
  told.reconciler.pod_changed(half.front());  // looks at how much left, as the list does
  expect_same_from_here(told, listed);
}

}  // namespace
}  // namespace snug::testing::relearning_test
