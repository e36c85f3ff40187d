#include "snug/service/reconciler.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "service/bind_settler.hpp"
#include "service/bound_pods.hpp"
#include "service/closure_reporter.hpp"
#include "service/layout_changes.hpp"
#include "service/node_events.hpp"
#include "service/node_intake.hpp"
#include "service/node_mirror.hpp"
#include "service/pod_nominator.hpp"
#include "service/pod_waker.hpp"

namespace snug::service {

struct Reconciler::Jobs {
  Jobs(const ReconcilerParts& parts, const base::Limits& limits,
       const std::optional<admission::CardRange>& mirrored_cards)
      : bound_pods({parts.ledger, parts.readiness, parts.api, parts.metrics, parts.log}, limits),
        node_events({parts.readiness, parts.api, parts.clock}, limits),
        pod_nominator(parts.ledger, parts.log, limits),
        node_intake({parts.ledger, node_events, parts.metrics, parts.log, parts.heartbeats},
                    limits),
        pod_waker({parts.ledger, parts.pending, parts.api, parts.metrics, parts.log, parts.clock},
                  limits),
        bind_settler(
            {parts.ledger, parts.pending, parts.demand, bound_pods, parts.api, parts.clock},
            limits),
        closure_reporter(parts.api, parts.metrics, parts.log),
        layout_reporter(parts.api, limits),
        node_mirror({parts.ledger, parts.readiness, parts.api, parts.log, parts.clock}, limits,
                    mirrored_cards),
        settle_interval(limits.settle_interval_ms) {}

