// filter: which nodes fit, or the winner alone. Reserves nothing, does no I/O.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "service/readers.hpp"
#include "snug/plan/plan.hpp"
#include "snug/request/parse.hpp"
#include "snug/service/extender_service.hpp"

namespace snug {
namespace {

/// From this minor version on kube-scheduler offers nodes without victims to extenders, so that a
/// lack of room may go to FailedNodes.
constexpr int kFirstMinorWithEmptyCandidates = 38;

/// The candidate that the pod is nominated to, while pods of lower priority are terminating there.
/// kube-scheduler takes back the nomination when that node cannot be helped by eviction, and then
/// others may have the room that is being made (PodEligibleToPreemptOthers).
std::optional<std::size_t> awaited_node(const ScheduleCall& call, const PodClaim& claim,
                                        const Snapshot& snapshot) {
  const std::string& name = call.pod.nominated_node_name;
  const auto found = std::ranges::find(call.names, name);
  const auto slot = name.empty() ? std::nullopt : snapshot.names->find(name);
  if (!slot || found == call.names.end()) return std::nullopt;
  const bool going =
      std::ranges::any_of(snapshot.nodes[slot->value]->holdings, [&](const HoldingPtr& holding) {
        return holding->terminating && holding->rank.priority < claim.view().rank.priority;
      });
  if (!going) return std::nullopt;
  return static_cast<std::size_t>(found - call.names.begin());
}

}  // namespace

Reply ExtenderService::run_filter(std::string& body) {
  Readers::Lent reader(*readers_);
  const Result<ScheduleCall> call = reader->read_schedule(body);
  if (!call) {
    return {status_of(call.error()), write_error(ReplyShape::kFilter, call.error().message)};
  }
  if (parts_.first_sight != nullptr) {
    if (const auto posted = parts_.first_sight->post_pod(call->pod); !posted) {
      const int status = posted.error().code == ErrorCode::kConflict ? 409 : 400;
      return {status, write_error(ReplyShape::kFilter, posted.error().message)};
    }
  }
  const auto request = parse_request(call->pod);
  // No room will ever help: the pod waits for its own change, which wakes it anyway.
  if (!request) return refuse_everywhere(*call, request.error(), {});
  if (request->empty()) return {200, write_filter_all(*call)};
  if (!serves(call->pod)) return refuse_everywhere(*call, {ReasonCode::kNotServed, {}}, {});
  // In this order: a policy that comes later makes room after the snapshot, and wakes the pod.
  const SnapshotPtr snapshot = parts_.ledger.snapshot();
  const auto claim = PodClaim::make(call->pod, *request, parts_.policy.current());
  if (!claim) {
    return refuse_everywhere(*call, claim.error(), {.room = snapshot->room_generation});
  }
  return filter_claim(*call, *claim, *snapshot);
}

Reply ExtenderService::filter_claim(const ScheduleCall& call, const PodClaim& claim,
                                    const Snapshot& snapshot) {
  const Plan plan = decide(call, claim, snapshot);
  if (!plan.winner) return refuse_each(call, claim, plan, snapshot);
  parts_.pending.note_accepted(call.pod.uid);
  FilterAnswer answer;
  const AnswerMode mode = mode_for(call.pod);
  if (mode == AnswerMode::kWinner) {
    answer.kept.push_back(*plan.winner);
  } else {
    for (std::size_t i = 0; i < plan.verdicts.size(); ++i) {
      if (plan.verdicts[i].reason == ReasonCode::kNone) answer.kept.push_back(i);
    }
  }
  if (answer.kept.size() == 1) {
    note_winner(call, claim, plan, snapshot);
  } else {
    parts_.ledger.end_intent(call.pod.uid);
  }
  return {200, write_filter(call, answer)};
}

void ExtenderService::note_refused(std::string_view uid, const std::string& text,
                                   const Awaits& awaits) {
  parts_.ledger.end_intent(uid);
  parts_.pending.note_refused(uid, text, awaits);
  // The scheduler may ask once more for a pod that has ended, and nobody waits for that. Looked at
  // last, since the pod may end meanwhile.
  if (parts_.ledger.ended(uid)) parts_.pending.note_accepted(uid);
}

Reply ExtenderService::refuse_everywhere(const ScheduleCall& call, const Refusal& refusal,
                                         const Awaits& awaits) {
  const std::string text = message(refusal);
  FilterAnswer answer;
  for (std::size_t i = 0; i < call.names.size(); ++i) answer.failed_for_good.emplace_back(i, text);
  note_refused(call.pod.uid, text, awaits);
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
  const std::optional<std::size_t> awaited = awaited_node(call, claim, snapshot);
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
  note_refused(call.pod.uid, texts[static_cast<std::size_t>(most)], awaits);
  return {200, write_filter(call, answer)};
}

}  // namespace snug
