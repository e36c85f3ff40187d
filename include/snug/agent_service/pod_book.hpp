// The pods of the agent's node, as the API server last showed them. Thread-safe: the sink's
// functions are called by the thread of the watch, the others by any thread. A look-up takes a lock
// that is never held during I/O.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/agent_service/ports.hpp"
#include "snug/base/mutex.hpp"

namespace snug::agent_service {

class PodBook final : public NodePodSink {
 public:
  using PodRef = std::shared_ptr<const agent::PodView>;

  /// `on_change` is called, without a lock, after each list and each event that changed a pod or
  /// whether the book is fresh. The thread of the watch calls it.
  explicit PodBook(std::function<void()> on_change = [] {}) : on_change_(std::move(on_change)) {}

  /// Null: no pod has this name, or the pod that has it is another one than the container runtime
  /// means. Pods are found by name alone, because a pod's author chooses the annotations that
  /// `runtime_uid` comes from.
  [[nodiscard]] PodRef lookup(std::string_view runtime_uid, std::string_view name_space,
                              std::string_view name) const SNUG_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<PodRef> pods() const SNUG_EXCLUDES(mutex_);
  /// Whether a list has been applied and the watch works.
  [[nodiscard]] bool fresh() const SNUG_EXCLUDES(mutex_);

  void stream_alive() override SNUG_EXCLUDES(mutex_) { set_alive(true); }
  void stream_lost() override SNUG_EXCLUDES(mutex_) { set_alive(false); }
  void pods_listed(std::vector<agent::PodView> pods) override SNUG_EXCLUDES(mutex_);
  /// Ignores a new pod if max_node_pods are known.
  void pod_changed(agent::PodView pod) override SNUG_EXCLUDES(mutex_);
  void pod_gone(const agent::PodView& pod) override SNUG_EXCLUDES(mutex_);

 private:
  using Key = std::pair<std::string, std::string>;  // namespace and name
  using PodMap = std::map<Key, PodRef>;

  void set_alive(bool alive) SNUG_EXCLUDES(mutex_);

  const std::function<void()> on_change_;
  mutable base::Mutex mutex_;
  PodMap pods_ SNUG_GUARDED_BY(mutex_);
  bool listed_ SNUG_GUARDED_BY(mutex_) = false;
  bool alive_ SNUG_GUARDED_BY(mutex_) = false;
};

}  // namespace snug::agent_service
