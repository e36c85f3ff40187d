// The way of events from the simulated API server to Snug's reconciler, with everything that a real
// watch does to them: late, doubled, repeated when stale, in another order between pods, or lost
// and made up for by a new list. Events of one pod keep their order. Not thread-safe.
//
// It knows what Snug has been told, which is what the naive model holds Snug to.
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
  /// A list of pods: Snug begins it, the API server reads its store, Snug is given it.
  enum class ListPhase { kNone, kBegun, kTaken };

  /// `note` is told what is delivered.
  Feed(Random& random, std::function<void(std::string)> note)
      : random_(random), note_(std::move(note)) {}

  /// Snug is new and knows nothing.
  void restart(service::ClusterSink& sink);
  /// Snug asks for new lists. One that the API server has sent already may still come first.
  void relist();
  /// Bytes come, or come no more.
  void alive();
  void lost();

  // What happens in the API server.
  void pod_changed(const model::PodFacts& pod);
  void pod_gone(const model::PodFacts& pod);
  void node_changed(const SimNode& node);
  void node_gone(const std::string& name);

  // What Snug is told.
  void deliver_pod_event();
  void deliver_node_event();
  void begin_list();
  void take_list(std::vector<model::PodFacts> pods);
  void finish_list();
  void list_nodes(const std::map<std::string, SimNode>& nodes);
  /// All events that wait; no list is under way.
  void deliver_everything();

  [[nodiscard]] ListPhase phase() const { return phase_; }
  [[nodiscard]] bool nodes_listed() const { return nodes_listed_; }
  /// Both first lists are in.
  [[nodiscard]] bool ready() const { return nodes_listed_ && pods_listed_; }
  /// Pods that Snug has been shown bound.
  [[nodiscard]] const std::set<std::string>& told_bound() const { return told_bound_; }
  /// Nodes as Snug has been shown them.
  [[nodiscard]] const std::map<std::string, SimNode>& told_nodes() const { return told_nodes_; }

 private:
  struct PodEvent {
    bool gone = false;
    model::PodFacts pod;
  };
  struct NodeEvent {
    std::string name;
    std::optional<SimNode> node;  // nothing: gone
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
  bool again_ = false;  // the list under way was begun before relist()
  std::map<std::string, std::deque<PodEvent>> pod_events_;  // by uid
  std::deque<PodEvent> delivered_;                          // since the last list, for repeats
  std::map<std::string, PodEvent> latest_;                  // since the last list, by uid
  std::deque<NodeEvent> node_events_;
  std::vector<model::PodFacts> list_;
  std::set<std::string> told_bound_;
  std::map<std::string, SimNode> told_nodes_;
};

}  // namespace snug
