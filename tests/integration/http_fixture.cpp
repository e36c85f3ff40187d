#include "integration/http_fixture.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "app/routes.hpp"
#include "app/service_core.hpp"
#include "snug/adapters/http/admin_server.hpp"
#include "snug/adapters/memory/memory_api.hpp"
#include "snug/adapters/obs/log.hpp"
#include "snug/adapters/obs/metrics.hpp"
#include "snug/codec/manifests.hpp"
#include "snug/codec/policy_codec.hpp"

namespace snug::testing {
namespace {

using nlohmann::json;

json node(const std::string& name, int gpus) {
  json inventory{{"version", 1}, {"gpus", json::array()}};
  for (int i = 0; i < gpus; ++i) {
    inventory["gpus"].push_back({{"index", i},
                                 {"uuid", "GPU-" + name + "-" + std::to_string(i)},
                                 {"model", "NVIDIA-A100-SXM4-40GB"},
                                 {"memoryMiB", 40'960}});
  }
  return {
      {"kind", "Node"},
      {"metadata", {{"name", name}, {"annotations", {{"snug.dev/inventory", inventory.dump()}}}}}};
}

json pod(const std::string& name, const std::string& uid, const std::string& fraction = "") {
  json result{{"kind", "Pod"}, {"metadata", {{"name", name}, {"namespace", "d"}, {"uid", uid}}}};
  if (fraction.empty()) return result;
  result["metadata"]["annotations"] = {{"gpu-fraction", fraction}};
  result["spec"] = {{"containers", {{{"name", "main"}}}}};
  return result;
}

const std::vector<std::string> kPods{"p", "waiting", "held"};

codec::Manifests cluster(const base::Limits& limits) {
  const json list{{"kind", "List"},
                  {"items",
                   {node("n1", 2), node("n2", 1), pod("p", "u"), pod("waiting", "u-waiting", "0.5"),
                    pod("held", "u-held", "0.5")}}};
  return codec::read_manifests(list.dump(), "the test's cluster", limits).value();
}

score::PolicyPtr default_policy(const base::Limits& limits) {
  return std::make_shared<const score::Policy>(
      codec::read_policy(codec::default_policy_yaml(), "the default policy", limits).value());
}

/// Stands between API server and reconciler, and counts what it passes on.
class CountingSink final : public service::ClusterSink {
 public:
  explicit CountingSink(service::ClusterSink& next) : next_(next) {}

  void pod_list_started() override { next_.pod_list_started(); }
  void pods_listed(std::vector<model::PodFacts> pods) override {
    next_.pods_listed(std::move(pods));
  }
  void pod_changed(model::PodFacts pod) override {
    ++changes;
    next_.pod_changed(std::move(pod));
  }
  void pod_gone(const model::PodFacts& pod) override {
    ++changes;
    next_.pod_gone(pod);
  }
  void node_list_started() override { next_.node_list_started(); }
  void nodes_listed(std::vector<model::NodeFacts> nodes) override {
    next_.nodes_listed(std::move(nodes));
  }
  void node_changed(model::NodeFacts node) override {
    ++changes;
    next_.node_changed(std::move(node));
  }
  void node_gone(std::string_view name) override {
    ++changes;
    next_.node_gone(name);
  }

  std::atomic<int> changes{0};

 private:
  service::ClusterSink& next_;
};

}  // namespace

struct ServedSnug::Parts {
  Parts(const base::Limits& limits, const service::ServiceOptions& service)
      : api(cluster(limits), limits),
        policy(default_policy(limits)),
        core({policy, api, *metrics, log, clock, wall_clock, &api}, service),
        sink(core.reconciler) {}

  base::SteadyClock clock;
  base::SystemClock wall_clock;
  obs::SpdlogLog log{{.level = service::LogLevel::kError}};
  const std::unique_ptr<obs::PrometheusMetrics> metrics = obs::make_prometheus_metrics();
  memory::MemoryApi api;
  service::PolicyStore policy;
  app::ServiceCore core;
  CountingSink sink;
  std::unique_ptr<http::ExtenderServer> extender;
  std::unique_ptr<http::AdminServer> admin;
};

ServedSnug::ServedSnug(const base::Limits& limits, http::HttpOptions options) {
  service::ServiceOptions service;
  service.limits = limits;
  parts_ = std::make_unique<Parts>(limits, service);
  parts_->api.start(parts_->sink);
  std::string bind = R"({"PodName":"held","PodNamespace":"d","PodUID":"u-held","Node":"n1"})";
  EXPECT_EQ(parts_->core.service.bind(bind).body, R"({"Error":""})");
  const http::HttpOptions admin_options{.clock = options.clock};
  parts_->extender = std::make_unique<http::ExtenderServer>(
      watched(app::extender_handlers(parts_->core.service)), std::move(options), limits);
  parts_->admin = std::make_unique<http::AdminServer>(
      app::admin_routes(parts_->core, *parts_->metrics, &parts_->api), nullptr, admin_options,
      limits);
  const base::Result<void> started = parts_->extender->start();
  EXPECT_TRUE(started) << started.error().message;
  EXPECT_TRUE(parts_->admin->start());
}

ServedSnug::~ServedSnug() {
  parts_->extender->stop();
  parts_->admin->stop();
  parts_->api.stop();
}

int ServedSnug::port() const { return parts_->extender->port(); }
int ServedSnug::admin_port() const { return parts_->admin->port(); }
http::ExtenderServer& ServedSnug::server() { return *parts_->extender; }

http::ExtenderHandlers ServedSnug::watched(http::ExtenderHandlers handlers) {
  const auto watch = [this](std::function<service::Reply(std::string&)> real) {
    return [this, real = std::move(real)](std::string& body) {
      meanwhile();
      service::Reply reply = real(body);
      if (reply.status == 200) ++understood;
      return reply;
    };
  };
  return {.filter = watch(std::move(handlers.filter)),
          .prioritize = watch(std::move(handlers.prioritize)),
          .preempt = watch(std::move(handlers.preempt)),
          .bind = watch(std::move(handlers.bind))};
}

HttpAnswer ServedSnug::ask(int port, const std::string& request) {
  HttpClient client{port};
  client.send(request);
  return client.receive().value_or(HttpAnswer{});
}

std::string ServedSnug::state() const {
  std::string text = std::to_string(parts_->sink.changes) + " changes\n";
  for (const char* target : {"/v1/nodes", "/v1/pods"}) {
    const HttpAnswer answer =
        ask(admin_port(), "GET " + std::string{target} + " HTTP/1.1\r\nHost: t\r\n\r\n");
    EXPECT_EQ(answer.status, 200) << target;
    text += answer.body + "\n";
  }
  for (const std::string& name : kPods) {
    const auto found = parts_->api.get_pod("d", name).value();
    text += name;
    if (found) {
      text += ' ' + found->uid + ' ' + found->node_name + ' ' + found->resource_version;
      for (const auto& [key, value] : found->annotations) text += ' ' + key + '=' + value;
    }
    text += '\n';
  }
  return text;
}

}  // namespace snug::testing
