// 20,000 pods with slices that an agent creates, one after another through the two ports of the
// embedded mode, while pods end at random and the service is replaced three times over the same API
// server. Then the ledger has what the pods' annotations say, slice by slice, and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/routes.hpp"
#include "app/service_core.hpp"
#include "integration/http_client.hpp"
#include "snug/adapters/http/admin_server.hpp"
#include "snug/adapters/memory/memory_api.hpp"
#include "snug/adapters/obs/log.hpp"
#include "snug/adapters/obs/metrics.hpp"
#include "snug/codec/manifests.hpp"
#include "snug/codec/policy_codec.hpp"
#include "support/random.hpp"

namespace snug::testing::dynamic_mig_test {
namespace {

using nlohmann::json;

#ifdef SNUG_SANITIZED
constexpr int kPods = 2'000;
#else
constexpr int kPods = 20'000;
#endif
constexpr int kNodes = 24;
constexpr int kRestarts = 3;
/// A connection may be silent that long, also before its first request, however slow the build is.
constexpr std::int64_t kKeepAliveMs = 3'600'000;

struct Card {
  const char* model;
  std::int64_t memory;
  std::vector<std::pair<std::string, int>> profiles;  // with their memory slices
};

const std::vector<Card>& cards() {
  static const std::vector<Card> kCards{
      {"NVIDIA-A100-SXM4-40GB",
       40'960,
       {{"1g.5gb", 1}, {"1g.10gb", 2}, {"2g.10gb", 2}, {"3g.20gb", 4}, {"4g.20gb", 4}}},
      {"NVIDIA-A30", 24'576, {{"1g.6gb", 1}, {"2g.12gb", 2}, {"4g.24gb", 4}}}};
  return kCards;
}

const Card& card_of_node(int node) { return cards().at(node % 3 == 2 ? 1 : 0); }

/// One slice of one GPU, and who has it.
struct HeldSlice {
  std::string node;
  std::string gpu;
  int start = 0;
  int size = 0;
  std::string profile;
  std::string uid;
  friend auto operator<=>(const HeldSlice&, const HeldSlice&) = default;
};

void PrintTo(const HeldSlice& held, std::ostream* out) {
  *out << held.uid << " has " << held.profile << "@" << held.start << "+" << held.size << " on "
       << held.gpu << " of " << held.node;
}

HeldSlice slice_of(std::string node, const json& gpu, const json& slice, std::string uid) {
  return {std::move(node),
          gpu.at("uuid").get<std::string>(),
          slice.at("start").get<int>(),
          slice.at("size").get<int>(),
          slice.at("profile").get<std::string>(),
          std::move(uid)};
}

/// One life of the service over an API server that outlives it.
class Life {
 public:
  Life(memory::MemoryApi& api, const service::PolicyStore& policy, const base::Limits& limits)
      : api_(api),
        core_({policy, api, *metrics_, log_, clock_, wall_clock_, &api}, options(limits)) {
    api_.start(core_.reconciler);
    extender_ = std::make_unique<http::ExtenderServer>(app::extender_handlers(core_.service),
                                                       http::HttpOptions{}, limits);
    admin_ = std::make_unique<http::AdminServer>(app::admin_routes(core_, *metrics_, &api_),
                                                 nullptr, http::HttpOptions{}, limits);
    EXPECT_TRUE(extender_->start());
    EXPECT_TRUE(admin_->start());
    verbs_ = std::make_unique<HttpClient>(extender_->port());
    state_ = std::make_unique<HttpClient>(admin_->port());
  }
  ~Life() {
    verbs_.reset();
    state_.reset();
    extender_->stop();
    admin_->stop();
    api_.stop();
  }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  json post(const std::string& path, const json& body) {
    return ask(*verbs_, post_text(path, body.dump()));
  }
  json get(const std::string& target) {
    return ask(*state_, "GET " + target + " HTTP/1.1\r\nHost: t\r\n\r\n");
  }
  void end(const std::string& pod) {
    (void)ask(*state_, "DELETE /v1/pods/d/" + pod + " HTTP/1.1\r\nHost: t\r\n\r\n");
  }

 private:
  static service::ServiceOptions options(const base::Limits& limits) {
    service::ServiceOptions service;
    service.answer = service::AnswerMode::kWinner;
    service.limits = limits;
    return service;
  }
  static json ask(HttpClient& client, const std::string& request) {
    EXPECT_TRUE(client.send(request)) << "the server has closed the connection";
    const HttpAnswer answer = client.receive().value_or(HttpAnswer{});
    EXPECT_EQ(answer.status, 200) << answer.body << "\nto " << request.substr(0, 400);
    return json::parse(answer.body, nullptr, false);
  }

  memory::MemoryApi& api_;
  base::SteadyClock clock_;
  base::SystemClock wall_clock_;
  obs::SpdlogLog log_{{.level = service::LogLevel::kError}};
  const std::unique_ptr<obs::PrometheusMetrics> metrics_ = obs::make_prometheus_metrics();
  app::ServiceCore core_;
  std::unique_ptr<http::ExtenderServer> extender_;
  std::unique_ptr<http::AdminServer> admin_;
  std::unique_ptr<HttpClient> verbs_;
  std::unique_ptr<HttpClient> state_;
};

class DynamicMigTest : public ::testing::Test {
 protected:
  DynamicMigTest() : random_(seed()) {
    std::cout << "SNUG_DYNAMIC_SEED=" << seed() << "\n";
    limits_.keep_alive_ms = kKeepAliveMs;
    limits_.admin_keep_alive_ms = kKeepAliveMs;
    limits_.head_ms = kKeepAliveMs;
    json list{{"kind", "List"}, {"items", json::array()}};
    for (int node = 0; node < kNodes; ++node) {
      names_.push_back("n" + std::to_string(node));
      list["items"].push_back(node_json(node));
    }
    api_ = std::make_unique<memory::MemoryApi>(
        codec::read_manifests(list.dump(), "the cluster", limits_).value(), limits_);
    policy_ = std::make_unique<service::PolicyStore>(std::make_shared<const score::Policy>(
        codec::read_policy(codec::default_policy_yaml(), "the default policy", limits_).value()));
    restart();
  }

  static std::uint64_t seed() {
    const char* text = std::getenv("SNUG_DYNAMIC_SEED");
    return text == nullptr ? 20'260'401 : std::stoull(text);
  }

  void restart() {
    life_.reset();
    life_ = std::make_unique<Life>(*api_, *policy_, limits_);
  }

  static std::string gpu_name(int node, int gpu) {
    return "GPU-" + std::to_string(node) + "-" + std::to_string(gpu);
  }

  [[nodiscard]] json node_json(int node) const {
    json inventory{{"version", 1}, {"dynamicMig", true}, {"gpus", json::array()}};
    for (int gpu = 0; gpu < 4; ++gpu) {
      json& row = inventory["gpus"].emplace_back(json{{"index", gpu},
                                                      {"uuid", gpu_name(node, gpu)},
                                                      {"model", card_of_node(node).model},
                                                      {"memoryMiB", card_of_node(node).memory},
                                                      {"mig", true}});
      const auto there = slices_.find(gpu_name(node, gpu));
      if (there != slices_.end()) row["migInstances"] = there->second;
    }
    return {{"kind", "Node"},
            {"metadata",
             {{"name", "n" + std::to_string(node)},
              {"annotations", {{"snug.dev/inventory", inventory.dump()}}}}}};
  }

  /// What one container asks for; by a profile, or by what several cards can serve.
  json asks(int node) {
    static const std::vector<std::pair<const char*, const char*>> kShares{
        {"gpu-memory", "4G"},     {"gpu-memory", "8Gi"},    {"gpu-memory", "18000"},
        {"gpu-fraction", "0.12"}, {"gpu-fraction", "0.25"}, {"gpu-fraction", "0.5"}};
    const auto& profiles = card_of_node(node).profiles;
    json annotations = json::object();
    if (random_.chance(60)) {
      annotations["gpu-mig-profile"] = random_.pick(profiles).first;
    } else {
      const auto& [key, value] = random_.pick(kShares);
      annotations[key] = value;
      annotations["gpu-isolation"] = "mig";
    }
    if (random_.chance(8)) annotations["gpu-count"] = "2";
    return annotations;
  }

  void create(int number) {
    const std::string name = "p" + std::to_string(number);
    json containers = json::array({{{"name", "main"}}});
    json annotations = asks(number);
    if (random_.chance(10)) {
      containers.push_back({{"name", "beside"}});
      annotations["gpu-memory.beside"] = "4G";
    }
    json inits = json::array();
    if (random_.chance(10)) {
      inits.push_back({{"name", "prepare"}});
      annotations["gpu-memory.prepare"] = "4G";
    }
    pods_[name] = {
        {"metadata",
         {{"name", name},
          {"namespace", "d"},
          {"uid", "uid-" + name},
          {"annotations", std::move(annotations)}}},
        {"spec", {{"initContainers", std::move(inits)}, {"containers", std::move(containers)}}}};
    schedule(name);
  }

  /// As kube-scheduler does; now and then to another node than filter says.
  void schedule(const std::string& name) {
    const json& pod = pods_.at(name);
    const json reply = life_->post("/filter", {{"Pod", pod}, {"NodeNames", names_}});
    EXPECT_EQ(reply.value("Error", "missing"), "") << name;
    std::string node = random_.pick(names_);
    const bool anywhere = random_.chance(3);
    if (reply.at("NodeNames").empty()) {
      ++rejected_;
      if (!anywhere) return;
    } else if (!anywhere) {
      node = reply.at("NodeNames").at(0).get<std::string>();
    }
    const json bound = life_->post(
        "/bind",
        {{"PodName", name}, {"PodNamespace", "d"}, {"PodUID", "uid-" + name}, {"Node", node}});
    const bool ok = bound.value("Error", "missing").empty();
    if (ok) bound_.push_back(name);
    EXPECT_FALSE(ok && reply.at("NodeNames").empty()) << name << " fits nowhere and is on " << node;
    EXPECT_TRUE(ok || anywhere) << name << " to " << node << ": " << bound;
  }

  void end_one() {
    if (bound_.empty()) return;
    std::swap(random_.pick(bound_), bound_.back());
    life_->end(bound_.back());
    pods_.erase(bound_.back());
    bound_.pop_back();
  }

  /// One that waits is tried again, or given up.
  void look_after_waiting() {
    const auto found = pods_.lower_bound("p" + std::to_string(random_.below(kPods)));
    if (found == pods_.end()) return;
    const std::string name = found->first;
    if (std::ranges::find(bound_, name) != bound_.end()) return;
    if (random_.one_in(2)) {
      schedule(name);
      return;
    }
    life_->end(name);
    pods_.erase(name);
  }

  /// By the annotations of the pods that the API server has; each slice once.
  std::set<HeldSlice> by_annotations() {
    std::set<HeldSlice> all;
    for (const std::string& name : bound_) {
      const auto pod = api_->get_pod("d", name).value();
      EXPECT_TRUE(pod && !pod->node_name.empty()) << name;
      if (!pod) continue;
      const json reservation = json::parse(pod->annotations.at("snug.dev/reservation"));
      EXPECT_EQ(reservation.at("uid"), pod->uid);
      EXPECT_EQ(reservation.at("node"), pod->node_name);
      for (const json& container : reservation.at("containers")) {
        for (const json& device : container.at("devices")) {
          const HeldSlice held = slice_of(pod->node_name, device, device.at("mig"), pod->uid);
          all.insert(held);  // an init container may have the slice of another
        }
      }
    }
    return all;
  }

  std::set<HeldSlice> by_ledger() {
    std::set<HeldSlice> all;
    const json nodes = life_->get("/v1/nodes");
    EXPECT_EQ(nodes.at("nodes").size(), kNodes);
    for (const json& node : nodes.at("nodes")) {
      for (const json& gpu : node.at("gpus")) {
        EXPECT_TRUE(gpu.at("closed").is_null()) << gpu;
        for (const json& slice : gpu.at("slices").at("instances")) {
          if (!slice.contains("holder")) continue;
          const HeldSlice held = slice_of(node.at("name").get<std::string>(), gpu, slice,
                                          slice.at("holder").at("uid").get<std::string>());
          EXPECT_TRUE(all.insert(held).second) << ::testing::PrintToString(held) << " twice";
        }
      }
    }
    return all;
  }

  /// What `all` has and `some` has not.
  static std::vector<HeldSlice> lacks(const std::set<HeldSlice>& some,
                                      const std::set<HeldSlice>& all) {
    std::vector<HeldSlice> lacking;
    std::ranges::set_difference(all, some, std::back_inserter(lacking));
    return lacking;
  }

  /// The ledger, the annotations, and no two slices in one place.
  void check(const std::string& when) {
    const std::set<HeldSlice> expected = by_annotations();
    const std::set<HeldSlice> known = by_ledger();
    EXPECT_EQ(lacks(known, expected), std::vector<HeldSlice>{}) << "not in the ledger " << when;
    EXPECT_EQ(lacks(expected, known), std::vector<HeldSlice>{}) << "in the ledger only " << when;
    const HeldSlice* before = nullptr;  // the set is by node, GPU and start
    for (const HeldSlice& held : expected) {
      const bool same_gpu = before != nullptr && before->gpu == held.gpu;
      EXPECT_FALSE(same_gpu && held.start < before->start + before->size)
          << when << ": " << ::testing::PrintToString(held) << " and "
          << ::testing::PrintToString(*before);
      before = &held;
    }
    most_ = std::max(most_, expected.size());
  }

  /// The agents create what is reserved, and keep what is not in its way.
  void agents_act() {
    std::map<std::string, json> next;
    std::map<std::string, std::uint64_t> taken;
    const auto add = [&](const std::string& gpu, const json& slice) {
      const std::uint64_t range = ((1ULL << slice.at("size").get<int>()) - 1)
                                  << slice.at("start").get<int>();
      if ((taken[gpu] & range) != 0) return;
      taken[gpu] |= range;
      next[gpu].push_back(slice);
    };
    for (const HeldSlice& held : by_annotations()) {
      json slice{{"profile", held.profile}, {"start", held.start}, {"size", held.size}};
      for (const json& there : slices_[held.gpu]) {
        const bool same = there.at("profile") == held.profile && there.at("start") == held.start;
        if (same) slice = there;
      }
      if (!slice.contains("uuid")) slice["uuid"] = "MIG-" + std::to_string(++last_slice_);
      add(held.gpu, slice);
    }
    for (const auto& [gpu, slices] : slices_) {
      for (const json& slice : slices) add(gpu, slice);
    }
    slices_ = std::move(next);
    for (int node = 0; node < kNodes; ++node) {
      api_->put_node(
          codec::read_manifests(node_json(node).dump(), "the agent", limits_).value().nodes.at(0));
    }
  }

  base::Limits limits_;
  Random random_;
  std::vector<std::string> names_;
  std::map<std::string, json> slices_;  // that exist, by GPU
  int last_slice_ = 0;
  std::unique_ptr<memory::MemoryApi> api_;
  std::unique_ptr<service::PolicyStore> policy_;
  std::unique_ptr<Life> life_;
  std::map<std::string, json> pods_;  // by name
  std::vector<std::string> bound_;    // their names
  int rejected_ = 0;
  std::size_t most_ = 0;
};

TEST_F(DynamicMigTest, AfterThreeRestartsTheLedgerIsWhatTheAnnotationsSay) {
  constexpr int kAgentEvery = 270;  // so that they are late at each check
  for (int number = 1; number <= kPods && !HasFailure(); ++number) {
    create(number);
    // The cluster fills up first, then as many end as come.
    if (bound_.size() > 300 || random_.chance(20)) end_one();
    if (random_.chance(30)) end_one();
    if (random_.chance(40)) look_after_waiting();
    if (number % kAgentEvery == 0) agents_act();
    if (number % (kPods / (kRestarts + 1)) != 0 || number == kPods) continue;
    check("before a restart");
    restart();
    check("after a restart");
  }
  check("at the end");
  std::cout << "rejected " << rejected_ << " times, at most " << most_ << " slices at once, "
            << last_slice_ << " created\n";
  EXPECT_GT(rejected_, kPods / 50);
  EXPECT_GT(last_slice_, 100);
  while (!bound_.empty() && !HasFailure()) end_one();
  EXPECT_EQ(by_ledger(), std::set<HeldSlice>{});
}

}  // namespace
}  // namespace snug::testing::dynamic_mig_test
