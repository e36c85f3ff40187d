#include "sim/harness/feed.hpp"

#include <iterator>
#include <utility>

namespace snug {
namespace {

constexpr std::size_t kRemembered = 24;

}  // namespace

void Feed::restart(service::ClusterSink& sink) {
  sink_ = &sink;
  phase_ = ListPhase::kNone;
  pods_listed_ = false;
  nodes_listed_ = false;
  again_ = false;
  pod_events_.clear();
  node_events_.clear();
  delivered_.clear();
  latest_.clear();
  told_bound_.clear();
  told_nodes_.clear();
}

void Feed::relist() {
  again_ = phase_ == ListPhase::kTaken && random_.chance(50);
  if (!again_) {
    phase_ = ListPhase::kNone;
    list_.clear();
  }
  pods_listed_ = false;
  nodes_listed_ = false;
}

void Feed::alive() {
  for (const service::Resource resource : {service::Resource::kNodes, service::Resource::kPods}) {
    sink_->stream_alive(resource, "");
  }
}

void Feed::lost() {
  for (const service::Resource resource : {service::Resource::kNodes, service::Resource::kPods})
    sink_->stream_lost(resource);
}

void Feed::pod_changed(const model::PodFacts& pod) { pod_events_[pod.uid].push_back({false, pod}); }
void Feed::pod_gone(const model::PodFacts& pod) { pod_events_[pod.uid].push_back({true, pod}); }
void Feed::node_changed(const SimNode& node) { node_events_.push_back({node.name, node}); }
void Feed::node_gone(const std::string& name) { node_events_.push_back({name, std::nullopt}); }

void Feed::deliver(const PodEvent& event) {
  note_("  " + event.pod.uid + (event.gone ? " gone" : " on " + event.pod.node_name) +
        (event.pod.terminating ? " terminating" : "") + (event.pod.finished ? " finished" : ""));
  if (event.gone) {
    sink_->pod_gone(event.pod);
    return;
  }
  if (!event.pod.node_name.empty()) told_bound_.insert(event.pod.uid);
  sink_->pod_changed(event.pod);
}

void Feed::deliver(const NodeEvent& event) {
  if (event.node) {
    told_nodes_[event.name] = *event.node;
    sink_->node_changed(to_facts(*event.node));
  } else {
    told_nodes_.erase(event.name);
    sink_->node_gone(event.name);
  }
}

void Feed::pop(std::map<std::string, std::deque<PodEvent>>::iterator queue) {
  PodEvent event = std::move(queue->second.front());
  queue->second.pop_front();
  if (queue->second.empty()) pod_events_.erase(queue);
  deliver(event);
  latest_.insert_or_assign(event.pod.uid, event);
  delivered_.push_back(std::move(event));
  if (delivered_.size() > kRemembered) delivered_.pop_front();
}

/// Repeats an event, as a restarted watch does, and then the newest event of the same pod.
void Feed::repeat(const PodEvent& event) {
  const PodEvent newest = latest_.at(event.pod.uid);
  deliver(PodEvent(event));
  if (!newest.gone && newest.pod.resource_version != event.pod.resource_version) deliver(newest);
}

void Feed::deliver_pod_event() {
  if (phase_ != ListPhase::kNone || !pods_listed_) return;
  if (!delivered_.empty() && random_.chance(15)) {
    repeat(delivered_[random_.below(delivered_.size())]);
    return;
  }
  if (pod_events_.empty()) return;
  pop(std::next(pod_events_.begin(),
                static_cast<std::ptrdiff_t>(random_.below(pod_events_.size()))));
  if (random_.chance(10)) deliver(PodEvent(delivered_.back()));
}

void Feed::deliver_node_event() {
  if (!nodes_listed_ || node_events_.empty()) return;
  const NodeEvent event = std::move(node_events_.front());
  node_events_.pop_front();
  deliver(event);
  if (random_.chance(10)) deliver(event);
}

void Feed::begin_list() {
  phase_ = ListPhase::kBegun;
  note_("  begins");
  sink_->pod_list_started();
}

void Feed::take_list(std::vector<model::PodFacts> pods) {
  phase_ = ListPhase::kTaken;
  note_("  is taken");
  list_ = std::move(pods);
  // The list contains all earlier changes, so their events are not delivered.
  pod_events_.clear();
  delivered_.clear();
  latest_.clear();
}

void Feed::finish_list() {
  phase_ = ListPhase::kNone;
  pods_listed_ = !std::exchange(again_, false);
  note_("  is in");
  for (const model::PodFacts& pod : list_) {
    if (!pod.node_name.empty()) told_bound_.insert(pod.uid);
  }
  sink_->pods_listed(std::move(list_));
  list_.clear();
}

void Feed::list_nodes(const std::map<std::string, SimNode>& nodes) {
  nodes_listed_ = true;
  sink_->node_list_started();
  node_events_.clear();
  told_nodes_ = nodes;
  std::vector<model::NodeFacts> facts;
  for (const auto& [name, node] : nodes) facts.push_back(to_facts(node));
  sink_->nodes_listed(std::move(facts));
}

void Feed::deliver_everything() {
  while (!pod_events_.empty()) pop(pod_events_.begin());
  while (!node_events_.empty()) deliver_node_event();
}

}  // namespace snug
