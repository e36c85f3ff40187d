// filter: returns the feasible nodes, or only the best one. Reserves nothing and does no I/O.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "service/decision_line.hpp"
#include "service/readers.hpp"
#include "snug/plan/plan.hpp"
#include "snug/service/extender_service.hpp"

namespace snug::service {
namespace {

/// From this minor version on, kube-scheduler also calls preempt for nodes that only an extender
/// refused. It names no victims on them, so Snug chooses the victims. Filter may therefore report
/// nodes without free capacity in FailedNodes.
constexpr int kFirstMinorWithEmptyCandidates = 38;

/// The position of the candidate that the pod is nominated to, if pods of lower priority are
/// terminating there; otherwise nullopt. If filter reported this node as unresolvable,
/// kube-scheduler would clear the nomination (PodEligibleToPreemptOthers), and other pods could
/// take the capacity that the terminating pods free.
std::optional<std::size_t> awaited_node(const codec::ScheduleCall& call, const PodInfo& pod,
                                        const model::Snapshot& snapshot) {
  const std::string& nominated_node = pod.facts.nominated_node_name;
  const auto candidate = std::ranges::find(call.node_names, nominated_node);
  const auto nominated_slot =
      nominated_node.empty() ? std::nullopt : snapshot.names->find(nominated_node);
  if (!nominated_slot || candidate == call.node_names.end()) return std::nullopt;
  const bool is_being_freed = std::ranges::any_of(
      snapshot.nodes[nominated_slot->value]->holdings, [&](const model::HoldingPtr& holding) {
        return holding->terminating && holding->rank.priority < pod.rank.priority;
      });
  if (!is_being_freed) return std::nullopt;
  return static_cast<std::size_t>(candidate - call.node_names.begin());
}

}  // namespace

Reply ExtenderService::run_filter(std::string& body, DecisionLine& line) {
  Readers::Lent reader(*readers_);
  base::Result<codec::ScheduleCall> call = reader->read_schedule(body);
  if (!call) {
    return {status_of(call.error()),
            codec::write_error(codec::ReplyShape::kFilter, call.error().message)};
  }
  if (parts_.pod_creator != nullptr) {
    if (const auto posted_pod = parts_.pod_creator->post_pod(call->pod); !posted_pod) {
      const int status = posted_pod.error().code == base::ErrorCode::kConflict ? 409 : 400;
      return {status, codec::write_error(codec::ReplyShape::kFilter, posted_pod.error().message)};
    }
  }
  const PodInfoPtr pod = parts_.pending.intern(std::move(call->pod));
  const std::string& uid = pod->facts.uid;
  line.about(pod->facts);
  // Snug need not wake this pod: freed capacity cannot make it feasible, and kube-scheduler retries
  // it by itself when somebody edits it.
  if (!pod->request) return refuse_everywhere(*call, uid, pod->request.error(), {}, line);
  if (pod->request->empty()) return {200, codec::write_filter_all(*call)};
  if (!options_.serves(pod->facts.scheduler_name))
    return refuse_everywhere(*call, uid, {model::ReasonCode::kNotServed, {}}, {}, line);
  // The snapshot must be read before the policy: if the policy changes in between, the ledger's
  // freed_generation becomes higher than the snapshot's, which wakes the pod.
  const model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  const auto claim = PodClaim::make(pod, parts_.policy.current());
  if (!claim) {
    return refuse_everywhere(*call, uid, claim.error(), {.freed = snapshot->freed_generation},
                             line);
  }
  return filter_claim(*call, *claim, snapshot, line);
}

Reply ExtenderService::filter_claim(const codec::ScheduleCall& call, const PodClaim& claim,
                                    const model::SnapshotPtr& snapshot, DecisionLine& line) {
  const model::PodFacts& pod = claim.pod().facts;
  const plan::Plan plan = decide(call.node_names, claim, *snapshot);
  if (!plan.winner) return refuse_each(call, claim, plan, *snapshot, line);
  line.decided({}, call.node_names[*plan.winner]);
  parts_.pending.note_accepted(pod.uid);
  parts_.placements.note_decision(
      pod.uid, {.snapshot = snapshot,
                .winner = std::string(call.node_names[*plan.winner]),
                .runner_up = plan.runner_up ? std::string(call.node_names[*plan.runner_up]) : ""});
  codec::FilterResult filter_result;
  const AnswerMode mode = mode_for(pod);
  if (mode == AnswerMode::kWinner) {
    filter_result.feasible.push_back(*plan.winner);
  } else {
    for (std::size_t i = 0; i < plan.verdicts.size(); ++i) {
      if (plan.verdicts[i].reason == model::ReasonCode::kNone) filter_result.feasible.push_back(i);
    }
  }
  if (filter_result.feasible.size() == 1) {
    note_winner(call.node_names, claim, plan, *snapshot);
  } else {
    parts_.ledger.end_intent(pod.uid);
  }
  return {200, codec::write_filter(call, filter_result)};
}

void ExtenderService::note_refused(std::string_view uid, const model::Refusal& refusal,
                                   const RetryCondition& retry_condition, DecisionLine& line) {
  parts_.metrics.pod_refused(refusal.code);
  line.decided(model::reason_row(refusal.code).code);
  parts_.ledger.end_intent(uid);
  parts_.pending.note_refused(uid, refusal, retry_condition);
  // kube-scheduler may call filter for a pod that has already ended. The refusal of such a pod must
  // not be kept. The check comes last, since the pod may end at any time.
  if (parts_.ledger.has_ended(uid)) return parts_.pending.note_accepted(uid);
  if (parts_.events != nullptr) parts_.events->note_refused(uid, refusal.code);
}

Reply ExtenderService::refuse_everywhere(const codec::ScheduleCall& call, std::string_view uid,
                                         const model::Refusal& refusal,
                                         const RetryCondition& retry_condition,
                                         DecisionLine& line) {
  const std::string refusal_text = model::message(refusal);
  codec::FilterResult filter_result;
  for (std::size_t i = 0; i < call.node_names.size(); ++i)
    filter_result.unresolvable.emplace_back(i, refusal_text);
  note_refused(uid, refusal, retry_condition, line);
  return {200, codec::write_filter(call, filter_result)};
}

Reply ExtenderService::refuse_each(const codec::ScheduleCall& call, const PodClaim& claim,
                                   const plan::Plan& plan, const model::Snapshot& snapshot,
                                   DecisionLine& line) {
  codec::FilterResult filter_result;
  std::vector<std::string> reason_texts;
  reason_texts.reserve(model::all_reasons().size());
  for (std::size_t i = 0; i < model::all_reasons().size(); ++i) {
    reason_texts.push_back(model::message(static_cast<model::ReasonCode>(i)));
  }
  const bool may_evict = options_.kubernetes_minor >= kFirstMinorWithEmptyCandidates;
  const std::optional<std::size_t> awaited_candidate = awaited_node(call, claim.pod(), snapshot);
  bool promised = false;
  for (std::size_t i = 0; i < plan.verdicts.size(); ++i) {
    const model::ReasonCode reason = plan.verdicts[i].reason;
    const bool evictable = model::reason_row(reason).resolvable;
    const bool resolvable = i == awaited_candidate
                                ? evictable || reason == model::ReasonCode::kPromised
                                : evictable && may_evict;
    auto& refused_nodes = resolvable ? filter_result.failed : filter_result.unresolvable;
    refused_nodes.emplace_back(i, reason_texts[static_cast<std::size_t>(reason)]);
    promised = promised || reason == model::ReasonCode::kPromised;
  }
  RetryCondition retry_condition{.freed = snapshot.freed_generation};
  if (promised) retry_condition.ended_intents = snapshot.ended_intents_generation;
  const std::string& uid = claim.pod().facts.uid;
  parts_.placements.note_refusal(uid, OfferedNodes::make(snapshot, plan.slots));
  note_refused(uid, {plan::main_reason(plan.verdicts), {}}, retry_condition, line);
  return {200, codec::write_filter(call, filter_result)};
}

}  // namespace snug::service
