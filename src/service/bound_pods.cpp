#include "service/bound_pods.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "snug/codec/reservation_codec.hpp"
#include "snug/request/pod_request_parser.hpp"

namespace snug::service {
namespace {

constexpr std::string_view kReservationEdited =
    "its reservation was edited after binding; the ledger keeps the reservation that was bound";
constexpr std::string_view kReservationAdded =
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
  holding->mirrored = pod.mirrored;
  holding->rank = pod.rank;
  return holding;
}

std::string request_text_of(const model::Reservation& reservation) {
  std::vector<model::RequestText> request_texts;
  request_texts.reserve(reservation.containers.size());
  for (const model::ReservedContainer& container : reservation.containers) {
    request_texts.emplace_back(container.name, container.request_text);
  }
  return model::to_text(request_texts);
}

/// The type of each container of the reservation. A container that the pod does not have counts as
/// an app container.
std::vector<model::ContainerType> container_types_of(const model::Reservation& reservation,
                                                     const model::PodFacts& pod) {
  std::vector<model::ContainerType> container_types;
  for (const model::ReservedContainer& container : reservation.containers) {
    const auto pod_container =
        std::ranges::find(pod.containers, container.name, &model::ContainerFacts::name);
    container_types.push_back(pod_container == pod.containers.end() ? model::ContainerType::kApp
                                                                    : pod_container->type);
  }
  return container_types;
}

/// Describes an edit of the pod's request after the bind; empty: there was none. The request
/// `bound_request` stays in effect.
std::string describe_request_edit(const PodInfo& pod, const std::string& bound_request) {
  if (pod.request && model::to_text(*pod.request) == bound_request) return {};
  return "its request was edited after binding; the request that it was bound with counts: " +
         bound_request;
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
  const auto annotation = facts.annotations.find(codec::kReservationKey);
  if (annotation == facts.annotations.end() || annotation->second.empty()) {
    return without_reservation(pod, {});
  }
  base::Result<codec::ParsedReservation> parsed_reservation =
      codec::read_reservation(annotation->second, limits);
  if (!parsed_reservation) {
    return without_reservation(pod,
                               "its reservation is ignored: " + parsed_reservation.error().message);
  }
  model::Reservation& reservation = parsed_reservation->reservation;
  if (reservation.uid != facts.uid || reservation.node != facts.node_name) {
    return without_reservation(pod, "its reservation is ignored: it names another " +
                                        std::string(reservation.uid != facts.uid ? "pod" : "node"));
  }
  auto holding = holding_of(pod);
  holding->reservation_written = true;
  holding->suspect = parsed_reservation->suspect;
  holding->container_requests = std::move(parsed_reservation->container_requests);
  holding->request_text = request_text_of(reservation);
  holding->container_types = container_types_of(reservation, facts);
  holding->reservation = std::move(reservation);
  std::string problem = std::move(parsed_reservation->suspect_reason);
  if (problem.empty()) problem = describe_request_edit(pod, holding->request_text);
  return {std::move(holding), std::move(problem)};
}

void BoundPods::apply(const PodInfo& pod, ShownBy shown_by) {
  const ParsedHolding parsed_holding = read_holding(pod, limits_);
  const bool agrees_with_ledger = shown_by == ShownBy::kWatch
                                      ? parts_.ledger.hold(parsed_holding.holding)
                                      : parts_.ledger.hold_from_get(parsed_holding.holding);
  if (!agrees_with_ledger) {
    report(pod, describe_edit(pod, *parsed_holding.holding));
  } else if (!parsed_holding.problem.empty()) {
    report(pod, parsed_holding.problem);
  }
}

model::HoldingPtr BoundPods::read(const PodInfo& pod) {
  ParsedHolding parsed_holding = read_holding(pod, limits_);
  if (!parsed_holding.problem.empty()) report(pod, parsed_holding.problem);
  return std::move(parsed_holding.holding);
}

void BoundPods::report_edit(const PodInfo& pod) {
  report(pod, describe_edit(pod, *read_holding(pod, limits_).holding));
}

void BoundPods::forget(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  reported_uids_.erase(std::string(uid));
}

std::string_view BoundPods::describe_edit(const PodInfo& pod,
                                          const model::Holding& shown_holding) const {
  const auto ledger_entry = parts_.ledger.find(pod.facts.uid);
  const bool reservation_counts =
      ledger_entry && ledger_entry->holding->reservation == shown_holding.reservation;
  return reservation_counts ? kReservationAdded : kReservationEdited;
}

void BoundPods::report(const PodInfo& pod, std::string_view problem) {
  if (!parts_.readiness.is_leader()) return;  // only the leader reports problems
  const model::PodFacts& facts = pod.facts;
  {
    const base::MutexLock lock(mutex_);
    if (reported_uids_.size() >= static_cast<std::size_t>(limits_.max_tombstones))
      reported_uids_.clear();
    if (!reported_uids_.insert(facts.uid).second) return;
  }
  parts_.metrics.reservation_problem(ReservationProblem::kReservation);
  parts_.log.write(LogLevel::kWarn, "pod " + pod.full_name() + ": " + std::string(problem),
                   {{"namespace", facts.name_space},
                    {"pod", facts.name},
                    {"uid", facts.uid},
                    {"node", facts.node_name}});
  parts_.api.notify({.name_space = facts.name_space,
                     .name = facts.name,
                     .uid = facts.uid,
                     .reason = "GpuReservationProblem",
                     .note = std::string(problem)});
}

}  // namespace snug::service
