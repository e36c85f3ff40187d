// The use cases behind kube-scheduler's calls: filter, prioritize and preempt read a snapshot,
// reserve nothing and do no I/O (in the embedded mode filter creates the pod, see PodCreator); bind
// reserves, writes the binding, and then confirms or releases the reservation. Each is one file
// (src/service/filter.cpp, prioritize.cpp, preempt.cpp, bind.cpp) that reads top to bottom.
//
// Thread-safe: any number of calls at once. Every body gets a reply of the verb's shape; a
// body that cannot be read changes nothing.
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
#include "snug/service/pod_info.hpp"
#include "snug/service/policy_store.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/readiness.hpp"
#include "snug/service/service_options.hpp"
#include "snug/service/write_fence.hpp"

namespace snug::service {

/// All outlive the service.
struct ServiceParts {
  ledger::Ledger& ledger;
  PendingPods& pending;
  Readiness& readiness;
  WriteFence& fence;
  const PolicyStore& policy;
  ApiPort& api;
  Metrics& metrics;
  Log& log;
  const base::Clock& clock;
  PodCreator* pod_creator = nullptr;  // null: users create pods at an API server
};

class ExtenderService {
 public:
  ExtenderService(ServiceParts parts, ServiceOptions options);
  ~ExtenderService();
  ExtenderService(const ExtenderService&) = delete;
  ExtenderService& operator=(const ExtenderService&) = delete;

  /// `body` is the JSON of the call; padding bytes may be appended to it.
  [[nodiscard]] Reply filter(std::string& body);
  [[nodiscard]] Reply prioritize(std::string& body);
  [[nodiscard]] Reply preempt(std::string& body);
  [[nodiscard]] Reply bind(std::string& body);

 private:
  class Readers;
  class Memos;
  using Names = std::span<const std::string_view>;
  /// A bind call, and the term of the fence in which it was let in.
  struct Bind : codec::BindCall {
    WriteFence::Term term = 0;
  };

  /// Whether the pod's scheduler is one of schedulerNames.
  [[nodiscard]] bool serves(const model::PodFacts& pod) const;
  [[nodiscard]] AnswerMode mode_for(const model::PodFacts& pod) const;
  [[nodiscard]] plan::Plan decide(Names candidates, const PodClaim& claim,
                                  const model::Snapshot& snapshot) const;
  void note_winner(Names candidates, const PodClaim& claim, const plan::Plan& plan,
                   const model::Snapshot& snapshot);
  [[nodiscard]] Reply filter_claim(const codec::ScheduleCall& call, const PodClaim& claim,
                                   const model::Snapshot& snapshot);
  [[nodiscard]] Reply refuse_everywhere(const codec::ScheduleCall& call, std::string_view uid,
                                        const model::Refusal& refusal,
                                        const RetryCondition& awaits);
  [[nodiscard]] Reply refuse_each(const codec::ScheduleCall& call, const PodClaim& claim,
                                  const plan::Plan& plan, const model::Snapshot& snapshot);
  void note_refused(std::string_view uid, const std::string& text, const RetryCondition& awaits);
  [[nodiscard]] Reply run_filter(std::string& body);
  [[nodiscard]] Reply run_prioritize(std::string& body);
  [[nodiscard]] Reply run_preempt(std::string& body);
  [[nodiscard]] Reply run_bind(std::string& body, WriteFence::Term term);
  [[nodiscard]] Reply bind_pod(const Bind& call, const PodInfoPtr& pod);
  [[nodiscard]] Reply bind_claim(const Bind& call, const PodClaim& claim);
  [[nodiscard]] Reply bind_without_gpu(const Bind& call, const model::PodFacts& pod);
  [[nodiscard]] Reply write_binding(const Bind& call, const model::PodFacts& pod,
                                    const model::Holding& holding);
  /// The POST of the binding, unless the fence is closed.
  [[nodiscard]] base::Result<void> send_binding(const Bind& call, model::StringMap annotations);
  /// Whether the bind has a reservation in the ledger, which it must release.
  enum class Reserved : std::uint8_t { kNothing, kGpus };
  [[nodiscard]] Reply after_refusal(const Bind& call, Reserved took, const base::Error& error);
  [[nodiscard]] Reply bind_error(const codec::BindCall& call, BindOutcome outcome,
                                 std::string_view sentence);

  ServiceParts parts_;
  ServiceOptions options_;
  std::unique_ptr<Readers> readers_;
  std::unique_ptr<Memos> memos_;
};

}  // namespace snug::service
