// 32 threads of filter, prioritize and bind at once, with the watch, the lists, the nodes and the
// ticks on threads of their own, as in the program. For ThreadSanitizer, and for the naive model:
// nothing over-committed at any time, and at the end a ledger that equals the truth.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/harness/naive_model.hpp"
#include "sim/harness/snug_instance.hpp"
#include "sim/harness/world.hpp"
#include "support/fake_ports.hpp"

namespace snug::stress_test {
namespace {

constexpr int kThreads = 32;
constexpr int kRounds = 400;
constexpr int kNodes = 8;
constexpr std::size_t kMaxPods = 120;
constexpr std::uint64_t kSeed = 20'240'817;

/// The simulated API server behind one lock.
class SharedWorld final : public UnmirroredApi {
 public:
  explicit SharedWorld(base::ManualClock& clock)
      : random_(kSeed),
        feed_(random_, [](std::string) {}),
        world_(clock, random_),
        model_(world_, feed_) {
    world_.add_feed(feed_);
  }

  base::Result<void> bind(const model::Binding& binding) override {
    const std::lock_guard lock(mutex_);
    return world_.bind(binding);
  }
  base::Result<std::optional<model::PodFacts>> get_pod(std::string_view name_space,
                                                       std::string_view name) override {
    const std::lock_guard lock(mutex_);
    return world_.get_pod(name_space, name);
  }
  base::Result<void> wake_pending_pods(base::Generation room) override {
    const std::lock_guard lock(mutex_);
    return world_.wake_pending_pods(room);
  }
  bool notify(const model::Notice& /*notice*/) override { return true; }

  /// Runs `use(world, feed, model)` while nobody else does.
  template <typename Use>
  auto locked(const Use& use) {
    const std::lock_guard lock(mutex_);
    return use(world_, feed_, model_);
  }

