// One life of Snug's process: ledger, reconciler and service wired as the program does, on given
// ports. What the checks may see of it is copied out as plain values (Observed).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/harness/observed.hpp"
#include "snug/codec/policy_codec.hpp"
#include "snug/service/extender_service.hpp"
#include "snug/service/reconciler.hpp"

namespace snug {

class NoMetrics final : public Metrics {
 public:
  void verb_done(Verb, bool, std::int64_t) override {}
  void bind_ended(BindEnd) override {}
  void api_request(std::string_view, bool) override {}
  void watch_restarted(std::string_view, WatchEnd) override {}
  void room_touched() override {}
  void event_dropped() override {}
  void reservation_problem(ReservationProblem) override {}
  void policy_reloaded(bool) override {}
};

class NoLog final : public Log {
 public:
  void write(LogLevel, std::string_view) override {}
};

class SnugInstance {
 public:
  /// `policy`: the text of a policy file without mistakes.
  SnugInstance(const Clock& clock, ApiPort& api, ServiceOptions options,
               const std::string& policy = std::string(default_policy_yaml()));

  /// The operator's file says something else now.
  void change_policy(const std::string& yaml);

  [[nodiscard]] Observed observe();

  Reconciler& reconciler() { return reconciler_; }
  ExtenderService& service() { return service_; }
  Ledger& ledger() { return ledger_; }
  Readiness& readiness() { return readiness_; }
  WriteFence& fence() { return fence_; }
  Log& log() { return log_; }
  /// It answers verbs, and may write.
  [[nodiscard]] bool decides() {
    if (!readiness_.ready()) return false;
    auto pass = fence_.let_out(fence_.term());
    if (pass) pass->answered();
    return pass.has_value();
  }

 private:
  NoMetrics metrics_;
  NoLog log_;
  Ledger ledger_;
  PendingPods pending_;
  DemandKeeper demand_;
  Readiness readiness_;
  WriteFence fence_;
  Limits limits_;
  PolicyStore policy_;
  Reconciler reconciler_;
  ExtenderService service_;
};

}  // namespace snug
