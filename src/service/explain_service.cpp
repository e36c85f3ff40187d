#include "snug/service/explain_service.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "service/error_reply.hpp"
#include "service/holding_remark.hpp"
#include "service/tenant_view.hpp"
#include "snug/admission/pod_defaults.hpp"
#include "snug/base/limits.hpp"
#include "snug/codec/kube_objects.hpp"
#include "snug/explain/event_sentences.hpp"
#include "snug/explain/explain.hpp"
#include "snug/request/near_misses.hpp"

namespace snug::service {
namespace {

constexpr std::string_view kHypothetical = "hypothetical";

codec::ExplainReply::Node to_reply(explain::NodeReason reason) {
  return {std::move(reason.node), std::string(model::reason_row(reason.code).code),
          std::move(reason.sentence)};
}

void set_refusal(const model::Refusal& refusal, codec::ExplainReply& reply) {
  const model::ReasonRow& row = model::reason_row(refusal.code);
  reply.refusal = {std::string(row.code),
                   refusal.sentence.empty() ? std::string(row.sentence) : refusal.sentence};
}

void set_explanation(const explain::Explanation& explanation, codec::ExplainReply& reply) {
  reply.nodes = static_cast<std::int64_t>(explanation.nodes);
  reply.feasible = static_cast<std::int64_t>(explanation.feasible);
  for (const explain::ReasonCount& count : explanation.reasons) {
    const model::ReasonRow& row = model::reason_row(count.code);
    reply.reasons.push_back(
        {std::string(row.code), std::string(row.sentence), static_cast<std::int64_t>(count.nodes)});
  }
  if (explanation.nearest) reply.nearest = to_reply(*explanation.nearest);
  reply.blockers = explanation.blockers;
  for (const explain::Advice& advice : explanation.advice) {
    reply.advice.push_back({.kind = std::string(explain::kAdviceKindNames[advice.kind]),
                            .sentence = advice.sentence,
                            .place = advice.place,
                            .command = advice.command});
  }
}

/// The names of the nodes' GPU models, sorted.
std::vector<std::string> models_of(const model::Snapshot& snapshot) {
  std::set<std::string_view> names;
  std::vector<bool> is_known(snapshot.models == nullptr ? 1 : snapshot.models->size());
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    if (snapshot.nodes[slot] == nullptr) continue;
    for (const model::GpuState& gpu : snapshot.nodes[slot]->gpus) {
      // Most GPUs are of a model that was seen before; model 0 may be any.
      if (gpu.info->model_id != 0 && is_known[gpu.info->model_id]) continue;
      is_known[gpu.info->model_id] = true;
      if (!gpu.info->model.empty()) names.insert(gpu.info->model);
    }
  }
  return {names.begin(), names.end()};
}

/// A sentence about a pattern of gpu-model that no node's GPU matches; empty: there is none.
std::string unmatched_models(const model::GpuRequest& gpu_request,
                             const model::Snapshot& snapshot) {
  const bool names_models = std::ranges::any_of(
      gpu_request.containers, [](const model::ContainerRequest& container_request) {
        return !container_request.models.included.empty();
      });
  return names_models ? request::unmatched_models(gpu_request, models_of(snapshot)) : "";
}

using Slots = std::vector<std::uint32_t>;

/// ExplainInput::offered for what PlacementLog::offered_to() returned.
std::optional<Slots> slots_of(const std::optional<OfferedNodesPtr>& offered,
                              const model::Snapshot& snapshot) {
  if (!offered || *offered == nullptr) return std::nullopt;
  return (*offered)->slots_in(snapshot);
}

/// Which nodes the explanation is about, where this must be said; empty: all nodes were offered.
std::string note_about_offer(const std::optional<OfferedNodesPtr>& offered, bool is_followed,
                             const explain::Explanation& explanation) {
  if (offered && *offered == nullptr) return {};
  if (!offered || !is_followed) {
    return "kube-scheduler's own rules (node selectors, affinity, taints, cordons) may exclude "
           "some "
           "of these nodes";
  }
  const std::size_t unknown = (*offered)->unknown_nodes();
  std::string note = "at its last attempt kube-scheduler offered " +
                     std::to_string(explanation.nodes) + " of " +
                     std::to_string(explanation.known_nodes) + " nodes for the pod";
  if (unknown > 0) note += " and " + std::to_string(unknown) + " that Snug does not know";
  if (explanation.nodes < explanation.known_nodes) {
    note +=
        ", and only these are explained: node selectors, affinity, taints, cordons or "
        "percentageOfNodesToScore exclude the others";
  }
  return note;
}

Reply no_such_pod(const std::string& name_space, const std::string& name) {
  return error_reply(404, "pod " + name_space + "/" + name +
                              " is neither pending nor holds a GPU: it does not exist, has "
                              "ended, or is bound and asks for no GPU");
}

}  // namespace

