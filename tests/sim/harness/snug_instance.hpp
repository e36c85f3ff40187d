// One Snug process: ledger, reconciler and service, connected as in the program, with given ports.
// observe() copies its state into plain values for the checks.
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
  /// `policy` is the text of a valid policy file.
  SnugInstance(const base::Clock& clock, service::ApiPort& api, service::ServiceOptions options,
               const std::string& policy = std::string(codec::default_policy_yaml()));

  /// Replaces the policy, as if the policy file had changed.
  void change_policy(const std::string& yaml);

  [[nodiscard]] Observed observe();

  service::Reconciler& reconciler() { return reconciler_; }
  service::ExtenderService& service() { return service_; }
  ledger::Ledger& ledger() { return ledger_; }
  service::Readiness& readiness() { return readiness_; }
  service::WriteFence& fence() { return fence_; }
  service::Log& log() { return log_; }
  /// Whether it is ready to answer calls and its fence lets it write.
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
  service::PlacementLog placements_;
  base::Limits limits_;
  service::PolicyStore policy_;
  service::Reconciler reconciler_;
  service::ExtenderService service_;
};

}  // namespace snug
