// Delivers events from the simulated API server to Snug's reconciler, as a real watch does: events
// are late, delivered twice, repeated after newer ones, or lost and replaced by a new list. The
// events of different pods may change their order; those of one pod keep it. Not thread-safe.
//
// A Feed records what it has delivered, so that the naive model checks Snug only against what Snug
// knows.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/harness/objects.hpp"
#include "snug/service/ports.hpp"
#include "support/random.hpp"

namespace snug {

class Feed {
 public:
  /// The state of a list of pods. kBegun: Snug has requested it. kTaken: the API server has read
  /// its store, and Snug has not received the list.
  enum class ListPhase { kNone, kBegun, kTaken };

  /// `note` gets a line for the trace about each delivery.
  Feed(Random& random, std::function<void(std::string)> note)
      : random_(random), note_(std::move(note)) {}

  /// Connects the feed to the sink of a new Snug process, which knows nothing.
  void restart(service::ClusterSink& sink);
  /// Snug requests new lists. A list that the API server has already taken may arrive before them.
  void relist();
  /// Calls stream_alive() or stream_lost() of the sink for nodes and pods.
  void alive();
  void lost();

  // Called when an object changes in the API server. Each call queues an event.
  void pod_changed(const model::PodFacts& pod);
  void pod_gone(const model::PodFacts& pod);
  void node_changed(const SimNode& node);
  void node_gone(const std::string& name);

  // Deliver events and lists to Snug.
  void deliver_pod_event();
  void deliver_node_event();
  void begin_list();
  void take_list(std::vector<model::PodFacts> pods);
  void finish_list();
  void list_nodes(const std::map<std::string, SimNode>& nodes);
  /// Delivers all queued events. No list may be in progress.
  void deliver_everything();

  [[nodiscard]] ListPhase phase() const { return phase_; }
  [[nodiscard]] bool nodes_listed() const { return nodes_listed_; }
  /// Whether Snug has received a list of nodes and a list of pods.
  [[nodiscard]] bool ready() const { return nodes_listed_ && pods_listed_; }
  /// The uids of the pods that a delivered event or list showed as bound.
  [[nodiscard]] const std::set<std::string>& told_bound() const { return told_bound_; }
  /// The nodes as the last delivered events and lists showed them.
  [[nodiscard]] const std::map<std::string, SimNode>& told_nodes() const { return told_nodes_; }

 private:
  struct PodEvent {
    bool gone = false;
    model::PodFacts pod;
  };
  struct NodeEvent {
    std::string name;
    std::optional<SimNode> node;  // nullopt: the node was deleted
  };

  void deliver(const PodEvent& event);
  void deliver(const NodeEvent& event);
  void repeat(const PodEvent& event);
  void pop(std::map<std::string, std::deque<PodEvent>>::iterator queue);

  Random& random_;
  std::function<void(std::string)> note_;
  service::ClusterSink* sink_ = nullptr;
  ListPhase phase_ = ListPhase::kNone;
  bool pods_listed_ = false;
  bool nodes_listed_ = false;
  bool again_ = false;  // the current list was requested before relist()
  std::map<std::string, std::deque<PodEvent>> pod_events_;  // by uid
  std::deque<PodEvent> delivered_;                          // since the last list, for repeats
  std::map<std::string, PodEvent> latest_;                  // since the last list, by uid
  std::deque<NodeEvent> node_events_;
  std::vector<model::PodFacts> list_;
  std::set<std::string> told_bound_;
  std::map<std::string, SimNode> told_nodes_;
};

}  // namespace snug
