// filter: which nodes fit, or the winner alone. Reserves nothing, does no I/O.
#include <algorithm>
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
  if (!request) return refuse_everywhere(*call, request.error());
  if (request->empty()) return {200, write_filter_all(*call)};
  if (!serves(call->pod)) return refuse_everywhere(*call, {ReasonCode::kNotServed, {}});
  return filter_request(*call, *request);
}

Reply ExtenderService::filter_request(const ScheduleCall& call, const GpuRequest& request) {
  const SnapshotPtr snapshot = parts_.ledger.snapshot();
  const Plan plan = decide(call, request, *snapshot);
  if (!plan.winner) {
    parts_.ledger.end_intent(call.pod.uid);
    return refuse_each(call, plan, snapshot->room_generation);
  }
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
    note_winner(call, request, plan, *snapshot);
  } else {
    parts_.ledger.end_intent(call.pod.uid);
  }
  return {200, write_filter(call, answer)};
}

void ExtenderService::note_refused(std::string_view uid, const std::string& text, Generation room) {
  parts_.pending.note_refused(uid, text, room);
  // The scheduler may ask once more for a pod that has ended, and nobody waits for that. Looked at
  // last, since the pod may end meanwhile.
  if (parts_.ledger.ended(uid)) parts_.pending.note_accepted(uid);
}

Reply ExtenderService::refuse_everywhere(const ScheduleCall& call, const Refusal& refusal) {
  const std::string text = message(refusal);
  FilterAnswer answer;
  for (std::size_t i = 0; i < call.names.size(); ++i) answer.failed_for_good.emplace_back(i, text);
  // No room will ever help: the pod waits for its own change, which wakes it anyway.
  note_refused(call.pod.uid, text, kNever);
  return {200, write_filter(call, answer)};
}

Reply ExtenderService::refuse_each(const ScheduleCall& call, const Plan& plan, Generation room) {
  FilterAnswer answer;
  std::vector<std::string> texts;
  texts.reserve(all_reasons().size());
  for (std::size_t i = 0; i < all_reasons().size(); ++i) {
    texts.push_back(message(static_cast<ReasonCode>(i)));
  }
  const bool may_evict = options_.kubernetes_minor >= kFirstMinorWithEmptyCandidates;
  std::vector<std::size_t> counts(texts.size(), 0);
  for (std::size_t i = 0; i < plan.verdicts.size(); ++i) {
    const ReasonCode code = plan.verdicts[i].reason;
    auto& list = may_evict && reason(code).evictable ? answer.failed : answer.failed_for_good;
    list.emplace_back(i, texts[static_cast<std::size_t>(code)]);
    ++counts[static_cast<std::size_t>(code)];
  }
  const auto most = std::ranges::max_element(counts) - counts.begin();
  note_refused(call.pod.uid, texts[static_cast<std::size_t>(most)], room);
  return {200, write_filter(call, answer)};
}

}  // namespace snug