Reply ExplainService::explain(const ExplainQuery& query) {
  if (!parts_.readiness.is_ready() && !parts_.readiness.is_warm_standby())
    return error_reply(503, "Snug is not ready: " + parts_.readiness.why_not());
  // Each call holds a thread of the admin port, also while it waits for mutex_.
  const int others = explanations_.fetch_add(1);
  struct Leave {
    std::atomic<int>& explanations;
    ~Leave() { --explanations; }
  } const leave{explanations_};
  if (others >= base::kMaxExplanationsAtOnce)
    return error_reply(503, "Snug is busy with other explanations; try again");
  if (query.pod && !query.manifest) return explain_pod(*query.pod, query);
  if (query.manifest && !query.pod) return explain_manifest(*query.manifest, query);
  return error_reply(400,
                     "the query must have either pod (with namespace) or manifest, a pod in JSON");
}

Reply ExplainService::explain_pod(const std::string& name, const ExplainQuery& query) {
  const std::string name_space = query.name_space.value_or("default");
  codec::ExplainReply reply{.name_space = name_space, .pod = name, .state = "pending"};
  const PodInfoPtr pending_pod = parts_.pending.find(name_space, name);
  if (const auto entry = parts_.ledger.find_gpu_pod(name_space, name)) {
    explain_held(*entry, reply);
  } else if (pending_pod != nullptr) {
    reply.uid = pending_pod->facts.uid;
    explain_unbound(pending_pod, query.per_node && !query.own_pods_only, reply);
  } else {
    return no_such_pod(name_space, name);
  }
  if (query.own_pods_only) reply = tenant_view(std::move(reply));
  return {200, codec::write_explanation(reply)};
}

Reply ExplainService::explain_manifest(const std::string& manifest, const ExplainQuery& query) {
  codec::KubeObjectReader reader(options_.limits);
  base::Result<model::PodFacts> pod = reader.read_pod(manifest);
  if (!pod) return error_reply(400, "manifest: " + pod.error().message);
  if (pod->uid.empty()) pod->uid = kHypothetical;
  codec::ExplainReply reply{
      .name_space = pod->name_space, .pod = pod->name, .state = std::string(kHypothetical)};
  explain_unbound(std::make_shared<const PodInfo>(*std::move(pod)), query.per_node, reply);
  return {200, codec::write_explanation(reply)};
}

void ExplainService::explain_unbound(const PodInfoPtr& pod, bool per_node,
                                     codec::ExplainReply& reply) {
  const model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  reply.generation = static_cast<std::int64_t>(snapshot->generation.value);
  if (!pod->request) return set_refusal(pod->request.error(), reply);
  reply.request = explain::request_in_words(*pod->request);
  if (pod->request->empty()) {
    reply.notes = notes_for(pod->facts, {});
    reply.notes.emplace_back("the pod asks for no GPU, so Snug does not restrict where it goes");
    return;
  }
  const bool is_served = options_.serves(pod->facts.scheduler_name);
  // A manifest need not name the scheduler: admission sets it when the pod is created.
  const bool is_hypothetical = reply.state == kHypothetical;
  const bool names_default = pod->facts.scheduler_name.empty() ||
                             pod->facts.scheduler_name == admission::kDefaultScheduler;
  if (!is_served && !(is_hypothetical && names_default))
    return set_refusal({model::ReasonCode::kNotServed, {}}, reply);
  const auto claim = PodClaim::make(pod, parts_.policy.current());
  if (!claim) return set_refusal(claim.error(), reply);
  explain_claim(*claim, *snapshot, per_node, reply);
  if (!is_served) {
    reply.notes.push_back(
        "the manifest names no scheduler, or the default one; Snug serves pods whose schedulerName "
        "is " +
        options_.scheduler_names.front() +
        ", which the admission defaults set when the pod is created");
  }
}

void ExplainService::explain_claim(const PodClaim& claim, const model::Snapshot& snapshot,
                                   bool per_node, codec::ExplainReply& reply) {
  // The snapshot was taken before this list, which therefore has every bind that the snapshot shows
  // and that is still in flight.
  const std::vector<std::string> in_flight = parts_.ledger.uids_in_flight();
  const std::vector<std::string_view> protected_uids(in_flight.begin(), in_flight.end());
  const std::string& uid = claim.pod().facts.uid;
  const auto offered = parts_.placements.offered_to(uid);
  const std::optional<Slots> slots = slots_of(offered, snapshot);
  const explain::ExplainInput input{.snapshot = snapshot,
                                    .incoming = claim.view(),
                                    .protected_uids = protected_uids,
                                    .offered = slots,
                                    .per_node = per_node};
  const base::MutexLock lock(mutex_);
  explain::Explanation explanation = explain::explain(input);
  set_explanation(explanation, reply);
  reply.notes = notes_for(claim.pod().facts, explanation);
  if (std::string note = note_about_offer(offered, slots.has_value(), explanation); !note.empty())
    reply.notes.push_back(std::move(note));
  const std::string unmatched = unmatched_models(*claim.pod().request, snapshot);
  if (!unmatched.empty()) reply.notes.push_back(unmatched);
  if (auto best = explain::compare_best(input, explanation))
    reply.placement = {*std::move(best), "now"};
  if (!per_node) return;
  std::vector<codec::ExplainReply::Node>& rows = reply.per_node.emplace();
  rows.reserve(explanation.per_node.size());
  for (explain::NodeReason& reason : explanation.per_node)
    rows.push_back(to_reply(std::move(reason)));
}

