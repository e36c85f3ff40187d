// An API server in memory, with the objects of manifest files, for the embedded mode and tests. It
// implements the same ports as the real one, and PodCreator, since no client creates pods in it. It
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

namespace snug::memory {

class MemoryApi final : public service::ApiPort,
                        public service::PodCreator,
                        public service::ClusterSource {
 public:
  /// Pods without a uid get one. Of objects given twice, which codec/manifests refuses, the first
  /// counts.
  MemoryApi(codec::Manifests manifests, const base::Limits& limits);

  // ClusterSource
  void start(service::ClusterSink& sink) override;
  void relist() override;
  /// Not to be called by the sink.
  void stop() override;

  // ApiPort
  [[nodiscard]] base::Result<void> bind(const service::Binding& binding) override;
  [[nodiscard]] base::Result<std::optional<model::PodFacts>> get_pod(
      std::string_view name_space, std::string_view name) override;
  [[nodiscard]] base::Result<void> wake_pending_pods(base::Generation room) override;
  void warn(const service::Notice& notice) override;

  // PodCreator; at most max_pending_pods pods. One that was gated and comes without gates is so no
  // more: nobody else could remove them here.
  [[nodiscard]] base::Result<void> post_pod(const model::PodFacts& pod) override;

  /// Ends a pod at once. kNotFound: there is none.
  [[nodiscard]] base::Result<void> delete_pod(std::string_view name_space, std::string_view name);
  void put_node(model::NodeFacts node);
  void delete_node(std::string_view name);

  [[nodiscard]] std::uint64_t wake_ups() const;
  /// The last max_queued_events of them, the oldest first.
  [[nodiscard]] std::vector<service::Notice> notices() const;

 private:
  using PodKey = std::pair<std::string, std::string>;  // namespace, name
  using Event = std::function<void(service::ClusterSink&)>;

  model::PodFacts& store_pod(model::PodFacts pod) SNUG_REQUIRES(mutex_);
  [[nodiscard]] base::Result<void> repost_pod(const model::PodFacts& pod, const PodKey& holder)
      SNUG_REQUIRES(mutex_);
  [[nodiscard]] static base::Result<void> fail_already_posted(const model::PodFacts& pod,
                                                              std::string_view difference);
  [[nodiscard]] std::string make_uid(const model::PodFacts& pod) const SNUG_REQUIRES(mutex_);
  [[nodiscard]] std::string next_version() SNUG_REQUIRES(mutex_);
  /// Unlocks the mutex while the sink is called.
  void publish(Event event) SNUG_REQUIRES(mutex_);
  void deliver(std::uint64_t ticket) SNUG_REQUIRES(mutex_);
  [[nodiscard]] Event list_event() const SNUG_REQUIRES(mutex_);

  const base::Limits limits_;
  mutable base::Mutex mutex_;
  base::Condition delivered_more_;
  std::map<PodKey, model::PodFacts> pods_ SNUG_GUARDED_BY(mutex_);
  std::unordered_map<std::string, PodKey> uids_ SNUG_GUARDED_BY(mutex_);  // of ended pods too
  /// The last max_tombstones of them.
  std::deque<std::string> ended_uids_ SNUG_GUARDED_BY(mutex_);
  std::map<std::string, model::NodeFacts, std::less<>> nodes_ SNUG_GUARDED_BY(mutex_);
  std::uint64_t version_ SNUG_GUARDED_BY(mutex_) = 0;
  std::uint64_t wake_ups_ SNUG_GUARDED_BY(mutex_) = 0;
  std::deque<service::Notice> notices_ SNUG_GUARDED_BY(mutex_);
  service::ClusterSink* sink_ SNUG_GUARDED_BY(mutex_) = nullptr;
  std::deque<Event> queue_ SNUG_GUARDED_BY(mutex_);
  std::uint64_t published_ SNUG_GUARDED_BY(mutex_) = 0;  // events ever queued
  std::uint64_t delivered_ SNUG_GUARDED_BY(mutex_) = 0;  // events that the sink has returned from
  /// The thread that calls the sink; nothing: no thread does.
  std::optional<std::thread::id> delivering_thread_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::memory