 private:
  std::mutex mutex_;
  // All below are guarded by mutex_.
  Random random_;
  Feed feed_;
  World world_;
  NaiveModel model_;
};

SimNode make_node(int number) {
  SimNode node;
  node.name = "n" + std::to_string(number);
  for (int i = 0; i < 4; ++i) {
    node.gpus.push_back({.index = i,
                         .uuid = "GPU-" + node.name + "-" + std::to_string(i),
                         .model = "NVIDIA-A100-SXM4-40GB",
                         .memory = {40'960},
                         .allowed_modes = {model::GpuMode::kWhole, model::GpuMode::kTimeSlicing}});
  }
  return node;
}

class Stress {
 public:
  Stress() : snug_(clock_, shared_, {}) {
    shared_.locked([&](World& world, Feed& feed, NaiveModel&) {
      feed.restart(snug_.reconciler());
      for (int i = 0; i < kNodes; ++i) world.put_node(make_node(i));
      feed.list_nodes(world.nodes());
      feed.begin_list();
      feed.take_list({});
      feed.finish_list();
    });
  }

  void run() {
    std::vector<std::jthread> helpers;
    helpers.emplace_back([this](const std::stop_token& stop) { watch(stop); });
    helpers.emplace_back([this](const std::stop_token& stop) { tick(stop); });
    {
      std::vector<std::jthread> schedulers;
      for (int i = 0; i < kThreads; ++i) schedulers.emplace_back([this, i] { schedule(i); });
    }
    helpers.clear();
    go_quiet();
  }

  [[nodiscard]] int bound() const { return bound_; }
  [[nodiscard]] int refused() const { return refused_; }
  [[nodiscard]] int bad() const { return bad_; }
  [[nodiscard]] std::string found() {
    return shared_.locked([](World&, Feed&, NaiveModel& model) {
      std::string text;
      for (const Violation& v : model.violations()) text += v.check + ": " + v.text + "\n";
      return text;
    });
  }

 private:
  void schedule(int number) {
    Random random(kSeed + 1 + static_cast<std::uint64_t>(number));
    for (int round = 0; round < kRounds; ++round) {
      if (random.chance(10)) say_nonsense(random);
      if (random.chance(40)) create(random, number * kRounds + round);
      if (random.chance(25)) end_one(random);
      const std::optional<model::PodFacts> pod = any_pod(random);
      if (pod) schedule_one(*pod, random);
    }
  }

  void create(Random& random, int number) {
    static const std::vector<std::string> kFractions{"0.1", "0.25", "0.5", "0.75", "1", "2", "1.5"};
    model::PodFacts pod;
    pod.name_space = "sim";
    pod.name = "p" + std::to_string(number);
    pod.uid = "uid-" + std::to_string(number);
    pod.containers.push_back(
        {.name = "main", .type = model::ContainerType::kApp, .gpu_resources = {}});
    if (random.chance(15)) {
      pod.containers.front().gpu_resources[kGpuUnits] = "1";
    } else if (random.chance(90)) {
      pod.annotations["gpu-fraction"] = random.pick(kFractions);
    }
    shared_.locked([&](World& world, Feed&, NaiveModel&) {
      if (world.pods().size() < kMaxPods) world.create_pod(std::move(pod));
    });
  }

  void end_one(Random& random) {
    shared_.locked([&](World& world, Feed&, NaiveModel&) {
      if (world.pods().size() < kMaxPods / 2) return;
      const std::string uid = nth(world, random)->first;
      if (world.pods().at(uid).facts.terminating || random.chance(50)) {
        world.remove_pod(uid);
      } else {
        world.mark_terminating(uid);
      }
    });
  }

  static std::map<std::string, SimPod>::const_iterator nth(const World& world, Random& random) {
    return std::next(world.pods().begin(),
                     static_cast<std::ptrdiff_t>(random.below(world.pods().size())));
  }

  std::optional<model::PodFacts> any_pod(Random& random) {
    return shared_.locked([&](World& world, Feed&, NaiveModel&) -> std::optional<model::PodFacts> {
      if (world.pods().empty()) return std::nullopt;
      return nth(world, random)->second.facts;
    });
  }

  void schedule_one(const model::PodFacts& pod, Random& random) {
    std::vector<std::string> nodes;
    for (int i = 0; i < kNodes; ++i) nodes.push_back("n" + std::to_string(i));
    std::string body = schedule_body(pod, nodes);
    const auto answer = nlohmann::json::parse(snug_.service().filter(body).body);
    nodes = answer.at("NodeNames").get<std::vector<std::string>>();
    if (nodes.empty()) {
      ++refused_;
      return;
    }
    body = schedule_body(pod, nodes);
    (void)snug_.service().prioritize(body);
    const std::string node = random.pick(nodes);
    for (std::size_t i = 1 + random.below(2); i > 0; --i) {
      body = bind_body(pod, node);
      const auto reply = nlohmann::json::parse(snug_.service().bind(body).body);
      if (reply.at("Error").get<std::string>().empty()) ++bound_;
    }
  }

  void say_nonsense(Random& random) {
    static const std::vector<std::string> kBodies{
        "",
        "{",
        "[]",
        "{\"Pod\":null,\"NodeNames\":[\"n1\"]}",
        "{\"PodName\":7}",
        "\xff\xfe",
        "{\"Pod\":{\"metadata\":{\"name\":\"p\"}},\"NodeNames\":[\"n1\"],\"Nodes\":{}}"};
    std::string body = random.pick(kBodies);
    const std::size_t verb = random.below(3);
    const service::Reply reply = verb == 0   ? snug_.service().filter(body)
                                 : verb == 1 ? snug_.service().prioritize(body)
                                             : snug_.service().bind(body);
    if (reply.status == 400 && nlohmann::json::accept(reply.body)) ++bad_;
  }

  /// Events of pods and nodes, lists, and a look at the truth now and then.
  void watch(const std::stop_token& stop) {
    for (int round = 0; !stop.stop_requested(); ++round) {
      shared_.locked([&](World& world, Feed& feed, NaiveModel& model) {
        for (int i = 0; i < 8; ++i) feed.deliver_pod_event();
        feed.deliver_node_event();
        if (round % 50 == 0) step_list(world, feed);
        if (round % 20 == 0) flip_health(world, round);
        model.check_truth();
      });
      std::this_thread::yield();
    }
  }

  static void step_list(World& world, Feed& feed) {
    if (feed.phase() == Feed::ListPhase::kNone) {
      feed.begin_list();
    } else if (feed.phase() == Feed::ListPhase::kTaken) {
      feed.finish_list();
    } else {
      std::vector<model::PodFacts> pods;
      for (const auto& [uid, pod] : world.pods()) pods.push_back(pod.facts);
      feed.take_list(std::move(pods));
    }
  }

  static void flip_health(World& world, int round) {
    SimNode node = world.nodes().at("n" + std::to_string(round / 20 % kNodes));
    node.gpus[static_cast<std::size_t>(round / 20 % 3)].healthy ^= true;
    world.put_node(std::move(node));
  }

  void tick(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      shared_.locked(
          [](World& world, Feed&, NaiveModel&) { world.advance(std::chrono::milliseconds(250)); });
      snug_.reconciler().tick();
      std::this_thread::yield();
    }
  }

  void go_quiet() {
    shared_.locked([](World& world, Feed& feed, NaiveModel&) {
      world.set_faults(false);
      while (feed.phase() != Feed::ListPhase::kNone) step_list(world, feed);
    });
    for (int i = 0; i < 25; ++i) {
      shared_.locked([](World& world, Feed& feed, NaiveModel&) {
        world.advance(std::chrono::seconds(3));
        feed.deliver_everything();
      });
      snug_.reconciler().tick();
    }
    const Observed seen = snug_.observe();
    shared_.locked([&](World&, Feed&, NaiveModel& model) {
      model.check_truth();
      model.check_ledger(seen);
      model.check_equal(seen);
    });
  }

  base::ManualClock clock_;
  SharedWorld shared_{clock_};
  SnugInstance snug_;
  std::atomic<int> bound_{0};
  std::atomic<int> refused_{0};
  std::atomic<int> bad_{0};
};

TEST(StressTest, ThirtyTwoThreadsNeverOverCommitAndEndEqualToTheTruth) {
  Stress stress;
  stress.run();
  EXPECT_EQ(stress.found(), "");
  EXPECT_GT(stress.bound(), 200);
  EXPECT_GT(stress.refused(), 50);
  EXPECT_GT(stress.bad(), 100);
}

}  // namespace
}  // namespace snug::stress_test
