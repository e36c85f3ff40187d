#include "snug/adapters/obs/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/obs/cluster_gauges.hpp"
#include "adapters/obs/gpu_series.hpp"

namespace snug::obs {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;

/// Returns the value of the label `result`.
const char* result_word(bool ok) { return ok ? "ok" : "error"; }

const Histogram::BucketBoundaries& latency_buckets() {
  static const Histogram::BucketBoundaries seconds{
      0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5};
  return seconds;
}

/// Contains one series for each enumerator. The value of the label `label` is the name of the
/// enumerator.
template <typename Metric, const auto& kNames>
class SeriesByEnum {
 public:
  using Enum = std::remove_cvref_t<decltype(kNames.values().front())>;

  /// Adds the series to `family`. Passes `more`, such as the buckets of a histogram, to each call
  /// of Family::Add() after the labels.
  template <typename... More>
  SeriesByEnum(Family<Metric>& family, const char* label, Labels labels, const More&... more) {
    for (const Enum enumerator : kNames.values()) {
      labels[label] = kNames[enumerator];
      series_[static_cast<std::size_t>(enumerator)] = &family.Add(labels, more...);
    }
  }
  Metric& operator[](Enum enumerator) const {
    return *series_[static_cast<std::size_t>(enumerator)];
  }

 private:
  std::array<Metric*, kNames.size()> series_{};
};

class RegistryMetrics final : public PrometheusMetrics {
 public:
  explicit RegistryMetrics(MetricsOptions options) : options_(std::move(options)) {
    policy_up_to_date_.Set(1);  // the program starts only with a valid policy
  }

  void verb_done(service::Verb verb, bool ok, std::int64_t microseconds) override {
    (ok ? verbs_ok_ : verbs_failed_)[verb].Increment();
    verb_durations_[verb].Observe(static_cast<double>(microseconds) / 1e6);
  }
  void bind_ended(service::BindOutcome outcome) override { binds_[outcome].Increment(); }
  void api_request(service::ApiCall call, bool ok, std::int64_t microseconds) override {
    (ok ? api_calls_ok_ : api_calls_failed_)[call].Increment();
    api_durations_[call].Observe(static_cast<double>(microseconds) / 1e6);
  }
  void pod_refused(model::ReasonCode reason) override {
    if (Counter* counter = refusals_.at(static_cast<std::size_t>(reason))) counter->Increment();
  }
  void watch_restarted(service::WatchedResource resource, service::WatchEnd why) override {
    watch_ends_[static_cast<std::size_t>(resource)][why].Increment();
  }
  void pods_woken() override { pod_wake_ups_.Increment(); }
  void event_dropped() override { dropped_events_.Increment(); }
  void reservation_problem(service::ReservationProblem kind) override {
    reservation_problems_[kind].Increment();
  }
  void policy_reloaded(bool ok) override {
    (ok ? policies_loaded_ : policies_refused_).Increment();
    policy_up_to_date_.Set(ok ? 1 : 0);
  }
  void review_answered(service::ReviewOutcome outcome) override { reviews_[outcome].Increment(); }
  void webhook_checked(bool healthy, std::optional<std::chrono::sys_seconds> valid_until) override {
    set_series(webhook_healthy_, {}, healthy ? 1 : 0);
    set_series(certificate_end_, {}, valid_until ? valid_until->time_since_epoch().count() : 0);
  }

  [[nodiscard]] std::string exposition(const ClusterGauges& gauges) const override {
    std::vector<usage::GpuUsage> gpus;
    if (options_.gpu_series && gauges.snapshot != nullptr)
      gpus = usage::gpu_usage(*gauges.snapshot, options_.max_gpus);
    std::vector<prometheus::MetricFamily> families = registry_.Collect();
    for (prometheus::MetricFamily& family : cluster_families(gauges, options_, std::ssize(gpus))) {
      if (!family.metric.empty()) families.push_back(std::move(family));
    }
    const prometheus::Serializer& serializer = prometheus::TextSerializer{};
    std::string text = serializer.Serialize(families);
    append_gpu_series(text, gpus);
    return text;
  }

 private:
  Family<Counter>& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
  }
  Family<Gauge>& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
  }
  Family<Histogram>& histogram(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_);
  }

  /// For each WatchedResource: one series for each reason why a watch can end.
  using WatchEnds = std::array<SeriesByEnum<Counter, service::kWatchEndNames>,
                               service::kWatchedResourceNames.size()>;
  template <std::size_t... kResource>
  WatchEnds watch_ends(std::index_sequence<kResource...>) {
    constexpr auto name = [](std::size_t resource) {
      return std::string(
          service::kWatchedResourceNames[static_cast<service::WatchedResource>(resource)]);
    };
    return {SeriesByEnum<Counter, service::kWatchEndNames>(watches_, "why",
                                                           {{"resource", name(kResource)}})...};
  }

  std::vector<Counter*> refusals() {
    Family<Counter>& family =
        counter("snug_refusals_total", "Filter calls that named no node, by the reason");
    std::vector<Counter*> series;
    for (const model::ReasonRow& reason : model::all_reasons()) {
      series.push_back(reason.code.empty() ? nullptr
                                           : &family.Add({{"reason", std::string(reason.code)}}));
    }
    return series;
  }

  template <typename Number>
  static void set_series(Family<Gauge>& family, const Labels& labels, Number value) {
    family.Add(labels).Set(static_cast<double>(value));
  }
  const MetricsOptions options_;
  prometheus::Registry registry_;

  Family<Counter>& verbs_ = counter("snug_verb_total", "Calls of kube-scheduler");
  SeriesByEnum<Counter, service::kVerbNames> verbs_ok_{
      verbs_, "verb", {{"result", result_word(true)}}};
  SeriesByEnum<Counter, service::kVerbNames> verbs_failed_{
      verbs_, "verb", {{"result", result_word(false)}}};
  SeriesByEnum<Histogram, service::kVerbNames> verb_durations_{
      histogram("snug_verb_duration_seconds", "Time from a call's body to its reply"),
      "verb",
      {},
      latency_buckets()};
  SeriesByEnum<Counter, service::kBindOutcomeNames> binds_{
      counter("snug_bind_total", "Binds, by outcome"), "end", {}};
  Family<Counter>& api_calls_ = counter("snug_api_requests_total", "Requests to the API server");
  SeriesByEnum<Counter, service::kApiCallNames> api_calls_ok_{
      api_calls_, "what", {{"result", result_word(true)}}};
  SeriesByEnum<Counter, service::kApiCallNames> api_calls_failed_{
      api_calls_, "what", {{"result", result_word(false)}}};
  SeriesByEnum<Histogram, service::kApiCallNames> api_durations_{
      histogram("snug_api_request_duration_seconds",
                "Time from a request to the API server to its reply; of lists and watches, to the "
                "beginning of the reply"),
      "what",
      {},
      latency_buckets()};
  /// By ReasonCode; null for kNone.
  std::vector<Counter*> refusals_ = refusals();
  Family<Counter>& watches_ = counter("snug_watch_restarts_total", "Watches that ended");
  WatchEnds watch_ends_ =
      watch_ends(std::make_index_sequence<service::kWatchedResourceNames.size()>());
  Counter& pod_wake_ups_ =
      counter("snug_room_touches_total", "Wake-ups of waiting pods after capacity was freed")
          .Add({});
  Counter& dropped_events_ =
      counter("snug_events_dropped_total", "Kubernetes events dropped because the queue was full")
          .Add({});
  SeriesByEnum<Counter, service::kReservationProblemNames> reservation_problems_{
      counter("snug_reservation_problems_total",
              "Problems found in reservations, inventories and API objects"),
      "kind",
      {}};
  Family<Counter>& reloads_ =
      counter("snug_policy_reloads_total", "Reloads of the policy file, by result");
  Counter& policies_loaded_ = reloads_.Add({{"result", "loaded"}});
  Counter& policies_refused_ = reloads_.Add({{"result", "refused"}});
  Gauge& policy_up_to_date_ =
      gauge("snug_policy_up_to_date",
            "0: the policy file is invalid or missing, and the last valid policy stays in force")
          .Add({});
  SeriesByEnum<Counter, service::kReviewOutcomeNames> reviews_{
      counter("snug_webhook_reviews_total", "Answers of the admission webhook"), "end", {}};
  // The next two have a series only while there is a webhook.
  Family<Gauge>& webhook_healthy_ =
      gauge("snug_webhook_healthy",
            "1: the webhook's Secret can be read, and its CAs are in each webhook configuration");
  Family<Gauge>& certificate_end_ = gauge("snug_webhook_certificate_expiry_timestamp_seconds",
                                          "When the webhook's certificate ends; 0: there is none");
};

}  // namespace

std::unique_ptr<PrometheusMetrics> make_prometheus_metrics(MetricsOptions options) {
  return std::make_unique<RegistryMetrics>(std::move(options));
}

}  // namespace snug::obs
