// An API server in memory, with the objects of manifest files, for the embedded mode and tests. It
// implements the same ports as the real one, and FirstSight, since no client creates pods in it. It
// binds as the API server does (uid precondition; 409 for a pod that is assigned, gated or
// terminating; 404), and notifies its only sink of every change.
//
// Thread-safe. A change's event is delivered by the time the call returns, in the order of the
// changes and with no lock held; a change made by the sink itself is delivered after the event that
// the sink is at.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/codec/manifests.hpp"
#include "snug/service/ports.hpp"

namespace snug {

class MemoryApi final : public ApiPort, public FirstSight, public ClusterSource {
 public:
  /// Pods without a uid get one. Of objects given twice, which codec/manifests refuses, the first
  /// counts.
  MemoryApi(Manifests manifests, const Limits& limits);

  // ClusterSource
  void start(ClusterSink& sink) override;
  void relist() override;
  /// Not to be called by the sink.
  void stop() override;

  // ApiPort
  [[nodiscard]] Result<void> bind(const Binding& binding) override;
  [[nodiscard]] Result<std::optional<PodFacts>> get_pod(std::string_view name_space,
                                                        std::string_view name) override;
  [[nodiscard]] Result<void> touch_room(Generation room) override;
  void warn(const Notice& notice) override;

  // FirstSight; at most max_pending_pods pods. One that was gated and comes without gates is so no
  // more: nobody else could remove them here.
  [[nodiscard]] Result<void> post_pod(const PodFacts& pod) override;

  /// Ends a pod at once. kNotFound: there is none.
  [[nodiscard]] Result<void> delete_pod(std::string_view name_space, std::string_view name);
  void put_node(NodeFacts node);
  void delete_node(std::string_view name);

  [[nodiscard]] std::uint64_t room_touches() const;
  /// The last max_queued_events of them, the oldest first.
  [[nodiscard]] std::vector<Notice> notices() const;

 private:
  using PodKey = std::pair<std::string, std::string>;  // namespace, name
  using Event = std::function<void(ClusterSink&)>;

  PodFacts& store_pod(PodFacts pod) SNUG_REQUIRES(mutex_);
  [[nodiscard]] Result<void> post_again(const PodFacts& pod, const PodKey& holder)
      SNUG_REQUIRES(mutex_);
  [[nodiscard]] static Result<void> fail_first_stays(const PodFacts& pod,
                                                     std::string_view difference);
  [[nodiscard]] std::string make_uid(const PodFacts& pod) const SNUG_REQUIRES(mutex_);
  [[nodiscard]] std::string next_version() SNUG_REQUIRES(mutex_);
  /// Unlocks the mutex while the sink is called.
  void publish(Event event) SNUG_REQUIRES(mutex_);
  void deliver(std::uint64_t ticket) SNUG_REQUIRES(mutex_);
  [[nodiscard]] Event list_event() const SNUG_REQUIRES(mutex_);

  const Limits limits_;
  mutable Mutex mutex_;
  Condition delivered_more_;
  std::map<PodKey, PodFacts> pods_ SNUG_GUARDED_BY(mutex_);
  std::unordered_map<std::string, PodKey> uids_ SNUG_GUARDED_BY(mutex_);  // of ended pods too
  /// The last max_tombstones of them.
  std::deque<std::string> ended_uids_ SNUG_GUARDED_BY(mutex_);
  std::map<std::string, NodeFacts, std::less<>> nodes_ SNUG_GUARDED_BY(mutex_);
  std::uint64_t version_ SNUG_GUARDED_BY(mutex_) = 0;
  std::uint64_t room_touches_ SNUG_GUARDED_BY(mutex_) = 0;
  std::deque<Notice> notices_ SNUG_GUARDED_BY(mutex_);
  ClusterSink* sink_ SNUG_GUARDED_BY(mutex_) = nullptr;
  std::deque<Event> queue_ SNUG_GUARDED_BY(mutex_);
  std::uint64_t published_ SNUG_GUARDED_BY(mutex_) = 0;  // events ever queued
  std::uint64_t delivered_ SNUG_GUARDED_BY(mutex_) = 0;  // events that the sink has returned from
  /// The thread that calls the sink; nothing: no thread does.
  std::optional<std::thread::id> deliverer_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug
