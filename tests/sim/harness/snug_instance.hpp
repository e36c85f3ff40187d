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
#include "support/fake_ports.hpp"

namespace snug {

class SnugInstance {
 public:
  /// `policy`: the text of a policy file without mistakes.
  SnugInstance(const base::Clock& clock, service::ApiPort& api, service::ServiceOptions options,
               const std::string& policy = std::string(codec::default_policy_yaml()));

  /// The operator's file says something else now.
  void change_policy(const std::string& yaml);

  [[nodiscard]] Observed observe();

  service::Reconciler& reconciler() { return reconciler_; }
  service::ExtenderService& service() { return service_; }
  ledger::Ledger& ledger() { return ledger_; }
  service::Readiness& readiness() { return readiness_; }
  service::WriteFence& fence() { return fence_; }
  service::Log& log() { return log_; }
  /// It answers verbs, and may write.
  [[nodiscard]] bool decides() {
    if (!readiness_.is_ready()) return false;
    auto pass = fence_.acquire(fence_.term());
    if (pass) pass->answered();
    return pass.has_value();
  }

 private:
  NoMetrics metrics_;
  NoLog log_;
  ledger::Ledger ledger_;
  service::PendingPods pending_;
  ledger::DemandTracker demand_;
  service::Readiness readiness_;
  service::WriteFence fence_;
  base::Limits limits_;
  service::PolicyStore policy_;
  service::Reconciler reconciler_;
  service::ExtenderService service_;
};

}  // namespace snug
