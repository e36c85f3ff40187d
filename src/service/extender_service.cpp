#include "snug/service/extender_service.hpp"

#include <chrono>
#include <utility>

#include "service/decision_line.hpp"
#include "service/memos.hpp"
#include "service/named_victims.hpp"
#include "service/readers.hpp"

namespace snug::service {

ExtenderService::ExtenderService(ServiceParts parts, ServiceOptions options)
    : parts_(parts),
      options_(std::move(options)),
      readers_(std::make_unique<Readers>(options_.limits)),
      memos_(std::make_unique<Memos>()),
      named_victims_(std::make_unique<NamedVictims>(parts_.clock, options_.limits)),
      attempts_(std::make_unique<AttemptCounter>(options_.limits)) {}

ExtenderService::~ExtenderService() = default;

namespace {

/// Runs one call, and records its duration and success in the metrics and its decision in the log.
/// If Snug is not ready, answers 503 without running the call.
template <typename Call>
Reply measured(const ServiceParts& parts, AttemptCounter& attempts, Verb verb,
               codec::ReplyShape shape, const Call& call) {
  DecisionLine line(verb, parts.log, attempts);
  const base::TimePoint call_start = parts.clock.now();
  const bool is_ready = parts.readiness.is_ready();
  if (!is_ready) parts.readiness.note_refused_call();
  Reply reply = is_ready ? call(line)
                         : Reply{503, codec::write_error(shape, "Snug is not ready: " +
                                                                    parts.readiness.why_not())};
  const auto call_duration =
      std::chrono::duration_cast<std::chrono::microseconds>(parts.clock.now() - call_start);
  parts.metrics.verb_done(verb, reply.status == 200, call_duration.count());
  line.write(call_duration);
  return reply;
}

/// The plan for a pod that holds GPUs of `node` from an earlier bind: only this node is feasible.
plan::Plan stay_on(std::string_view node, std::span<const std::string_view> candidates) {
  plan::Plan one_node_plan;
  one_node_plan.verdicts.assign(candidates.size(), {.reason = model::ReasonCode::kUnsettled});
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i] != node) continue;
    one_node_plan.verdicts[i].reason = model::ReasonCode::kNone;
    one_node_plan.winner = i;
  }
  return one_node_plan;
}

}  // namespace

Reply ExtenderService::filter(std::string& body) {
  return measured(parts_, *attempts_, Verb::kFilter, codec::ReplyShape::kFilter,
                  [&](DecisionLine& line) { return run_filter(body, line); });
}

Reply ExtenderService::prioritize(std::string& body) {
  return measured(parts_, *attempts_, Verb::kPrioritize, codec::ReplyShape::kPrioritize,
                  [&](DecisionLine& line) { return run_prioritize(body, line); });
}

Reply ExtenderService::preempt(std::string& body) {
  return measured(parts_, *attempts_, Verb::kPreempt, codec::ReplyShape::kPreempt,
                  [&](DecisionLine& line) { return run_preempt(body, line); });
}

Reply ExtenderService::bind(std::string& body) {
  const WriteFence::Term term = parts_.fence.term();
  return measured(parts_, *attempts_, Verb::kBind, codec::ReplyShape::kBind,
                  [&](DecisionLine& line) { return run_bind(body, term, line); });
}

AnswerMode ExtenderService::mode_for(const model::PodFacts& pod) const {
  if (options_.answer != AnswerMode::kAuto) return options_.answer;
  return pod.has_soft_preferences ? AnswerMode::kAdvise : AnswerMode::kWinner;
}

plan::Plan ExtenderService::decide(Names candidates, const PodClaim& claim,
                                   const model::Snapshot& snapshot) const {
  if (const auto ledger_entry = parts_.ledger.find(claim.pod().facts.uid)) {
    return stay_on(ledger_entry->holding->reservation.node, candidates);
  }
  Memos::Lent lent_cache(*memos_, claim.key());
  return plan::plan({.snapshot = snapshot, .incoming = claim.view(), .cache = lent_cache.get()},
                    candidates);
}

void ExtenderService::note_winner(Names candidates, const PodClaim& claim, const plan::Plan& plan,
                                  const model::Snapshot& snapshot) {
  if (!plan.winner || plan.placement.allocations.empty()) return;
  const auto winner_slot = snapshot.names->find(candidates[*plan.winner]);
  if (!winner_slot) return;
  auto intent = plan::to_holding(*snapshot.nodes[winner_slot->value], claim.view(), plan.placement);
  intent->pod = claim.pod().facts.name;
  parts_.ledger.note_intent(std::move(intent));
}

}  // namespace snug::service