  BoundPods bound_pods;
  NodeEvents node_events;
  // Members that only the thread that reports pods uses.
  PodNominator pod_nominator;
  ledger::ListMark pod_list_mark;
  bool nodes_were_listed = false;  // only the thread that reports nodes uses it
  // Used by the thread that reports nodes, and by tick().
  NodeIntake node_intake;
  // Members that only the thread that calls tick() uses.
  PodWaker pod_waker;
  BindSettler bind_settler;
  ClosureReporter closure_reporter;
  LayoutReporter layout_reporter;
  NodeMirror node_mirror;
  const std::chrono::milliseconds settle_interval;
  base::TimePoint last_settle;
};

namespace {

/// The pod as DemandTracker counts it. Nullopt: it asks for no GPU, is malformed, or has scheduling
/// gates.
std::optional<ledger::DemandTracker::ObservedPod> demand_of(const PodInfo& pod) {
  if (pod.facts.gated || !pod.shape) return std::nullopt;
  return ledger::DemandTracker::ObservedPod{
      .uid = pod.facts.uid, .shape = *pod.shape, .placed = !pod.facts.node_name.empty()};
}

}  // namespace

Reconciler::Reconciler(ReconcilerParts parts, const base::Limits& limits,
                       const std::optional<admission::CardRange>& mirrored_cards)
    : parts_(parts), jobs_(std::make_unique<Jobs>(parts_, limits, mirrored_cards)) {}

Reconciler::~Reconciler() = default;

void Reconciler::stream_alive(Resource resource, std::string_view version) {
  parts_.readiness.mark_alive(resource, version);
}

void Reconciler::stream_lost(Resource resource) { parts_.readiness.mark_lost(resource); }

void Reconciler::pod_list_started() {
  parts_.readiness.begin_list(Resource::kPods);
  jobs_->pod_list_mark = parts_.ledger.begin_list();
  parts_.pending.list_begins();
}

void Reconciler::pods_listed(std::vector<model::PodFacts> pods) {
  ledger::ListedPods listed_pods;
  std::vector<PodInfoPtr> bound_pods;
  std::vector<PodInfoPtr> unbound_pods;
  std::vector<ledger::DemandTracker::ObservedPod> observed_pods;
  for (model::PodFacts& pod_facts : pods) {
    if (pod_facts.finished) continue;
    // A pod that ended after the list was requested stays ended: it is neither pending nor part of
    // the demand.
    if (parts_.ledger.ended_after(jobs_->pod_list_mark, pod_facts.uid)) {
      listed_pods.living.insert(pod_facts.uid);
      continue;
    }
    const bool is_bound = !pod_facts.node_name.empty();
    const PodInfoPtr pod = is_bound ? std::make_shared<const PodInfo>(std::move(pod_facts))
                                    : parts_.pending.intern(std::move(pod_facts));
    listed_pods.living.insert(pod->facts.uid);
    if (auto observed_pod = demand_of(*pod)) observed_pods.push_back(*std::move(observed_pod));
    if (is_bound) {
      listed_pods.bound.push_back(jobs_->bound_pods.read(*pod));
    } else if (model::NominationPtr nomination = PodNominator::nomination_of(*pod)) {
      listed_pods.nominated.push_back(std::move(nomination));
    }
    (is_bound ? bound_pods : unbound_pods).push_back(pod);
  }
  const ledger::ListResult list_result =
      parts_.ledger.replace_holdings(jobs_->pod_list_mark, listed_pods);
  for (const PodInfoPtr& pod : bound_pods) {
    if (std::ranges::binary_search(list_result.edited_uids, pod->facts.uid)) {
      jobs_->bound_pods.report_edit(*pod);
    }
  }
  jobs_->pod_nominator.replaced(list_result.dropped_nominations);
  parts_.demand.observe_pod_list(observed_pods);
  if (parts_.events != nullptr) {
    for (const PodInfoPtr& pod : unbound_pods) parts_.events->note_unbound(pod);
  }
  parts_.pending.replace(std::move(unbound_pods));
  parts_.readiness.mark_listed(Resource::kPods);
}

void Reconciler::pod_changed(model::PodFacts pod) {
  if (pod.finished) {
    pod_gone(pod);
  } else if (pod.node_name.empty()) {
    unbound_pod_changed(std::move(pod));
  } else {
    const PodInfo bound_pod(std::move(pod));
    parts_.pending.remove(bound_pod.facts.uid);
    jobs_->bound_pods.apply(bound_pod, BoundPods::ShownBy::kWatch);
    note_demand(bound_pod);
  }
}

void Reconciler::unbound_pod_changed(model::PodFacts facts) {
  if (parts_.ledger.has_ended(facts.uid)) return;
  PodInfoPtr pod = parts_.pending.intern(std::move(facts));
  note_demand(*pod);
  jobs_->pod_nominator.update(*pod);
  if (parts_.events != nullptr) parts_.events->note_unbound(pod);
  parts_.pending.put(std::move(pod));
}

void Reconciler::pod_gone(const model::PodFacts& pod) {
  // The ledger must end the pod before `pending` removes it. A filter call may note a refusal of
  // the pod after the removal; it then sees that the pod has ended, and drops the refusal.
  parts_.ledger.end_pod(pod.uid);
  parts_.pending.remove(pod.uid);
  parts_.demand.pod_left(pod.uid);
  jobs_->bound_pods.forget(pod.uid);
}

void Reconciler::note_demand(const PodInfo& pod) {
  const auto observed_pod = demand_of(pod);
  if (!observed_pod || parts_.ledger.has_ended(pod.facts.uid)) return;
  parts_.demand.observe_pod(*observed_pod);
  // tick() runs in another thread, and may have ended the pod since the first check.
  if (parts_.ledger.has_ended(pod.facts.uid)) parts_.demand.pod_left(pod.facts.uid);
}

void Reconciler::note_own_binds() {
  for (model::HoldingPtr& pod : parts_.ledger.take_own_binds()) {
    if (parts_.events != nullptr) parts_.events->note_bound(std::move(pod));
  }
}

void Reconciler::node_list_started() { parts_.readiness.begin_list(Resource::kNodes); }

void Reconciler::nodes_listed(std::vector<model::NodeFacts> nodes) {
  jobs_->node_intake.replace(std::move(nodes));
  if (!std::exchange(jobs_->nodes_were_listed, true) && jobs_->node_intake.lacks_heartbeats())
    parts_.readiness.await_heartbeats();
  parts_.demand.observe_nodes();
  parts_.readiness.mark_listed(Resource::kNodes);
}

void Reconciler::node_changed(model::NodeFacts node) { jobs_->node_intake.put(std::move(node)); }

void Reconciler::node_gone(std::string_view name) { jobs_->node_intake.remove(name); }

void Reconciler::tick() {
  Jobs& jobs = *jobs_;
  if (!parts_.readiness.is_leader()) {
    jobs.pod_waker.stand_by();
    jobs.node_mirror.stand_by();
  }
  note_own_binds();
  if (jobs.node_intake.update_agents()) parts_.readiness.heartbeats_applied();
  jobs.node_events.write();
  if (!parts_.readiness.is_ready()) return;
  jobs.pod_waker.wake();
  const base::TimePoint now = parts_.clock.now();
  if (now - jobs.last_settle >= jobs.settle_interval) {
    jobs.last_settle = now;
    jobs.layout_reporter.look_at(*parts_.ledger.snapshot(), parts_.pending);
    jobs.bind_settler.settle();
  }
  jobs.closure_reporter.look_at(*parts_.ledger.snapshot());
  jobs.node_mirror.write();
}

bool Reconciler::remove_mirrors() {
  NodeMirror& node_mirror = jobs_->node_mirror;
  if (!parts_.readiness.is_leader()) node_mirror.stand_by();
  if (parts_.readiness.is_ready()) node_mirror.write();
  return node_mirror.is_removed();
}

}  // namespace snug::service
