// prioritize: how good each node is, as the answer mode says. Reserves nothing, does no I/O.
#include "service/readers.hpp"
#include "snug/plan/plan.hpp"
#include "snug/request/parse.hpp"
#include "snug/service/extender_service.hpp"

namespace snug {

Reply ExtenderService::run_prioritize(std::string& body) {
  Readers::Lent reader(*readers_);
  const Result<ScheduleCall> call = reader->read_schedule(body);
  if (!call) {
    return {status_of(call.error()), write_error(ReplyShape::kPrioritize, call.error().message)};
  }
  std::vector<HostScore> scores;
  const auto request = parse_request(call->pod);
  if (!request || request->empty()) return {200, write_prioritize(scores)};

  const auto claim = PodClaim::make(call->pod, *request, parts_.policy.current());
  if (!claim) return {200, write_prioritize(scores)};
  const SnapshotPtr snapshot = parts_.ledger.snapshot();
  const Plan plan = decide(*call, *claim, *snapshot);
  if (!plan.winner) return {200, write_prioritize(scores)};
  if (mode_for(call->pod) == AnswerMode::kAdvise) {
    const std::vector<int> values = advise(plan);
    for (std::size_t i = 0; i < values.size(); ++i) scores.push_back({call->names[i], values[i]});
  } else {
    scores.push_back({call->names[*plan.winner], kBestScore});
    note_winner(*call, *claim, plan, *snapshot);
  }
  return {200, write_prioritize(scores)};
}

}  // namespace snug
