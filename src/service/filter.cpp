// filter: which nodes fit, or the winner alone. Reserves nothing, does no I/O.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "service/readers.hpp"
#include "snug/plan/plan.hpp"
#include "snug/service/extender_service.hpp"

namespace snug {
namespace {

/// From this minor version on kube-scheduler offers nodes without victims to extenders, so that
/// nodes without free capacity may be listed in FailedNodes.
constexpr int kFirstMinorWithEmptyCandidates = 38;

/// The candidate that the pod is nominated to, while pods of lower priority are terminating there.
/// kube-scheduler clears the nomination if that node is unresolvable, and then other pods could
/// take what the terminating pods free (PodEligibleToPreemptOthers).
std::optional<std::size_t> awaited_node(const ScheduleCall& call, const PodInfo& pod,
                                        const Snapshot& snapshot) {
  const std::string& name = pod.facts.nominated_node_name;
  const auto found = std::ranges::find(call.names, name);
  const auto slot = name.empty() ? std::nullopt : snapshot.names->find(name);
  if (!slot || found == call.names.end()) return std::nullopt;
  const bool going =
      std::ranges::any_of(snapshot.nodes[slot->value]->holdings, [&](const HoldingPtr& holding) {
        return holding->terminating && holding->rank.priority < pod.rank.priority;
      });
  if (!going) return std::nullopt;
  return static_cast<std::size_t>(found - call.names.begin());
}

}  // namespace

Reply ExtenderService::run_filter(std::string& body) {
  Readers::Lent reader(*readers_);
  Result<ScheduleCall> call = reader->read_schedule(body);
  if (!call) {
    return {status_of(call.error()), write_error(ReplyShape::kFilter, call.error().message)};
  }
  if (parts_.first_sight != nullptr) {
    if (const auto posted = parts_.first_sight->post_pod(call->pod); !posted) {
      const int status = posted.error().code == ErrorCode::kConflict ? 409 : 400;
      return {status, write_error(ReplyShape::kFilter, posted.error().message)};
    }
  }
  const PodInfoPtr pod = parts_.pending.intern(std::move(call->pod));
  const std::string& uid = pod->facts.uid;
  // Free capacity will never help: an edit of the pod makes kube-scheduler try it again anyway.
  if (!pod->request) return refuse_everywhere(*call, uid, pod->request.error(), {});
  if (pod->request->empty()) return {200, write_filter_all(*call)};
  if (!serves(pod->facts)) return refuse_everywhere(*call, uid, {ReasonCode::kNotServed, {}}, {});
  // In this order: a policy that comes after the snapshot raises its room generation, which wakes
  // the pod.
  const SnapshotPtr snapshot = parts_.ledger.snapshot();
  const auto claim = PodClaim::make(pod, parts_.policy.current());
  if (!claim) {
    return refuse_everywhere(*call, uid, claim.error(), {.room = snapshot->room_generation});
  }
  return filter_claim(*call, *claim, *snapshot);
}

Reply ExtenderService::filter_claim(const ScheduleCall& call, const PodClaim& claim,
                                    const Snapshot& snapshot) {
  const PodFacts& pod = claim.pod().facts;
  const Plan plan = decide(call.names, claim, snapshot);
  if (!plan.winner) return refuse_each(call, claim, plan, snapshot);
  parts_.pending.note_accepted(pod.uid);
  FilterAnswer answer;
  const AnswerMode mode = mode_for(pod);
  if (mode == AnswerMode::kWinner) {
    answer.kept.push_back(*plan.winner);
  } else {
    for (std::size_t i = 0; i < plan.verdicts.size(); ++i) {
      if (plan.verdicts[i].reason == ReasonCode::kNone) answer.kept.push_back(i);
    }
  }
  if (answer.kept.size() == 1) {
    note_winner(call.names, claim, plan, snapshot);
  } else {
    parts_.ledger.end_intent(pod.uid);
  }
  return {200, write_filter(call, answer)};
}

void ExtenderService::note_refused(std::string_view uid, const std::string& text,
                                   const Awaits& awaits) {
  parts_.ledger.end_intent(uid);
  parts_.pending.note_refused(uid, text, awaits);
  // kube-scheduler may ask once more about a pod that has ended, which then does not wait. Checked
  // last, since the pod may end meanwhile.
  if (parts_.ledger.ended(uid)) parts_.pending.note_accepted(uid);
}

Reply ExtenderService::refuse_everywhere(const ScheduleCall& call, std::string_view uid,
                                         const Refusal& refusal, const Awaits& awaits) {
  const std::string text = message(refusal);
  FilterAnswer answer;
  for (std::size_t i = 0; i < call.names.size(); ++i) answer.failed_for_good.emplace_back(i, text);
  note_refused(uid, text, awaits);
  return {200, write_filter(call, answer)};
}

Reply ExtenderService::refuse_each(const ScheduleCall& call, const PodClaim& claim,
                                   const Plan& plan, const Snapshot& snapshot) {
  FilterAnswer answer;
  std::vector<std::string> texts;
  texts.reserve(all_reasons().size());
  for (std::size_t i = 0; i < all_reasons().size(); ++i) {
    texts.push_back(message(static_cast<ReasonCode>(i)));
  }
  const bool may_evict = options_.kubernetes_minor >= kFirstMinorWithEmptyCandidates;
  const std::optional<std::size_t> awaited = awaited_node(call, claim.pod(), snapshot);
  std::vector<std::size_t> counts(texts.size(), 0);
  for (std::size_t i = 0; i < plan.verdicts.size(); ++i) {
    const ReasonCode code = plan.verdicts[i].reason;
    const bool evictable = reason(code).evictable;
    const bool resolvable =
        i == awaited ? evictable || code == ReasonCode::kPromised : evictable && may_evict;
    auto& list = resolvable ? answer.failed : answer.failed_for_good;
    list.emplace_back(i, texts[static_cast<std::size_t>(code)]);
    ++counts[static_cast<std::size_t>(code)];
  }
  const auto most = std::ranges::max_element(counts) - counts.begin();
  Awaits awaits{.room = snapshot.room_generation};
  if (counts[static_cast<std::size_t>(ReasonCode::kPromised)] > 0) {
    awaits.intents_ended = snapshot.intents_ended;
  }
  note_refused(claim.pod().facts.uid, texts[static_cast<std::size_t>(most)], awaits);
  return {200, write_filter(call, answer)};
}

}  // namespace snug
