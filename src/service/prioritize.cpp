// prioritize: how good each node is, as the answer mode says. Reserves nothing, does no I/O.
#include <utility>

#include "service/readers.hpp"
#include "snug/plan/plan.hpp"
#include "snug/service/extender_service.hpp"

namespace snug {

Reply ExtenderService::run_prioritize(std::string& body) {
  Readers::Lent reader(*readers_);
  Result<ScheduleCall> call = reader->read_schedule(body);
  if (!call) {
    return {status_of(call.error()), write_error(ReplyShape::kPrioritize, call.error().message)};
  }
  std::vector<HostScore> scores;
  const PodInfoPtr pod = parts_.pending.intern(std::move(call->pod));
  if (!pod->asks_for_gpus()) return {200, write_prioritize(scores)};
  const auto claim = PodClaim::make(pod, parts_.policy.current());
  if (!claim) return {200, write_prioritize(scores)};
  const SnapshotPtr snapshot = parts_.ledger.snapshot();
  const Plan plan = decide(call->names, *claim, *snapshot);
  if (!plan.winner) return {200, write_prioritize(scores)};
  if (mode_for(pod->facts) == AnswerMode::kAdvise) {
    const std::vector<int> values = advise(plan);
    for (std::size_t i = 0; i < values.size(); ++i) scores.push_back({call->names[i], values[i]});
  } else {
    scores.push_back({call->names[*plan.winner], kBestScore});
    note_winner(call->names, *claim, plan, *snapshot);
  }
  return {200, write_prioritize(scores)};
}

}  // namespace snug
