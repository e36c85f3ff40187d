#include "service/bound_pods.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "snug/codec/reservation_codec.hpp"
#include "snug/request/pod_request_parser.hpp"

namespace snug::service {
namespace {

constexpr std::string_view kEdited =
    "its reservation was edited after binding; the ledger keeps the reservation that was bound";
constexpr std::string_view kAdded =
    "its reservation was added after the pod was bound without a GPU; the reservation counts, as "
    "it would after a restart";

std::shared_ptr<model::Holding> holding_of(const PodInfo& pod) {
  const model::PodFacts& facts = pod.facts;
  auto holding = std::make_shared<model::Holding>();
  holding->name_space = facts.name_space;
  holding->pod = facts.name;
  holding->uid = facts.uid;
  holding->reservation.uid = facts.uid;
  holding->reservation.node = facts.node_name;
  holding->terminating = facts.terminating;
  holding->has_other_constraints = facts.has_other_constraints;
  holding->host = pod.host;
  holding->rank = pod.rank;
  return holding;
}

std::string request_text(const model::Reservation& reservation) {
  std::vector<model::RequestText> texts;
  texts.reserve(reservation.containers.size());
  for (const model::ReservedContainer& container : reservation.containers) {
    texts.emplace_back(container.name, container.request_text);
  }
  return model::to_text(texts);
}

/// The type of each container of the reservation. A container that the pod does not have counts as
/// an app container.
std::vector<model::ContainerType> kinds_of(const model::Reservation& reservation,
                                           const model::PodFacts& pod) {
  std::vector<model::ContainerType> kinds;
  for (const model::ReservedContainer& container : reservation.containers) {
    const auto known =
        std::ranges::find(pod.containers, container.name, &model::ContainerFacts::name);
    kinds.push_back(known == pod.containers.end() ? model::ContainerType::kApp : known->type);
  }
  return kinds;
}

/// Describes an edit of the pod's request after the bind; empty: there was none. The request
/// `bound_with` stays in effect.
std::string edited_since(const PodInfo& pod, const std::string& bound_with) {
  if (pod.request && model::to_text(*pod.request) == bound_with) return {};
  return "its request was edited after binding; the request that it was bound with counts: " +
         bound_with;
}

bool asks_by_annotation(const model::PodFacts& pod) {
  return std::any_of(pod.annotations.begin(), pod.annotations.end(), [](const auto& annotation) {
    return request::is_request_key(annotation.first);
  });
}

/// The holding of a pod that was bound without a valid reservation. It is made from the pod's
/// current request, since nothing else shows which devices the pod may have.
ParsedHolding without_reservation(const PodInfo& pod, std::string problem) {
  const auto& request = pod.request;
  auto holding = holding_of(pod);
  if (request && request->empty()) return {std::move(holding), std::move(problem)};
  if (request && request->is_kubelet_assigned()) {
    holding->request_text = model::to_text(*request);
    for (const model::ContainerRequest& container : request->containers) {
      holding->reservation.containers.push_back(
          {.name = container.container,
           .request_text = container.text,
           .assigned = model::KubeletUnits{
               std::get<model::KubeletRequest>(container.device).resource, container.count}});
    }
    return {std::move(holding), std::move(problem)};
  }
  holding->unplaced = true;
  if (request) holding->request_text = model::to_text(*request);
  if (problem.empty() && asks_by_annotation(pod.facts)) {
    problem = "it asks for a GPU by annotation and was bound without a reservation";
  } else if (problem.empty()) {
    problem = "it asks for GPUs in a way that cannot be counted: " + request.error().sentence;
  }
  return {std::move(holding), problem + "; it was given no device, and node " +
                                  pod.facts.node_name +
                                  " accepts no other GPU pods until this pod ends"};
}

}  // namespace

ParsedHolding read_holding(const PodInfo& pod, const base::Limits& limits) {
  const model::PodFacts& facts = pod.facts;
  const auto found = facts.annotations.find(codec::kReservationKey);
  if (found == facts.annotations.end() || found->second.empty()) {
    return without_reservation(pod, {});
  }
  base::Result<codec::ParsedReservation> read = codec::read_reservation(found->second, limits);
  if (!read) {
    return without_reservation(pod, "its reservation is ignored: " + read.error().message);
  }
  model::Reservation& reservation = read->reservation;
  if (reservation.uid != facts.uid || reservation.node != facts.node_name) {
    return without_reservation(pod, "its reservation is ignored: it names another " +
                                        std::string(reservation.uid != facts.uid ? "pod" : "node"));
  }
  auto holding = holding_of(pod);
  holding->reservation_written = true;
  holding->suspect = read->suspect;
  holding->container_requests = std::move(read->container_requests);
  holding->request_text = request_text(reservation);
  holding->container_types = kinds_of(reservation, facts);
  holding->reservation = std::move(reservation);
  std::string problem = std::move(read->suspect_reason);
  if (problem.empty()) problem = edited_since(pod, holding->request_text);
  return {std::move(holding), std::move(problem)};
}

void BoundPods::apply(const PodInfo& pod, ShownBy source) {
  const ParsedHolding read = read_holding(pod, limits_);
  const bool as_known = source == ShownBy::kWatch ? parts_.ledger.hold(read.holding)
                                                  : parts_.ledger.hold_from_get(read.holding);
  if (!as_known) {
    report(pod, describe_edit(pod, *read.holding));
  } else if (!read.problem.empty()) {
    report(pod, read.problem);
  }
}

model::HoldingPtr BoundPods::read(const PodInfo& pod) {
  ParsedHolding read = read_holding(pod, limits_);
  if (!read.problem.empty()) report(pod, read.problem);
  return std::move(read.holding);
}

void BoundPods::report_edit(const PodInfo& pod) {
  report(pod, describe_edit(pod, *read_holding(pod, limits_).holding));
}

void BoundPods::forget(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  reported_.erase(std::string(uid));
}

std::string_view BoundPods::describe_edit(const PodInfo& pod, const model::Holding& shown) const {
  const auto entry = parts_.ledger.find(pod.facts.uid);
  const bool counts = entry && entry->holding->reservation == shown.reservation;
  return counts ? kAdded : kEdited;
}

void BoundPods::report(const PodInfo& pod, std::string_view problem) {
  if (!parts_.readiness.is_leader()) return;  // only the leader reports problems
  const model::PodFacts& facts = pod.facts;
  {
    const base::MutexLock lock(mutex_);
    if (reported_.size() >= static_cast<std::size_t>(limits_.max_tombstones)) reported_.clear();
    if (!reported_.insert(facts.uid).second) return;
  }
  parts_.metrics.reservation_problem(ReservationProblem::kReservation);
  parts_.log.write(LogLevel::kWarn, "pod " + pod.full_name() + ": " + std::string(problem));
  parts_.api.warn({.name_space = facts.name_space,
                   .pod = facts.name,
                   .uid = facts.uid,
                   .reason = "GpuReservationProblem",
                   .note = std::string(problem)});
}

}  // namespace snug::service
