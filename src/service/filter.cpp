// filter: returns the feasible nodes, or only the best one. Reserves nothing and does no I/O.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

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
  const std::string& name = pod.facts.nominated_node_name;
  const auto found = std::ranges::find(call.node_names, name);
  const auto slot = name.empty() ? std::nullopt : snapshot.names->find(name);
  if (!slot || found == call.node_names.end()) return std::nullopt;
  const bool going = std::ranges::any_of(
      snapshot.nodes[slot->value]->holdings, [&](const model::HoldingPtr& holding) {
        return holding->terminating && holding->rank.priority < pod.rank.priority;
      });
  if (!going) return std::nullopt;
  return static_cast<std::size_t>(found - call.node_names.begin());
}

}  // namespace

Reply ExtenderService::run_filter(std::string& body) {
  Readers::Lent reader(*readers_);
  base::Result<codec::ScheduleCall> call = reader->read_schedule(body);
  if (!call) {
    return {status_of(call.error()),
            codec::write_error(codec::ReplyShape::kFilter, call.error().message)};
  }
  if (parts_.pod_creator != nullptr) {
    if (const auto posted = parts_.pod_creator->post_pod(call->pod); !posted) {
      const int status = posted.error().code == base::ErrorCode::kConflict ? 409 : 400;
      return {status, codec::write_error(codec::ReplyShape::kFilter, posted.error().message)};
    }
  }
  const PodInfoPtr pod = parts_.pending.intern(std::move(call->pod));
  const std::string& uid = pod->facts.uid;
  // Snug need not wake this pod: freed capacity cannot make it feasible, and kube-scheduler retries
  // it by itself when somebody edits it.
  if (!pod->request) return refuse_everywhere(*call, uid, pod->request.error(), {});
  if (pod->request->empty()) return {200, codec::write_filter_all(*call)};
  if (!serves(pod->facts))
    return refuse_everywhere(*call, uid, {model::ReasonCode::kNotServed, {}}, {});
  // The snapshot must be read before the policy: if the policy changes in between, the ledger's
  // freed_generation becomes higher than the snapshot's, which wakes the pod.
  const model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  const auto claim = PodClaim::make(pod, parts_.policy.current());
  if (!claim) {
    return refuse_everywhere(*call, uid, claim.error(), {.freed = snapshot->freed_generation});
  }
  return filter_claim(*call, *claim, *snapshot);
}

Reply ExtenderService::filter_claim(const codec::ScheduleCall& call, const PodClaim& claim,
                                    const model::Snapshot& snapshot) {
  const model::PodFacts& pod = claim.pod().facts;
  const plan::Plan plan = decide(call.node_names, claim, snapshot);
  if (!plan.winner) return refuse_each(call, claim, plan, snapshot);
  parts_.pending.note_accepted(pod.uid);
  codec::FilterResult result;
  const AnswerMode mode = mode_for(pod);
  if (mode == AnswerMode::kWinner) {
    result.feasible.push_back(*plan.winner);
  } else {
    for (std::size_t i = 0; i < plan.verdicts.size(); ++i) {
      if (plan.verdicts[i].reason == model::ReasonCode::kNone) result.feasible.push_back(i);
    }
  }
  if (result.feasible.size() == 1) {
    note_winner(call.node_names, claim, plan, snapshot);
  } else {
    parts_.ledger.end_intent(pod.uid);
  }
  return {200, codec::write_filter(call, result)};
}

void ExtenderService::note_refused(std::string_view uid, const std::string& text,
                                   const RetryCondition& awaits) {
  parts_.ledger.end_intent(uid);
  parts_.pending.note_refused(uid, text, awaits);
  // kube-scheduler may call filter for a pod that has already ended. The refusal of such a pod must
  // not be kept. The check comes last, since the pod may end at any time.
  if (parts_.ledger.has_ended(uid)) parts_.pending.note_accepted(uid);
}

Reply ExtenderService::refuse_everywhere(const codec::ScheduleCall& call, std::string_view uid,
                                         const model::Refusal& refusal,
                                         const RetryCondition& awaits) {
  const std::string text = model::message(refusal);
  codec::FilterResult result;
  for (std::size_t i = 0; i < call.node_names.size(); ++i)
    result.unresolvable.emplace_back(i, text);
  note_refused(uid, text, awaits);
  return {200, codec::write_filter(call, result)};
}

Reply ExtenderService::refuse_each(const codec::ScheduleCall& call, const PodClaim& claim,
                                   const plan::Plan& plan, const model::Snapshot& snapshot) {
  codec::FilterResult result;
  std::vector<std::string> texts;
  texts.reserve(model::all_reasons().size());
  for (std::size_t i = 0; i < model::all_reasons().size(); ++i) {
    texts.push_back(model::message(static_cast<model::ReasonCode>(i)));
  }
  const bool may_evict = options_.kubernetes_minor >= kFirstMinorWithEmptyCandidates;
  const std::optional<std::size_t> awaited = awaited_node(call, claim.pod(), snapshot);
  std::vector<std::size_t> counts(texts.size(), 0);
  for (std::size_t i = 0; i < plan.verdicts.size(); ++i) {
    const model::ReasonCode code = plan.verdicts[i].reason;
    const bool evictable = model::reason_row(code).resolvable;
    const bool resolvable =
        i == awaited ? evictable || code == model::ReasonCode::kPromised : evictable && may_evict;
    auto& list = resolvable ? result.failed : result.unresolvable;
    list.emplace_back(i, texts[static_cast<std::size_t>(code)]);
    ++counts[static_cast<std::size_t>(code)];
  }
  const auto most = std::ranges::max_element(counts) - counts.begin();
  RetryCondition awaits{.freed = snapshot.freed_generation};
  if (counts[static_cast<std::size_t>(model::ReasonCode::kPromised)] > 0) {
    awaits.ended_intents = snapshot.ended_intents_generation;
  }
  note_refused(claim.pod().facts.uid, texts[static_cast<std::size_t>(most)], awaits);
  return {200, codec::write_filter(call, result)};
}

}  // namespace snug::service
