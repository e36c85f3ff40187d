#include "snug/adapters/obs/agent_metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <map>
#include <utility>

namespace snug::obs {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;

const Histogram::BucketBoundaries& creation_buckets() {
  static const Histogram::BucketBoundaries seconds{0.0001, 0.00025, 0.0005, 0.001, 0.0025,
                                                   0.005,  0.01,    0.025,  0.1,   1};
  return seconds;
}

class AgentRegistry final : public PrometheusAgentMetrics {
 public:
  explicit AgentRegistry(const std::string& version) {
    gauge("snug_agent_build_info", "Always 1; the label has the version of snug-agent")
        .Add({{"version", version}})
        .Set(1);
    for (const auto answer : agent_service::kCreationAnswerNames.values()) {
      answers_[static_cast<std::size_t>(answer)] =
          &creations_.Add({{"answer", std::string(agent_service::kCreationAnswerNames[answer])}});
    }
    for (const auto change : agent_service::kSliceChangeNames.values()) {
      for (const bool ok : {true, false}) {
        slice_changes_[{change, ok}] = &slice_change_family_.Add(
            {{"change", std::string(agent_service::kSliceChangeNames[change])},
             {"result", ok ? "ok" : "error"}});
      }
    }
    for (const auto call : service::kApiCallNames.values()) {
      for (const bool ok : {true, false}) {
        requests_[{call, ok}] = &request_family_.Add(
            {{"result", ok ? "ok" : "error"}, {"what", std::string(service::kApiCallNames[call])}});
      }
    }
    for (const auto why : service::kWatchEndNames.values()) {
      watch_ends_[why] = &watches_.Add({{"why", std::string(service::kWatchEndNames[why])}});
    }
  }

  void creation_answered(agent_service::CreationAnswer answer, std::int64_t microseconds) override {
    answers_[static_cast<std::size_t>(answer)]->Increment();
    creation_times_.Observe(static_cast<double>(microseconds) / 1e6);
  }
  void validation_answered(bool accepted) override {
    (accepted ? accepted_ : rejected_).Increment();
  }
  void audited(const agent_service::AuditCounts& counts) override {
    foreign_.Set(static_cast<double>(counts.foreign_gpu));
    stale_.Set(static_cast<double>(counts.stale_devices));
    outside_.Set(static_cast<double>(counts.outside_guarantee));
  }
  void violator_stopped(bool ok) override { (ok ? stopped_ : not_stopped_).Increment(); }
  void devices_read(bool ok, std::int64_t healthy, std::int64_t unhealthy) override {
    driver_answers_.Set(ok ? 1 : 0);
    if (!ok) return;
    healthy_.Set(static_cast<double>(healthy));
    unhealthy_.Set(static_cast<double>(unhealthy));
  }
  void runtime_connected(bool connected) override { runtime_.Set(connected ? 1 : 0); }
  void fails_closed(bool closed) override { fails_closed_.Set(closed ? 1 : 0); }
  void node_written(bool ok) override { (ok ? nodes_written_ : nodes_failed_).Increment(); }

  void slice_changed(agent_service::SliceChange change, bool ok) override {
    slice_changes_.at({change, ok})->Increment();
  }
  void slices_counted(std::int64_t idle, std::int64_t failed) override {
    idle_slices_.Set(static_cast<double>(idle));
    failed_slices_.Set(static_cast<double>(failed));
  }

  void api_request(service::ApiCall call, bool ok, std::int64_t) override {
    requests_.at({call, ok})->Increment();
  }
  void watch_restarted(service::WatchedResource, service::WatchEnd why) override {
    watch_ends_.at(why)->Increment();
  }
  // What only snug-extender does.
  void verb_done(service::Verb, bool, std::int64_t) override {}
  void bind_ended(service::BindOutcome) override {}
  void pod_refused(model::ReasonCode) override {}
  void pods_woken() override {}
  void event_dropped() override {}
  void reservation_problem(service::ReservationProblem) override {}
  void policy_reloaded(bool) override {}
  void review_answered(service::ReviewOutcome) override {}
  void webhook_checked(bool, std::optional<std::chrono::sys_seconds>) override {}

