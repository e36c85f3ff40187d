// bind: checks the pod, reserves its devices under the ledger's mutex, sends one POST, and then
// confirms, releases or keeps the reservation.
#include <algorithm>
#include <utility>

#include "service/bound_pods.hpp"
#include "service/decision_line.hpp"
#include "service/readers.hpp"
#include "snug/codec/enforcer_annotations.hpp"
#include "snug/codec/reservation_codec.hpp"
#include "snug/explain/explain.hpp"
#include "snug/request/near_misses.hpp"
#include "snug/service/extender_service.hpp"

namespace snug::service {
namespace {

/// Whether a binding that failed with `code` may have been executed, or may yet be executed.
bool may_be_carried_out(base::ErrorCode code) {
  return code == base::ErrorCode::kUnknown || code == base::ErrorCode::kInternal;
}

std::string pod_name(const codec::BindCall& call) { return call.name_space + "/" + call.pod; }

std::string reserve_failure_text(const ledger::ReserveFailure& failure,
                                 const codec::BindCall& call) {
  using Cause = ledger::ReserveFailure::Cause;
  switch (failure.cause) {
    case Cause::kElsewhere:
      return "pod " + pod_name(call) + " holds GPUs on node " +
             failure.entry.holding->reservation.node + " already, from a bind that " +
             (failure.entry.state == ledger::HoldingState::kBound ? "succeeded"
                                                                  : "is not settled yet");
    case Cause::kInFlight:
      return "a bind of pod " + pod_name(call) + " to node " + call.node + " is under way";
    case Cause::kEnded:
      return "pod " + pod_name(call) + " has been deleted or has finished";
    case Cause::kNoFit:
    case Cause::kBound:
      break;
  }
  return model::message(failure.reason);
}

}  // namespace

Reply ExtenderService::bind_success(const Bind& call, BindOutcome outcome) {
  parts_.metrics.bind_ended(outcome);
  call.line.decided(kBindOutcomeNames[outcome]);
  return {200, codec::write_bind("")};
}

Reply ExtenderService::bind_error(const Bind& call, BindOutcome outcome,
                                  std::string_view sentence) {
  // The intent is no longer needed: before kube-scheduler binds this pod again, it calls filter,
  // which records a new intent.
  parts_.ledger.end_intent(call.uid);
  parts_.metrics.bind_ended(outcome);
  const std::string_view reason = kBindOutcomeNames[outcome];
  call.line.decided(reason);
  parts_.log.write(LogLevel::kInfo,
                   "bind of pod " + pod_name(call) + " to node " + call.node +
                       " failed: " + std::string(sentence),
                   {{"verb", kVerbNames[Verb::kBind]},
                    {"namespace", call.name_space},
                    {"pod", call.pod},
                    {"uid", call.uid},
                    {"node", call.node},
                    {"reason", reason}});
  return {200, codec::write_bind(sentence)};
}

Reply ExtenderService::run_bind(std::string& body, WriteFence::Term term, DecisionLine& line) {
  base::Result<codec::BindCall> bind_call = [&] {
    Readers::Lent reader(*readers_);
    return reader->read_bind(body);
  }();
  if (!bind_call) {
    return {status_of(bind_call.error()),
            codec::write_error(codec::ReplyShape::kBind, bind_call.error().message)};
  }
  line.about(*bind_call);
  const Bind call{*std::move(bind_call), term, line};
  PodInfoPtr pod_info = parts_.pending.find(call.uid);
  if (pod_info == nullptr) {
    const std::optional<ledger::LedgerEntry> ledger_entry = parts_.ledger.find(call.uid);
    if (ledger_entry && ledger_entry->state == ledger::HoldingState::kBound &&
        ledger_entry->holding->reservation.node == call.node) {
      return bind_success(call, BindOutcome::kAlreadyBound);
    }
    auto fetched_pod = parts_.api.get_pod(call.name_space, call.pod);
    if (!fetched_pod) {
      return bind_error(call, BindOutcome::kUnavailable,
                        "pod " + pod_name(call) + " could not be read from the API server: " +
                            fetched_pod.error().message);
    }
    std::optional<model::PodFacts>& api_pod = *fetched_pod;
    if (!api_pod || api_pod->uid != call.uid) {
      return bind_error(call, BindOutcome::kRefused,
                        "pod " + pod_name(call) + " with uid " + call.uid + " does not exist");
    }
    if (api_pod->finished) {
      return bind_error(call, BindOutcome::kRefused, "pod " + pod_name(call) + " has finished");
    }
    pod_info = std::make_shared<const PodInfo>(*std::move(api_pod));
  }
  return bind_pod(call, pod_info);
}

Reply ExtenderService::bind_pod(const Bind& call, const PodInfoPtr& pod_info) {
  const model::PodFacts& pod = pod_info->facts;
  if (pod.name_space != call.name_space || pod.name != call.pod) {
    return bind_error(call, BindOutcome::kRefused,
                      "uid " + call.uid + " is not that of pod " + pod_name(call));
  }
  if (!pod.node_name.empty()) {
    if (pod.node_name != call.node) {
      return bind_error(
          call, BindOutcome::kRefused,
          "pod " + pod_name(call) + " is bound to node " + pod.node_name + " already");
    }
    return bind_success(call, BindOutcome::kAlreadyBound);
  }
  if (!pod_info->request) {
    return bind_error(call, BindOutcome::kRefused, model::message(pod_info->request.error()));
  }
  if (pod_info->request->empty()) return bind_without_gpu(call, pod);
  if (!options_.serves(pod.scheduler_name)) {
    return bind_error(call, BindOutcome::kRefused,
                      "pod " + pod_name(call) + " names the scheduler " + pod.scheduler_name +
                          ", which Snug does not serve");
  }
  const auto claim = PodClaim::make(pod_info, parts_.policy.current());
  if (!claim) return bind_error(call, BindOutcome::kRefused, model::message(claim.error()));
  return bind_claim(call, *claim);
}

Reply ExtenderService::bind_claim(const Bind& call, const PodClaim& claim) {
  const model::PodFacts& pod = claim.pod().facts;
  const auto reserved_holding =
      parts_.ledger.reserve({.incoming = claim.view(),
                             .pod = call.pod,
                             .node = call.node,
                             .has_other_constraints = pod.has_other_constraints});
  if (reserved_holding) {
    try {
      return write_binding(call, claim, *reserved_holding);
    } catch (...) {
      parts_.ledger.mark_unsettled(call.uid);  // the binding may have been sent
      throw;
    }
  }
  const ledger::ReserveFailure& failure = reserved_holding.error();
  if (failure.cause == ledger::ReserveFailure::Cause::kBound) {
    return bind_success(call, BindOutcome::kAlreadyBound);
  }
  const bool is_place_taken = failure.cause == ledger::ReserveFailure::Cause::kNoFit &&
                              (failure.reason == model::ReasonCode::kPromised ||
                               model::reason_row(failure.reason).resolvable);
  return bind_error(call, is_place_taken ? BindOutcome::kPlaceTaken : BindOutcome::kRefused,
                    reserve_failure_text(failure, call));
}

void ExtenderService::note_placement(const Bind& call, const PodClaim& claim) {
  const std::optional<DecisionNote> decision = parts_.placements.take_decision(call.uid);
  if (!decision) return;
  // kube-scheduler may choose another node than filter's winner.
  const bool is_winner = decision->winner == call.node;
  const std::string& other = is_winner ? decision->runner_up : decision->winner;
  auto comparison = explain::compare_placements(
      {.snapshot = *decision->snapshot, .incoming = claim.view()}, call.node,
      other.empty() ? std::nullopt : std::optional<std::string_view>(other));
  if (!comparison) return;
  PlacementRecord placement{.comparison = *std::move(comparison), .likely_mistakes = {}};
  for (request::NearMiss& near_miss : request::near_misses(claim.pod().facts))
    placement.likely_mistakes.push_back(std::move(near_miss.sentence));
  parts_.placements.note_placement(call.uid, std::move(placement));
}

Reply ExtenderService::bind_without_gpu(const Bind& call, const model::PodFacts& pod) {
  if (parts_.ledger.find(call.uid)) {
    return bind_error(
        call, BindOutcome::kRefused,
        "pod " + pod_name(call) + " holds GPUs from an earlier bind that is not settled yet");
  }
  const base::Result<void> written = send_binding(call, codec::blank_annotations(pod));
  if (written) {
    return bind_success(call, BindOutcome::kBound);
  }
  if (written.error().code == base::ErrorCode::kConflict) {
    return after_refusal(call, Reserved::kNothing, written.error());
  }
  const base::ErrorCode error_code = written.error().code;
  const BindOutcome outcome = may_be_carried_out(error_code) ? BindOutcome::kUnknown
                              : error_code == base::ErrorCode::kUnavailable
                                  ? BindOutcome::kUnavailable
                                  : BindOutcome::kRefused;
  return bind_error(call, outcome,
                    "pod " + pod_name(call) + " was not bound: " + written.error().message);
}

base::Result<void> ExtenderService::send_binding(const Bind& call, model::StringMap annotations) {
  std::optional<WriteFence::Pass> fence_pass = parts_.fence.acquire(call.term);
  if (!fence_pass)
    return base::fail(base::ErrorCode::kUnavailable, "this Snug is no longer the leader");
  base::Result<void> written = parts_.api.bind({.name_space = call.name_space,
                                                .pod = call.pod,
                                                .uid = call.uid,
                                                .node = call.node,
                                                .annotations = std::move(annotations),
                                                .not_after = fence_pass->not_after()});
  if (written || !may_be_carried_out(written.error().code)) fence_pass->answered();
  return written;
}

Reply ExtenderService::write_binding(const Bind& call, const PodClaim& claim,
                                     const model::HoldingPtr& holding) {
  model::StringMap annotations =
      codec::write_reservation(holding->reservation, holding->main_container, claim.pod().facts);
  if (std::cmp_greater(annotations.find(codec::kReservationKey)->second.size(),
                       options_.limits.max_reservation_bytes)) {
    parts_.ledger.release(call.uid);
    return bind_error(call, BindOutcome::kRefused,
                      "the reservation of pod " + pod_name(call) + " has more than " +
                          std::to_string(options_.limits.max_reservation_bytes) +
                          " bytes, so Snug could not read it after a restart");
  }
  const auto inventory = parts_.ledger.inventory(call.node);
  if (inventory != nullptr) {
    if (inventory->enforcement == model::Enforcement::kFailClosed)
      codec::require_agent(holding->reservation, claim.pod().facts, annotations);
    codec::write_enforcer_annotations(holding->reservation, *inventory, annotations);
  }
  const base::Result<void> written = send_binding(call, std::move(annotations));
  if (written) {
    parts_.ledger.mark_bound(call.uid);
    note_placement(call, claim);
    return bind_success(call, BindOutcome::kBound);
  }
  if (may_be_carried_out(written.error().code)) {
    parts_.ledger.mark_unsettled(call.uid);
    return bind_error(call, BindOutcome::kUnknown,
                      "the outcome of binding pod " + pod_name(call) + " to node " + call.node +
                          " is unknown, and its reservation is kept: " + written.error().message);
  }
  if (written.error().code == base::ErrorCode::kConflict) {
    return after_refusal(call, Reserved::kGpus, written.error());
  }
  parts_.ledger.release(call.uid);
  if (written.error().code == base::ErrorCode::kUnavailable) {
    return bind_error(call, BindOutcome::kUnavailable,
                      "the binding was not executed: " + written.error().message);
  }
  return bind_error(
      call, BindOutcome::kRefused,
      "the API server refused to bind pod " + pod_name(call) + ": " + written.error().message);
}

/// The API server answered 409: the pod is already bound (perhaps by an earlier bind of Snug), is
/// being deleted, or has another uid. Reads the pod to find out which.
Reply ExtenderService::after_refusal(const Bind& call, Reserved reserved,
                                     const base::Error& conflict) {
  auto fetched_pod = parts_.api.get_pod(call.name_space, call.pod);
  if (!fetched_pod) {
    if (reserved == Reserved::kGpus) parts_.ledger.mark_unsettled(call.uid);
    return bind_error(call, BindOutcome::kUnknown,
                      "the API server refused to bind pod " + pod_name(call) +
                          ", and the pod could not be read again: " + fetched_pod.error().message);
  }
  std::optional<model::PodFacts>& api_pod = *fetched_pod;
  if (!api_pod || api_pod->uid != call.uid || api_pod->node_name.empty() || api_pod->finished) {
    if (reserved == Reserved::kGpus) parts_.ledger.release(call.uid);
    return bind_error(
        call, BindOutcome::kRefused,
        "the API server refused to bind pod " + pod_name(call) + ": " + conflict.message);
  }
  const PodInfo bound_pod(*std::move(api_pod));
  const ParsedHolding parsed_holding = read_holding(bound_pod, options_.limits);
  parts_.ledger.hold_from_get(parsed_holding.holding);
  // release() has no effect if hold_from_get() has made the entry bound.
  if (reserved == Reserved::kGpus) parts_.ledger.release(call.uid);
  if (bound_pod.facts.node_name != call.node) {
    return bind_error(
        call, BindOutcome::kRefused,
        "pod " + pod_name(call) + " is bound to node " + bound_pod.facts.node_name + " already");
  }
  return bind_success(call, BindOutcome::kAlreadyBound);
}

}  // namespace snug::service