std::string ExplainService::refusal_sentence(const PodInfoPtr& pod, const model::Refusal& refusal,
                                             const OfferedNodesPtr& offered) {
  if (refusal.code == model::ReasonCode::kNotServed) return model::message(refusal);
  const auto claim = PodClaim::make(pod, parts_.policy.current());
  if (!claim) return model::message(claim.error());
  const model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  const std::string unmatched = unmatched_models(*claim->pod().request, *snapshot);
  if (!unmatched.empty()) return model::message(refusal) + ": " + unmatched;
  const std::vector<std::string> in_flight = parts_.ledger.uids_in_flight();
  const std::vector<std::string_view> protected_uids(in_flight.begin(), in_flight.end());
  const std::optional<Slots> slots = slots_of(offered, *snapshot);
  const base::MutexLock lock(mutex_);
  return explain::refusal_sentence(refusal, explain::explain({.snapshot = *snapshot,
                                                              .incoming = claim->view(),
                                                              .protected_uids = protected_uids,
                                                              .offered = slots}));
}

void ExplainService::explain_held(const ledger::LedgerEntry& entry, codec::ExplainReply& reply) {
  const model::Holding& pod = *entry.holding;
  const model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  reply.generation = static_cast<std::int64_t>(snapshot->generation.value);
  reply.uid = pod.uid;
  reply.node = pod.reservation.node;
  reply.state = pod.terminating                               ? "terminating"
                : entry.state == ledger::HoldingState::kBound ? "bound"
                                                              : "reserved";
  model::GpuRequest request;
  for (std::size_t c = 0; c < pod.container_requests.size(); ++c) {
    const std::optional<model::ContainerRequest>& container_request = pod.container_requests[c];
    if (!container_request) continue;
    request.containers.push_back(*container_request);
    request.containers.back().container = pod.reservation.containers[c].name;
  }
  reply.request = explain::request_in_words(request);
  if (pod.unplaced) {
    reply.notes.emplace_back(
        "the pod has no reservation that Snug can read, so Snug knows none of its devices: another "
        "scheduler bound it, or the annotation snug.dev/reservation was edited; delete it, and let "
        "a scheduler that calls Snug bind it");
    return;
  }
  if (std::string remark = unknown_node_remark(pod, *snapshot); !remark.empty())
    reply.notes.push_back(std::move(remark));
  if (auto remembered = parts_.placements.placement_of(pod.uid)) {
    reply.placement = {std::move(remembered->comparison), "at bind"};
    std::ranges::move(remembered->likely_mistakes, std::back_inserter(reply.notes));
    return;
  }
  auto reply_of_api = parts_.api.get_pod(pod.name_space, pod.pod);
  std::optional<model::PodFacts> api_pod = reply_of_api ? *std::move(reply_of_api) : std::nullopt;
  if (api_pod && api_pod->uid != pod.uid) api_pod.reset();
  if (api_pod) {
    for (const request::NearMiss& near_miss : request::near_misses(*api_pod))
      reply.notes.push_back(near_miss.sentence);
  }
  if (!api_pod) {
    reply.notes.emplace_back("Snug does not remember why it chose this node");
    return;
  }
  const auto claim =
      PodClaim::make(std::make_shared<const PodInfo>(*std::move(api_pod)), parts_.policy.current());
  if (!claim || !claim->pod().asks_for_gpus()) return;
  const base::MutexLock lock(mutex_);
  if (auto comparison = explain::compare_bound(*snapshot, claim->view(), pod)) {
    reply.placement = {*std::move(comparison), "now"};
  } else {
    reply.notes.emplace_back(
        "Snug does not remember why it chose this node, and would refuse the pod there now: the "
        "pod, the node or the policy has changed since");
  }
}

std::vector<std::string> ExplainService::notes_for(const model::PodFacts& pod,
                                                   const explain::Explanation& explanation) const {
  std::vector<std::string> notes;
  for (const request::NearMiss& near_miss : request::near_misses(pod))
    notes.push_back(near_miss.sentence);
  if (explanation.lacking_host_resources > 0) {
    const bool is_one = explanation.lacking_host_resources == 1;
    notes.push_back("the GPUs of " + std::to_string(explanation.lacking_host_resources) +
                    (is_one ? " node have room, but it lacks" : " nodes have room, but they lack") +
                    " CPU, memory or pod slots");
  }
  if (pod.gated) notes.emplace_back("the pod has scheduling gates, so no scheduler tries it");
  if (explanation.feasible > 0 && pod.has_other_constraints) {
    notes.emplace_back(
        "the pod has constraints that only kube-scheduler checks, such as affinity, volumes or "
        "ports");
  }
  return notes;
}

}  // namespace snug::service