  [[nodiscard]] std::string exposition() const override {
    const prometheus::Serializer& serializer = prometheus::TextSerializer{};
    return serializer.Serialize(registry_.Collect());
  }

 private:
  Family<Counter>& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
  }
  Family<Gauge>& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
  }

  prometheus::Registry registry_;
  Family<Counter>& creations_ =
      counter("snug_agent_creations_total",
              "Requests of the container runtime to create a container, by the answer");
  std::array<Counter*, agent_service::kCreationAnswerNames.size()> answers_{};
  Histogram& creation_times_ = prometheus::BuildHistogram()
                                   .Name("snug_agent_creation_duration_seconds")
                                   .Help("Time to answer a request to create a container")
                                   .Register(registry_)
                                   .Add({}, creation_buckets());
  Family<Counter>& validations_ =
      counter("snug_agent_validations_total", "Validations of containers, by the answer");
  Counter& accepted_ = validations_.Add({{"answer", "accepted"}});
  Counter& rejected_ = validations_.Add({{"answer", "rejected"}});
  Family<Gauge>& violations_ =
      gauge("snug_agent_audit_violations",
            "Running containers that have a GPU which they should not have, by the finding");
  Gauge& foreign_ = violations_.Add({{"kind", "foreign-gpu"}});
  Gauge& stale_ = violations_.Add({{"kind", "stale-devices"}});
  Family<Counter>& stops_ =
      counter("snug_agent_stopped_violators_total",
              "Containers with a GPU which they should not have that the agent stopped, or could "
              "not stop");
  Counter& stopped_ = stops_.Add({{"result", "ok"}});
  Counter& not_stopped_ = stops_.Add({{"result", "error"}});
  Gauge& outside_ = gauge("snug_agent_audit_unconfined",
                          "Running containers that can reach every device: privileged, or with "
                          "such a host path or capability")
                        .Add({});
  Family<Gauge>& gpus_ = gauge("snug_agent_gpus", "GPUs of the node, by health");
  Gauge& healthy_ = gpus_.Add({{"health", "healthy"}});
  Gauge& unhealthy_ = gpus_.Add({{"health", "unhealthy"}});
  Gauge& driver_answers_ =
      gauge("snug_agent_driver_answers", "1: the last read of all GPUs succeeded").Add({});
  Gauge& runtime_ =
      gauge("snug_agent_runtime_connected", "1: the container runtime calls this agent").Add({});
  Gauge& fails_closed_ = gauge("snug_agent_fails_closed",
                               "1: the runtime refuses GPU containers while the agent is away")
                             .Add({});
  Family<Counter>& node_writes_ =
      counter("snug_agent_node_writes_total",
              "Writes of the inventory, the usage and the label of the node");
  Counter& nodes_written_ = node_writes_.Add({{"result", "ok"}});
  Counter& nodes_failed_ = node_writes_.Add({{"result", "error"}});
  Family<Counter>& slice_change_family_ =
      counter("snug_agent_slice_changes_total",
              "MIG slices that the agent created or destroyed, or tried to");
  std::map<std::pair<agent_service::SliceChange, bool>, Counter*> slice_changes_;
  Family<Gauge>& slices_ = gauge(
      "snug_agent_slices", "MIG slices that are idle, and reserved ones that could not be made");
  Gauge& idle_slices_ = slices_.Add({{"state", "idle"}});
  Gauge& failed_slices_ = slices_.Add({{"state", "failed"}});
  Family<Counter>& request_family_ =
      counter("snug_api_requests_total", "Requests to the API server");
  std::map<std::pair<service::ApiCall, bool>, Counter*> requests_;
  Family<Counter>& watches_ = counter("snug_watch_restarts_total", "Watches that ended");
  std::map<service::WatchEnd, Counter*> watch_ends_;
};

}  // namespace

std::unique_ptr<PrometheusAgentMetrics> make_agent_metrics(const std::string& version) {
  return std::make_unique<AgentRegistry>(version);
}

}  // namespace snug::obs
