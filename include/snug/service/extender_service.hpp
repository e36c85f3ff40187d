// The use cases behind kube-scheduler's calls. filter, prioritize and preempt read a snapshot,
// reserve nothing and do no I/O. (In the embedded mode, filter also creates the pod: see
// PodCreator.) bind reserves devices, writes the binding, and then confirms, releases or keeps the
// reservation. Each call has its own file: src/service/filter.cpp, prioritize.cpp, preempt.cpp and
// bind.cpp.
//
// Thread-safe: any number of calls may run at once. Every call gets a reply in the format of its
// verb. A call whose body cannot be read changes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "snug/base/clock.hpp"
#include "snug/codec/extender_codec.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/plan/plan.hpp"
#include "snug/service/pending_pods.hpp"
#include "snug/service/placement_log.hpp"
#include "snug/service/pod_events.hpp"
#include "snug/service/pod_info.hpp"
#include "snug/service/policy_store.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/readiness.hpp"
#include "snug/service/service_options.hpp"
#include "snug/service/write_fence.hpp"

namespace snug::service {

class AttemptCounter;
class DecisionLine;
class NamedVictims;

/// The objects that ExtenderService uses. They must outlive it.
struct ServiceParts {
  ledger::Ledger& ledger;
  PendingPods& pending;
  Readiness& readiness;
  WriteFence& fence;
  const PolicyStore& policy;
  PlacementLog& placements;
  ApiPort& api;
  Metrics& metrics;
  Log& log;
  const base::Clock& clock;
  PodCreator* pod_creator = nullptr;  // null unless in embedded mode
  PodEvents* events = nullptr;        // null: no events about single pods
};

class ExtenderService {
 public:
  ExtenderService(ServiceParts parts, ServiceOptions options);
  ~ExtenderService();
  ExtenderService(const ExtenderService&) = delete;
  ExtenderService& operator=(const ExtenderService&) = delete;

  /// `body` is the JSON of the call. The function may append padding bytes to it.
  [[nodiscard]] Reply filter(std::string& body);
  [[nodiscard]] Reply prioritize(std::string& body);
  [[nodiscard]] Reply preempt(std::string& body);
  [[nodiscard]] Reply bind(std::string& body);

 private:
  class Readers;
  class Memos;
  using Names = std::span<const std::string_view>;
  /// A bind call, WriteFence::term() at its arrival, and its line in the log.
  struct Bind : codec::BindCall {
    WriteFence::Term term = 0;
    DecisionLine& line;
  };

  [[nodiscard]] AnswerMode mode_for(const model::PodFacts& pod) const;
  [[nodiscard]] plan::Plan decide(Names candidates, const PodClaim& claim,
                                  const model::Snapshot& snapshot) const;
  void note_winner(Names candidates, const PodClaim& claim, const plan::Plan& plan,
                   const model::Snapshot& snapshot);
  /// Keeps why the pod that was just bound is on its node, for explanations.
  void note_placement(const Bind& call, const PodClaim& claim);
  [[nodiscard]] Reply filter_claim(const codec::ScheduleCall& call, const PodClaim& claim,
                                   const model::SnapshotPtr& snapshot, DecisionLine& line);
  [[nodiscard]] Reply refuse_everywhere(const codec::ScheduleCall& call, std::string_view uid,
                                        const model::Refusal& refusal,
                                        const RetryCondition& retry_condition, DecisionLine& line);
  [[nodiscard]] Reply refuse_each(const codec::ScheduleCall& call, const PodClaim& claim,
                                  const plan::Plan& plan, const model::Snapshot& snapshot,
                                  DecisionLine& line);
  void note_refused(std::string_view uid, const model::Refusal& refusal,
                    const RetryCondition& retry_condition, DecisionLine& line);
  [[nodiscard]] Reply run_filter(std::string& body, DecisionLine& line);
  [[nodiscard]] Reply run_prioritize(std::string& body, DecisionLine& line);
  [[nodiscard]] Reply run_preempt(std::string& body, DecisionLine& line);
  [[nodiscard]] Reply run_bind(std::string& body, WriteFence::Term term, DecisionLine& line);
  [[nodiscard]] Reply bind_pod(const Bind& call, const PodInfoPtr& pod_info);
  [[nodiscard]] Reply bind_claim(const Bind& call, const PodClaim& claim);
  [[nodiscard]] Reply bind_without_gpu(const Bind& call, const model::PodFacts& pod);
  [[nodiscard]] Reply write_binding(const Bind& call, const PodClaim& claim,
                                    const model::HoldingPtr& holding);
  /// Sends the binding to the API server. Fails with kUnavailable if the write fence is closed, or
  /// was reopened after the call arrived.
  [[nodiscard]] base::Result<void> send_binding(const Bind& call, model::StringMap annotations);
  /// Whether this bind has reserved GPUs in the ledger. If it has, after_refusal() must release
  /// them or mark them as unsettled.
  enum class Reserved : std::uint8_t { kNothing, kGpus };
  [[nodiscard]] Reply after_refusal(const Bind& call, Reserved reserved,
                                    const base::Error& conflict);
  [[nodiscard]] Reply bind_error(const Bind& call, BindOutcome outcome, std::string_view sentence);
  [[nodiscard]] Reply bind_success(const Bind& call, BindOutcome outcome);

  ServiceParts parts_;
  ServiceOptions options_;
  std::unique_ptr<Readers> readers_;
  std::unique_ptr<Memos> memos_;
  std::unique_ptr<NamedVictims> named_victims_;
  std::unique_ptr<AttemptCounter> attempts_;
};

}  // namespace snug::service
