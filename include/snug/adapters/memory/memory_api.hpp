// An API server in memory, for the embedded mode and tests. Its first objects are those of manifest
// files. It implements ApiPort and ClusterSource, as the adapter of a real API server does. It also
// implements PodCreator, because no other client creates pods in it. bind() fails as a real API
// server does: with kNotFound if the pod does not exist, and with kConflict if its uid differs from
// that in the binding, or if it is assigned, gated or terminating. One sink receives every change
// as an event.
//
// Thread-safe. A call that changes an object returns after the sink has received the event. Events
// are delivered in the order of the changes, with no lock held. If the sink makes a change while it
// handles an event, the new event is delivered after the current one.
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

namespace snug::memory {

class MemoryApi final : public service::ApiPort,
                        public service::PodCreator,
                        public service::ClusterSource {
 public:
  /// Gives a new uid to each pod that has none. If `manifests` contains an object twice, the first
  /// one is stored; codec/manifests refuses such manifests.
  MemoryApi(codec::Manifests manifests, const base::Limits& limits);

  // Implements ClusterSource.
  void start(service::ClusterSink& sink) override;
  void relist() override;
  /// The sink must not call this function.
  void stop() override;

  // Implements ApiPort.
  [[nodiscard]] base::Result<void> bind(const model::Binding& binding) override;
  [[nodiscard]] base::Result<std::optional<model::PodFacts>> get_pod(
      std::string_view name_space, std::string_view name) override;
  [[nodiscard]] base::Result<void> wake_pending_pods(base::Generation room) override;
  [[nodiscard]] base::Result<void> set_mirrored_capacity(
      std::string_view node, const std::optional<model::MirroredAmounts>& capacity) override;
  [[nodiscard]] base::Result<void> write_mirror_parameters(
      const std::optional<admission::CardRange>& cards) override;
  bool notify(const model::Notice& notice) override;

  // Implements PodCreator.
  /// Stores `pod`; fails if it is new and max_pending_pods pods are already stored. If it is
  /// already stored with scheduling gates, removes the gates, because no other client can remove
  /// them.
  [[nodiscard]] base::Result<void> post_pod(const model::PodFacts& pod) override;

  /// Deletes a pod without a grace period. kNotFound: there is no such pod.
  [[nodiscard]] base::Result<void> delete_pod(std::string_view name_space, std::string_view name);
  void put_node(model::NodeFacts node);
  void delete_node(std::string_view name);

  /// Returns how often wake_pending_pods() was called.
  [[nodiscard]] std::uint64_t wake_ups() const;
  /// The range that write_mirror_parameters() wrote last; nullopt: none, or it was deleted.
  [[nodiscard]] std::optional<admission::CardRange> mirror_parameters() const;
  /// Returns the last max_queued_events notices that warn() received, oldest first.
  [[nodiscard]] std::vector<model::Notice> notices() const;

 private:
  using PodKey = std::pair<std::string, std::string>;  // namespace, name
  using Event = std::function<void(service::ClusterSink&)>;

  model::PodFacts& store_pod(model::PodFacts pod) SNUG_REQUIRES(mutex_);
  [[nodiscard]] base::Result<void> repost_pod(const model::PodFacts& pod, const PodKey& uid_owner)
      SNUG_REQUIRES(mutex_);
  [[nodiscard]] static base::Result<void> fail_already_posted(const model::PodFacts& pod,
                                                              std::string_view difference);
  [[nodiscard]] std::string make_uid(const model::PodFacts& pod) const SNUG_REQUIRES(mutex_);
  [[nodiscard]] std::string next_version() SNUG_REQUIRES(mutex_);
  /// Queues the event and delivers it to the sink. Unlocks the mutex while the sink handles an
  /// event.
  void publish(Event event) SNUG_REQUIRES(mutex_);
  void deliver(std::uint64_t ticket) SNUG_REQUIRES(mutex_);
  [[nodiscard]] Event list_event() const SNUG_REQUIRES(mutex_);

  const base::Limits limits_;
  mutable base::Mutex mutex_;
  base::Condition delivered_more_;
  std::map<PodKey, model::PodFacts> pods_ SNUG_GUARDED_BY(mutex_);
  /// The pod of each uid, including the deleted pods whose uids are in `ended_uids_`.
  std::unordered_map<std::string, PodKey> uids_ SNUG_GUARDED_BY(mutex_);
  /// The uids of the last max_tombstones deleted pods, oldest first.
  std::deque<std::string> ended_uids_ SNUG_GUARDED_BY(mutex_);
  std::map<std::string, model::NodeFacts, std::less<>> nodes_ SNUG_GUARDED_BY(mutex_);
  std::uint64_t version_ SNUG_GUARDED_BY(mutex_) = 0;
  std::uint64_t wake_ups_ SNUG_GUARDED_BY(mutex_) = 0;
  std::optional<admission::CardRange> mirror_parameters_ SNUG_GUARDED_BY(mutex_);
  std::deque<model::Notice> notices_ SNUG_GUARDED_BY(mutex_);
  service::ClusterSink* sink_ SNUG_GUARDED_BY(mutex_) = nullptr;
  std::deque<Event> event_queue_ SNUG_GUARDED_BY(mutex_);
  std::uint64_t published_ SNUG_GUARDED_BY(mutex_) = 0;  // events queued so far
  std::uint64_t delivered_ SNUG_GUARDED_BY(mutex_) = 0;  // events that the sink has handled
  /// The thread that is delivering events to the sink; nullopt if there is none.
  std::optional<std::thread::id> delivering_thread_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::memory
