#include "snug/service/holding.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "snug/codec/reservation_codec.hpp"
#include "snug/request/host.hpp"
#include "snug/request/parse.hpp"
#include "snug/service/pod_claim.hpp"

namespace snug {
namespace {

std::shared_ptr<Holding> holding_of(const PodFacts& pod) {
  auto holding = std::make_shared<Holding>();
  holding->name_space = pod.name_space;
  holding->pod = pod.name;
  holding->uid = pod.uid;
  holding->reservation.uid = pod.uid;
  holding->reservation.node = pod.node_name;
  holding->terminating = pod.terminating;
  holding->other_constraints = pod.other_constraints;
  holding->host = host_request(pod);
  holding->rank = rank_of(pod);
  return holding;
}

std::string request_text(const Reservation& reservation) {
  std::vector<RequestText> texts;
  texts.reserve(reservation.containers.size());
  for (const ReservedContainer& container : reservation.containers) {
    texts.emplace_back(container.name, container.request);
  }
  return to_text(texts);
}

/// What the reservation's containers are in the pod; one that the pod does not have counts as an
/// app.
std::vector<ContainerKind> kinds_of(const Reservation& reservation, const PodFacts& pod) {
  std::vector<ContainerKind> kinds;
  for (const ReservedContainer& container : reservation.containers) {
    const auto known = std::ranges::find(pod.containers, container.name, &ContainerFacts::name);
    kinds.push_back(known == pod.containers.end() ? ContainerKind::kApp : known->kind);
  }
  return kinds;
}

/// A request is what the pod said when it was bound; that it says something else today is only
/// reported. Empty: it does not.
std::string edited_since(const PodFacts& pod, const std::string& bound_with) {
  const auto today = parse_request(pod);
  if (today && to_text(*today) == bound_with) return {};
  return "its request was edited after binding; what counts is what it was bound with: " +
         bound_with;
}

bool asks_by_annotation(const PodFacts& pod) {
  return std::any_of(pod.annotations.begin(), pod.annotations.end(),
                     [](const auto& annotation) { return is_request_key(annotation.first); });
}

/// A pod that was bound without (valid) reservation: counted by what it asks today, since nothing
/// else says what it got.
ReadHolding without_reservation(const PodFacts& pod, std::string problem) {
  const auto request = parse_request(pod);
  auto holding = holding_of(pod);
  if (request && request->empty()) return {std::move(holding), std::move(problem)};
  if (request && request->kubelet_assigned()) {
    holding->request = to_text(*request);
    for (const ContainerRequest& container : request->containers) {
      holding->reservation.containers.push_back(
          {.name = container.container,
           .request = container.text,
           .given = KubeletUnits{std::get<KubeletAsk>(container.ask).resource, container.count}});
    }
    return {std::move(holding), std::move(problem)};
  }
  holding->unplaced = true;
  if (request) holding->request = to_text(*request);
  if (problem.empty() && asks_by_annotation(pod)) {
    problem = "it asks for a GPU by annotation and was bound without a reservation";
  } else if (problem.empty()) {
    problem = "it asks for GPUs in a way that cannot be counted: " + request.error().sentence;
  }
  return {std::move(holding), problem + "; it was given no device, and node " + pod.node_name +
                                  " takes no other GPU pods while it lives"};
}

}  // namespace

ReadHolding read_holding(const PodFacts& pod, const Limits& limits) {
  const auto found = pod.annotations.find(kReservationKey);
  if (found == pod.annotations.end() || found->second.empty()) return without_reservation(pod, {});
  Result<ReadReservation> read = read_reservation(found->second, limits);
  if (!read) {
    return without_reservation(pod, "its reservation is ignored: " + read.error().message);
  }
  Reservation& reservation = read->reservation;
  if (reservation.uid != pod.uid || reservation.node != pod.node_name) {
    return without_reservation(pod, "its reservation is ignored: it names another " +
                                        std::string(reservation.uid != pod.uid ? "pod" : "node"));
  }
  auto holding = holding_of(pod);
  holding->written = true;
  holding->suspect = read->suspect;
  holding->asks = std::move(read->asks);
  holding->request = request_text(reservation);
  holding->kinds = kinds_of(reservation, pod);
  holding->reservation = std::move(reservation);
  std::string problem = std::move(read->suspect_why);
  if (problem.empty()) problem = edited_since(pod, holding->request);
  return {std::move(holding), std::move(problem)};
}

}  // namespace snug
