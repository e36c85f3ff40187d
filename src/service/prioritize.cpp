// prioritize: scores the nodes according to the answer mode. Reserves nothing and does no I/O.
#include <utility>

#include "service/decision_line.hpp"
#include "service/readers.hpp"
#include "snug/plan/plan.hpp"
#include "snug/service/extender_service.hpp"

namespace snug::service {

Reply ExtenderService::run_prioritize(std::string& body, DecisionLine& line) {
  Readers::Lent reader(*readers_);
  base::Result<codec::ScheduleCall> call = reader->read_schedule(body);
  if (!call) {
    return {status_of(call.error()),
            codec::write_error(codec::ReplyShape::kPrioritize, call.error().message)};
  }
  std::vector<codec::HostPriority> host_priorities;
  const PodInfoPtr pod = parts_.pending.intern(std::move(call->pod));
  line.about(pod->facts);
  if (!pod->asks_for_gpus()) return {200, codec::write_prioritize(host_priorities)};
  const auto claim = PodClaim::make(pod, parts_.policy.current());
  if (!claim) return {200, codec::write_prioritize(host_priorities)};
  const model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  const plan::Plan plan = decide(call->node_names, *claim, *snapshot);
  if (!plan.winner) return {200, codec::write_prioritize(host_priorities)};
  line.decided({}, call->node_names[*plan.winner]);
  if (mode_for(pod->facts) == AnswerMode::kAdvise) {
    const std::vector<int> node_scores = plan::extender_scores(plan);
    for (std::size_t i = 0; i < node_scores.size(); ++i)
      host_priorities.push_back({call->node_names[i], node_scores[i]});
  } else {
    host_priorities.push_back({call->node_names[*plan.winner], plan::kMaxExtenderPriority});
    note_winner(call->node_names, *claim, plan, *snapshot);
  }
  return {200, codec::write_prioritize(host_priorities)};
}

}  // namespace snug::service
