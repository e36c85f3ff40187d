// A service over a ledger with a few nodes, and an API server that answers as the test says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "snug/codec/policy_codec.hpp"
#include "snug/service/extender_service.hpp"
#include "snug/service/reconciler.hpp"
#include "snug/service/usage_monitor.hpp"
#include "support/fake_ports.hpp"

namespace snug::testing {

/// Records what it is asked; answers from a script, else with success.
class ScriptedApi final : public service::ApiPort {
 public:
  base::Result<void> bind(const model::Binding& binding) override {
    bindings.push_back(binding);
    if (on_bind) on_bind(binding);
    if (bind_answers.empty()) return {};
    base::Result<void> answer = bind_answers.front();
    bind_answers.pop_front();
    return answer;
  }
  base::Result<std::optional<model::PodFacts>> get_pod(std::string_view name_space,
                                                       std::string_view name) override {
    ++gets;
    if (get_error) return std::unexpected(*get_error);
    const std::string full = std::string(name_space) + "/" + std::string(name);
    if (get_errors.contains(full)) return std::unexpected(get_errors.at(full));
    const auto found = pods.find(full);
    if (found == pods.end()) return std::optional<model::PodFacts>();
    return found->second;
  }
  base::Result<void> wake_pending_pods(base::Generation room) override {
    touches.push_back(room);
    if (touch_error) return std::unexpected(*touch_error);
    return {};
  }
  base::Result<void> set_mirrored_capacity(
      std::string_view node, const std::optional<model::MirroredAmounts>& capacity) override {
    patches.emplace_back(node, capacity);
    if (on_patch) on_patch(patches.back());
    if (patch_errors.contains(std::string(node)))
      return std::unexpected(patch_errors.at(std::string(node)));
    return {};
  }
  base::Result<void> write_mirror_parameters(
      const std::optional<admission::CardRange>& cards) override {
    parameters.push_back(cards);
    if (parameters_error) return std::unexpected(*parameters_error);
    return {};
  }
  bool notify(const model::Notice& notice) override {
    if (notices.size() >= most_notices) return false;
    notices.push_back(notice);
    return true;
  }

  using Patch = std::pair<std::string, std::optional<model::MirroredAmounts>>;
  std::vector<Patch> patches;  // by set_mirrored_capacity(), in order
  std::function<void(const Patch&)> on_patch;
  std::map<std::string, base::Error> patch_errors;              // by node
  std::vector<std::optional<admission::CardRange>> parameters;  // by write_mirror_parameters()
  std::optional<base::Error> parameters_error;
  std::vector<model::Binding> bindings;
  std::deque<base::Result<void>> bind_answers;
  std::function<void(const model::Binding&)> on_bind;
  std::map<std::string, model::PodFacts> pods;  // by namespace/name
  std::optional<base::Error> get_error;
  std::map<std::string, base::Error> get_errors;  // by namespace/name
  std::optional<base::Error> touch_error;
  int gets = 0;
  std::vector<base::Generation> touches;
  std::vector<model::Notice> notices;
  std::size_t most_notices = std::numeric_limits<std::size_t>::max();  // then notify() refuses
};

class SetWallClock final : public base::WallClock {
 public:
  [[nodiscard]] std::chrono::sys_seconds now() const override { return time; }
  std::chrono::sys_seconds time{std::chrono::seconds{1'800'000'000}};
};

class CountingMetrics final : public NoMetrics {
 public:
  void bind_ended(service::BindOutcome outcome) override { ++ends[outcome]; }
  void reservation_problem(service::ReservationProblem kind) override {
    ++problems[std::string(service::kReservationProblemNames[kind])];
  }

  std::map<service::BindOutcome, int> ends;
  std::map<std::string, int> problems;
};

inline model::PodFacts make_pod(const std::string& name, const model::StringMap& annotations) {
  model::PodFacts pod;
  pod.name_space = "default";
  pod.name = name;
  pod.uid = "uid-" + name;
  pod.scheduler_name = "snug";
  pod.containers.push_back({.name = "main"});
  pod.annotations = annotations;
  return pod;
}

/// A node with an inventory annotation: `gpus` GPUs of `mib` MiB each.
inline model::NodeFacts make_node(const std::string& name, int gpus, int mib) {
  nlohmann::json inventory{{"version", 1}, {"gpus", nlohmann::json::array()}};
  for (int i = 0; i < gpus; ++i) {
    inventory["gpus"].push_back({{"index", i},
                                 {"uuid", "GPU-" + name + "-" + std::to_string(i)},
                                 {"model", "NVIDIA-A100-SXM4-40GB"},
                                 {"memoryMiB", mib},
                                 {"healthy", true}});
  }
  model::NodeFacts node;
  node.name = name;
  node.annotations["snug.dev/inventory"] = inventory.dump();
  return node;
}

/// A process that has just started, but for its service.
struct ProcessParts {
  base::Limits limits;
  base::ManualClock clock;
  ledger::Ledger ledger{clock, limits};
  service::PendingPods pending{limits};
  service::Readiness readiness{clock, limits};
  service::WriteFence fence{clock, std::chrono::milliseconds(2500)};
  service::PlacementLog placements;
  ScriptedApi api;
  CountingMetrics metrics;
  NoLog log;
  ledger::DemandTracker demand{ledger};
  service::Reconciler reconciler{{ledger, pending, demand, readiness, api, metrics, log, clock},
                                 limits};
};

class ServiceTest : public ::testing::Test, protected ProcessParts {
 protected:
  [[nodiscard]] service::ServiceOptions service_options(
      service::AnswerMode answer = service::AnswerMode::kAuto) const {
    service::ServiceOptions options;
    options.answer = answer;
    options.limits = limits;
    options.kubernetes_minor = kubernetes_minor;
    options.scheduler_names = scheduler_names;
    return options;
  }

  void start(service::AnswerMode answer = service::AnswerMode::kAuto) {
    const service::ServiceOptions options = service_options(answer);
    base::Result<score::Policy> policy = codec::read_policy(policy_yaml, "policy", limits);
    ASSERT_TRUE(policy) << policy.error().message;
    policy_store.emplace(std::make_shared<const score::Policy>(*std::move(policy)));
    monitor.emplace(
        service::UsageParts{ledger, pending, readiness, *policy_store, clock, wall_clock}, options);
    service = std::make_unique<service::ExtenderService>(
        service::ServiceParts{ledger, pending, readiness, fence, *policy_store, placements, api,
                              metrics, log, clock, first_sight},
        options);
  }
  void list(std::vector<model::NodeFacts> nodes, std::vector<model::PodFacts> pods = {}) {
    reconciler.nodes_listed(std::move(nodes));
    reconciler.pod_list_started();
    reconciler.pods_listed(std::move(pods));
  }
  /// The pod arrives: the watch shows it unbound.
  model::PodFacts arrive(const std::string& name, const model::StringMap& annotations) {
    model::PodFacts pod = make_pod(name, annotations);
    reconciler.pod_changed(pod);
    api.pods["default/" + name] = pod;
    return pod;
  }

  static nlohmann::json pod_json(const model::PodFacts& pod) {
    nlohmann::json annotations = nlohmann::json::object();
    for (const auto& [key, value] : pod.annotations) annotations[key] = value;
    return {{"metadata",
             {{"name", pod.name},
              {"namespace", pod.name_space},
              {"uid", pod.uid},
              {"annotations", annotations}}},
            {"spec", {{"containers", {{{"name", "main"}}}}}}};
  }
  nlohmann::json filter(const model::PodFacts& pod, const std::vector<std::string>& names,
                        int status = 200) {
    std::string body =
        nlohmann::json{{"Pod", pod_json(pod)}, {"Nodes", nullptr}, {"NodeNames", names}}.dump();
    const service::Reply reply = service->filter(body);
    EXPECT_EQ(reply.status, status) << reply.body;
    return nlohmann::json::parse(reply.body);
  }
  nlohmann::json prioritize(const model::PodFacts& pod, const std::vector<std::string>& names) {
    std::string body =
        nlohmann::json{{"Pod", pod_json(pod)}, {"Nodes", nullptr}, {"NodeNames", names}}.dump();
    const service::Reply reply = service->prioritize(body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return nlohmann::json::parse(reply.body);
  }
  /// The reply's Error; empty: success.
  std::string bind(const model::PodFacts& pod, const std::string& node) {
    std::string body = nlohmann::json{
        {"PodName", pod.name},
        {"PodNamespace", pod.name_space},
        {"PodUID", pod.uid},
        {"Node", node}}.dump();
    const service::Reply reply = service->bind(body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return nlohmann::json::parse(reply.body).at("Error").get<std::string>();
  }
  /// What the API server shows of a pod after a binding.
  static model::PodFacts bound(model::PodFacts pod, const model::Binding& binding) {
    pod.node_name = binding.node;
    for (const auto& [key, value] : binding.annotations) pod.annotations[key] = value;
    return pod;
  }
  /// Milli-GPU in use on one GPU.
  std::int64_t used(const std::string& node, std::size_t gpu) {
    const model::SnapshotPtr snapshot = ledger.snapshot();
    return snapshot->nodes[snapshot->names->find(node)->value]->gpus.at(gpu).used_compute.value;
  }

  int kubernetes_minor = 36;
  std::vector<std::string> scheduler_names;
  std::string policy_yaml{codec::default_policy_yaml()};
  std::optional<service::PolicyStore> policy_store;
  SetWallClock wall_clock;
  std::optional<service::UsageMonitor> monitor;
  service::PodCreator* first_sight = nullptr;
  std::unique_ptr<service::ExtenderService> service;
};

}  // namespace snug::testing
