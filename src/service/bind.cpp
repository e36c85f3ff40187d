// bind: check the pod → reserve under the ledger's lock → one POST → confirm, release or keep the
// reservation.
#include <algorithm>
#include <utility>

#include "service/bound_pods.hpp"
#include "service/readers.hpp"
#include "snug/codec/reservation_codec.hpp"
#include "snug/service/extender_service.hpp"

namespace snug {
namespace {

/// Whether the binding may have been carried out, or may yet be.
bool may_be_carried_out(ErrorCode code) {
  return code == ErrorCode::kUnknown || code == ErrorCode::kInternal;
}

Reply success() { return {200, write_bind("")}; }

std::string pod_name(const BindCall& call) { return call.name_space + "/" + call.pod; }

std::string describe(const ReserveFailure& failure, const BindCall& call) {
  using Kind = ReserveFailure::Kind;
  switch (failure.kind) {
    case Kind::kElsewhere:
      return "pod " + pod_name(call) + " holds GPUs on node " +
             failure.entry.holding->reservation.node + " already, from a bind that " +
             (failure.entry.state == HoldingState::kBound ? "succeeded" : "is not settled yet");
    case Kind::kInFlight:
      return "a bind of pod " + pod_name(call) + " to node " + call.node + " is under way";
    case Kind::kEnded:
      return "pod " + pod_name(call) + " has been deleted or has finished";
    case Kind::kNoFit:
    case Kind::kBound:
      break;
  }
  return message(failure.reason);
}

}  // namespace

Reply ExtenderService::bind_error(const BindCall& call, BindEnd end, std::string_view sentence) {
  // kube-scheduler calls filter again before it tries another bind.
  parts_.ledger.end_intent(call.uid);
  parts_.metrics.bind_ended(end);
  parts_.log.write(LogLevel::kInfo, "bind of pod " + pod_name(call) + " to node " + call.node +
                                        " failed: " + std::string(sentence));
  return {200, write_bind(sentence)};
}

Reply ExtenderService::run_bind(std::string& body, WriteFence::Term term) {
  Result<BindCall> read = [&] {
    Readers::Lent reader(*readers_);
    return reader->read_bind(body);
  }();
  if (!read) {
    return {status_of(read.error()), write_error(ReplyShape::kBind, read.error().message)};
  }
  const Bind call{*std::move(read), term};
  PodInfoPtr known = parts_.pending.find(call.uid);
  if (known == nullptr) {
    const std::optional<LedgerEntry> entry = parts_.ledger.find(call.uid);
    if (entry && entry->state == HoldingState::kBound &&
        entry->holding->reservation.node == call.node) {
      parts_.metrics.bind_ended(BindEnd::kRepeated);
      return success();
    }
    auto fetched = parts_.api.get_pod(call.name_space, call.pod);
    if (!fetched) {
      return bind_error(call, BindEnd::kUnavailable,
                        "pod " + pod_name(call) +
                            " could not be read from the API server: " + fetched.error().message);
    }
    std::optional<PodFacts>& found = *fetched;
    if (!found || found->uid != call.uid) {
      return bind_error(call, BindEnd::kRefused,
                        "pod " + pod_name(call) + " with uid " + call.uid + " does not exist");
    }
    if (found->finished) {
      return bind_error(call, BindEnd::kRefused, "pod " + pod_name(call) + " has finished");
    }
    known = std::make_shared<const PodInfo>(*std::move(found));
  }
  return bind_pod(call, known);
}

Reply ExtenderService::bind_pod(const Bind& call, const PodInfoPtr& info) {
  const PodFacts& pod = info->facts;
  if (pod.name_space != call.name_space || pod.name != call.pod) {
    return bind_error(call, BindEnd::kRefused,
                      "uid " + call.uid + " is not that of pod " + pod_name(call));
  }
  if (!pod.node_name.empty()) {
    if (pod.node_name != call.node) {
      return bind_error(
          call, BindEnd::kRefused,
          "pod " + pod_name(call) + " is bound to node " + pod.node_name + " already");
    }
    parts_.metrics.bind_ended(BindEnd::kRepeated);
    return success();
  }
  if (!info->request) {
    return bind_error(call, BindEnd::kRefused, message(info->request.error()));
  }
  if (info->request->empty()) return bind_without_gpu(call, pod);
  if (!serves(pod)) {
    return bind_error(call, BindEnd::kRefused,
                      "pod " + pod_name(call) + " names the scheduler " + pod.scheduler_name +
                          ", which Snug does not serve");
  }
  const auto claim = PodClaim::make(info, parts_.policy.current());
  if (!claim) return bind_error(call, BindEnd::kRefused, message(claim.error()));
  return bind_claim(call, *claim);
}

Reply ExtenderService::bind_claim(const Bind& call, const PodClaim& claim) {
  const PodFacts& pod = claim.pod().facts;
  const auto reserved = parts_.ledger.reserve({.claim = claim.view(),
                                               .pod = call.pod,
                                               .node = call.node,
                                               .other_constraints = pod.other_constraints});
  if (reserved) {
    try {
      return write_binding(call, pod, **reserved);
    } catch (...) {
      parts_.ledger.unsettled(call.uid);  // the binding may have been sent
      throw;
    }
  }
  const ReserveFailure& failure = reserved.error();
  if (failure.kind == ReserveFailure::Kind::kBound) {
    parts_.metrics.bind_ended(BindEnd::kRepeated);
    return success();
  }
  const bool lost = failure.kind == ReserveFailure::Kind::kNoFit &&
                    (failure.reason == ReasonCode::kPromised || reason(failure.reason).evictable);
  return bind_error(call, lost ? BindEnd::kLostRace : BindEnd::kRefused, describe(failure, call));
}

Reply ExtenderService::bind_without_gpu(const Bind& call, const PodFacts& pod) {
  if (parts_.ledger.find(call.uid)) {
    return bind_error(
        call, BindEnd::kRefused,
        "pod " + pod_name(call) + " asked for GPUs before, and that bind is not settled");
  }
  const Result<void> written = send_binding(call, blank_annotations(pod));
  if (written) {
    parts_.metrics.bind_ended(BindEnd::kBound);
    return success();
  }
  if (written.error().code == ErrorCode::kConflict) {
    return after_refusal(call, Took::kNothing, written.error());
  }
  const ErrorCode code = written.error().code;
  const BindEnd end = may_be_carried_out(code)          ? BindEnd::kUnknown
                      : code == ErrorCode::kUnavailable ? BindEnd::kUnavailable
                                                        : BindEnd::kRefused;
  return bind_error(call, end,
                    "pod " + pod_name(call) + " was not bound: " + written.error().message);
}

Result<void> ExtenderService::send_binding(const Bind& call, StringMap annotations) {
  std::optional<WriteFence::Pass> pass = parts_.fence.let_out(call.term);
  if (!pass) return fail(ErrorCode::kUnavailable, "this Snug is no longer the leader");
  Result<void> written = parts_.api.bind({.name_space = call.name_space,
                                          .pod = call.pod,
                                          .uid = call.uid,
                                          .node = call.node,
                                          .annotations = std::move(annotations),
                                          .not_after = pass->not_after()});
  if (written || !may_be_carried_out(written.error().code)) pass->answered();
  return written;
}

Reply ExtenderService::write_binding(const Bind& call, const PodFacts& pod,
                                     const Holding& holding) {
  StringMap annotations = write_reservation(holding.reservation, holding.main_container, pod);
  if (std::cmp_greater(annotations.find(kReservationKey)->second.size(),
                       options_.limits.max_reservation_bytes)) {
    parts_.ledger.release(call.uid);
    return bind_error(call, BindEnd::kRefused,
                      "the reservation of pod " + pod_name(call) + " has more than " +
                          std::to_string(options_.limits.max_reservation_bytes) +
                          " bytes and could not be read back");
  }
  const Result<void> written = send_binding(call, std::move(annotations));
  if (written) {
    parts_.ledger.bound(call.uid);
    parts_.metrics.bind_ended(BindEnd::kBound);
    parts_.log.write(LogLevel::kDebug, "bound pod " + pod_name(call) + " to node " + call.node);
    return success();
  }
  if (may_be_carried_out(written.error().code)) {
    parts_.ledger.unsettled(call.uid);
    return bind_error(call, BindEnd::kUnknown,
                      "the outcome of binding pod " + pod_name(call) + " to node " + call.node +
                          " is unknown, and its reservation is kept: " + written.error().message);
  }
  if (written.error().code == ErrorCode::kConflict) {
    return after_refusal(call, Took::kGpus, written.error());
  }
  parts_.ledger.release(call.uid);
  if (written.error().code == ErrorCode::kUnavailable) {
    return bind_error(call, BindEnd::kUnavailable,
                      "the binding was not sent: " + written.error().message);
  }
  return bind_error(
      call, BindEnd::kRefused,
      "the API server refused to bind pod " + pod_name(call) + ": " + written.error().message);
}

/// 409: the pod is bound already (perhaps by an earlier bind of ours), is being deleted, or has
/// another uid. A GET of the pod shows which.
Reply ExtenderService::after_refusal(const Bind& call, Took took, const Error& error) {
  auto fetched = parts_.api.get_pod(call.name_space, call.pod);
  if (!fetched) {
    if (took == Took::kGpus) parts_.ledger.unsettled(call.uid);
    return bind_error(call, BindEnd::kUnknown,
                      "the API server refused to bind pod " + pod_name(call) +
                          ", and the pod could not be read again: " + fetched.error().message);
  }
  std::optional<PodFacts>& found = *fetched;
  if (!found || found->uid != call.uid || found->node_name.empty() || found->finished) {
    if (took == Took::kGpus) parts_.ledger.release(call.uid);
    return bind_error(
        call, BindEnd::kRefused,
        "the API server refused to bind pod " + pod_name(call) + ": " + error.message);
  }
  const PodInfo pod(*std::move(found));
  const ReadHolding held = read_holding(pod, options_.limits);
  parts_.ledger.hold_as_read(held.holding);
  // Does nothing if the line above has made it a Bound entry.
  if (took == Took::kGpus) parts_.ledger.release(call.uid);
  if (pod.facts.node_name != call.node) {
    return bind_error(
        call, BindEnd::kRefused,
        "pod " + pod_name(call) + " is bound to node " + pod.facts.node_name + " already");
  }
  parts_.metrics.bind_ended(BindEnd::kRepeated);
  return success();
}

}  // namespace snug
