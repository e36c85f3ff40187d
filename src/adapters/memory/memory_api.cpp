#include "snug/adapters/memory/memory_api.hpp"

namespace snug::memory {
namespace {

/// Returns whether both pods have the same request. Ignores the annotations that Snug writes in a
/// bind.
bool has_same_request(const model::PodFacts& stored_pod, const model::PodFacts& posted_pod) {
  const auto user_annotations = [](const model::PodFacts& pod) {
    model::StringMap annotations;
    for (const auto& [key, value] : pod.annotations) {
      if (!key.starts_with("snug.dev/")) annotations.emplace(key, value);
    }
    return annotations;
  };
  return stored_pod.containers == posted_pod.containers &&
         user_annotations(stored_pod) == user_annotations(posted_pod);
}

}  // namespace

MemoryApi::MemoryApi(codec::Manifests manifests, const base::Limits& limits) : limits_(limits) {
  for (model::NodeFacts& node : manifests.nodes) {
    if (node.resource_version.empty()) node.resource_version = next_version();
    nodes_.emplace(node.name, std::move(node));
  }
  for (model::PodFacts& pod : manifests.pods) {
    if (pods_.contains({pod.name_space, pod.name}) || uids_.contains(pod.uid)) continue;
    if (pod.uid.empty()) pod.uid = make_uid(pod);
    store_pod(std::move(pod));
  }
}

/// Returns the uid `memory:NAMESPACE/NAME`, with `/` appended until no pod has that uid.
std::string MemoryApi::make_uid(const model::PodFacts& pod) const {
  std::string uid = "memory:" + pod.name_space + "/" + pod.name;
  while (uids_.contains(uid)) uid += '/';
  return uid;
}

std::string MemoryApi::next_version() { return std::to_string(++version_); }

model::PodFacts& MemoryApi::store_pod(model::PodFacts pod) {
  pod.resource_version = next_version();
  PodKey key{pod.name_space, pod.name};
  uids_.emplace(pod.uid, key);
  return pods_.emplace(std::move(key), std::move(pod)).first->second;
}

void MemoryApi::publish(Event event) {
  if (sink_ == nullptr) return;
  event_queue_.push_back(std::move(event));
  deliver(++published_);
}

/// Waits until event number `ticket` has been delivered. If no other thread is delivering events,
/// delivers all queued events itself. Returns at once if the sink is handling an event in this
/// thread: the call that delivers that event then also delivers the new one.
void MemoryApi::deliver(std::uint64_t ticket) {
  if (delivering_thread_ == std::this_thread::get_id()) return;
  delivered_more_.wait(mutex_, [this, ticket]() SNUG_REQUIRES(mutex_) {
    return delivered_ >= ticket || !delivering_thread_;
  });
  if (delivered_ >= ticket) return;
  delivering_thread_ = std::this_thread::get_id();
  while (!event_queue_.empty()) {
    const Event event = std::move(event_queue_.front());
    event_queue_.pop_front();
    service::ClusterSink* sink = sink_;
    {
      const base::MutexUnlock unlocked(mutex_);
      if (sink != nullptr) event(*sink);
    }
    ++delivered_;
    delivered_more_.notify_all();
  }
  delivering_thread_.reset();
  delivered_more_.notify_all();
}

MemoryApi::Event MemoryApi::list_event() const {
  std::vector<model::NodeFacts> nodes;
  nodes.reserve(nodes_.size());
  for (const auto& [name, node] : nodes_) nodes.push_back(node);
  std::vector<model::PodFacts> pods;
  pods.reserve(pods_.size());
  for (const auto& [key, pod] : pods_) {
    if (!pod.finished) pods.push_back(pod);
  }
  return [nodes = std::move(nodes), pods = std::move(pods)](service::ClusterSink& sink) {
    sink.nodes_listed(nodes);
    sink.pods_listed(pods);
  };
}

void MemoryApi::start(service::ClusterSink& sink) {
  {
    const base::MutexLock lock(mutex_);
    sink_ = &sink;
  }
  relist();
}

void MemoryApi::relist() {
  base::MutexLock lock(mutex_);
  service::ClusterSink* sink = sink_;
  lock.unlock();
  if (sink == nullptr) return;
  // Calls the sink before the list is made. Every change that the list does not contain is then
  // made after these calls, and the sink receives it as an event.
  sink->node_list_started();
  sink->pod_list_started();
  lock.lock();
  publish(list_event());
}

void MemoryApi::stop() {
  const base::MutexLock lock(mutex_);
  sink_ = nullptr;
  delivered_more_.wait(mutex_, [this]() SNUG_REQUIRES(mutex_) { return !delivering_thread_; });
}

base::Result<void> MemoryApi::bind(const model::Binding& binding) {
  const base::MutexLock lock(mutex_);
  const auto stored_pod = pods_.find({binding.name_space, binding.pod});
  const std::string name = binding.name_space + "/" + binding.pod;
  if (stored_pod == pods_.end())
    return base::fail(base::ErrorCode::kNotFound, "there is no pod " + name);
  model::PodFacts& pod = stored_pod->second;
  if (!binding.uid.empty() && binding.uid != pod.uid) {
    return base::fail(base::ErrorCode::kConflict,
                      "the pod " + name + " has the uid " + pod.uid + ", not " + binding.uid);
  }
  if (pod.terminating) {
    return base::fail(base::ErrorCode::kConflict, "the pod " + name + " is being deleted");
  }
  if (!pod.node_name.empty()) {
    return base::fail(base::ErrorCode::kConflict,
                      "the pod " + name + " is already assigned to the node " + pod.node_name);
  }
  if (pod.gated) {
    return base::fail(base::ErrorCode::kConflict,
                      "the pod " + name + " has spec.schedulingGates, and cannot be bound");
  }
  pod.node_name = binding.node;
  for (const auto& [key, value] : binding.annotations) pod.annotations[key] = value;
  pod.resource_version = next_version();
  publish([changed = pod](service::ClusterSink& sink) { sink.pod_changed(changed); });
  return {};
}

base::Result<std::optional<model::PodFacts>> MemoryApi::get_pod(std::string_view name_space,
                                                                std::string_view name) {
  const base::MutexLock lock(mutex_);
  const auto stored_pod = pods_.find({std::string(name_space), std::string(name)});
  if (stored_pod == pods_.end()) return std::nullopt;
  return stored_pod->second;
}

base::Result<void> MemoryApi::wake_pending_pods(base::Generation) {
  const base::MutexLock lock(mutex_);
  ++wake_ups_;
  return {};
}

base::Result<void> MemoryApi::set_mirrored_capacity(
    std::string_view node, const std::optional<model::MirroredAmounts>& capacity) {
  const base::MutexLock lock(mutex_);
  const auto stored_node = nodes_.find(node);
  if (stored_node == nodes_.end()) {
    return base::fail(base::ErrorCode::kNotFound, "there is no node " + std::string(node));
  }
  model::ListedAmounts amounts;
  if (capacity) amounts = {.milli = capacity->milli.value, .memory_mib = capacity->memory.value};
  stored_node->second.mirrored = {.capacity = amounts, .allocatable = amounts};
  stored_node->second.resource_version = next_version();
  publish(
      [changed = stored_node->second](service::ClusterSink& sink) { sink.node_changed(changed); });
  return {};
}

base::Result<void> MemoryApi::write_mirror_parameters(
    const std::optional<admission::CardRange>& cards) {
  const base::MutexLock lock(mutex_);
  mirror_parameters_ = cards;
  return {};
}

std::optional<admission::CardRange> MemoryApi::mirror_parameters() const {
  const base::MutexLock lock(mutex_);
  return mirror_parameters_;
}

bool MemoryApi::notify(const model::Notice& notice) {
  const base::MutexLock lock(mutex_);
  notices_.push_back(notice);
  while (static_cast<std::int64_t>(notices_.size()) > limits_.max_queued_events) {
    notices_.pop_front();
  }
  return true;
}

base::Result<void> MemoryApi::post_pod(const model::PodFacts& pod) {
  if (pod.uid.empty() || pod.name.empty() || pod.name_space.empty()) {
    return base::fail(base::ErrorCode::kInvalid, "a pod must have a uid, a name and a namespace");
  }
  const std::string the_pod = "the pod " + pod.name_space + "/" + pod.name;
  if (pod.gated) {
    return base::fail(base::ErrorCode::kInvalid,
                      the_pod +
                          " has spec.schedulingGates; filter accepts a pod only after its gates "
                          "are removed");
  }
  const base::MutexLock lock(mutex_);
  const auto same_name_pod = pods_.find({pod.name_space, pod.name});
  const bool already_on_node =
      same_name_pod != pods_.end() && same_name_pod->second.node_name == pod.node_name;
  if (!pod.node_name.empty() && !already_on_node) {
    return base::fail(base::ErrorCode::kInvalid,
                      the_pod + " has spec.nodeName " + pod.node_name +
                          "; filter accepts only pods without spec.nodeName, and running pods "
                          "belong in the files of --cluster");
  }
  if (const auto uid_owner = uids_.find(pod.uid); uid_owner != uids_.end()) {
    return repost_pod(pod, uid_owner->second);
  }
  if (same_name_pod != pods_.end()) return fail_already_posted(pod, "another uid");
  if (static_cast<std::int64_t>(pods_.size()) >= limits_.max_pending_pods) {
    return base::fail(
        base::ErrorCode::kTooLarge,
        "there are already " + std::to_string(pods_.size()) + " pods, which is the maximum");
  }
  const model::PodFacts& stored = store_pod(pod);
  publish([changed = stored](service::ClusterSink& sink) { sink.pod_changed(changed); });
  return {};
}

/// Posts a pod whose uid already belongs to `uid_owner`, a stored pod or a deleted one.
base::Result<void> MemoryApi::repost_pod(const model::PodFacts& pod, const PodKey& uid_owner) {
  const auto stored_pod = pods_.find(uid_owner);
  if (stored_pod == pods_.end() || stored_pod->second.uid != pod.uid) {
    return base::fail(base::ErrorCode::kConflict,
                      "the uid " + pod.uid + " belonged to the pod " + uid_owner.first + "/" +
                          uid_owner.second + ", which was deleted; a new pod needs a new uid");
  }
  if (uid_owner != PodKey{pod.name_space, pod.name}) {
    return base::fail(base::ErrorCode::kConflict, "the uid " + pod.uid + " belongs to the pod " +
                                                      uid_owner.first + "/" + uid_owner.second +
                                                      "; a different pod needs a different uid");
  }
  if (!has_same_request(stored_pod->second, pod))
    return fail_already_posted(pod, "another request");
  if (stored_pod->second.gated) {  // `pod` has no gates; remove those of the stored pod
    stored_pod->second.gated = false;
    stored_pod->second.resource_version = next_version();
    publish(
        [changed = stored_pod->second](service::ClusterSink& sink) { sink.pod_changed(changed); });
  }
  return {};
}

base::Result<void> MemoryApi::fail_already_posted(const model::PodFacts& pod,
                                                  std::string_view difference) {
  const std::string name = pod.name_space + "/" + pod.name;
  return base::fail(base::ErrorCode::kConflict,
                    "the pod " + name + " already exists with " + std::string(difference) +
                        "; to replace it, first delete it with DELETE /v1/pods/" + name +
                        " on the admin port");
}

base::Result<void> MemoryApi::delete_pod(std::string_view name_space, std::string_view name) {
  const base::MutexLock lock(mutex_);
  const auto stored_pod = pods_.find({std::string(name_space), std::string(name)});
  if (stored_pod == pods_.end()) {
    return base::fail(base::ErrorCode::kNotFound,
                      "there is no pod " + std::string(name_space) + "/" + std::string(name));
  }
  model::PodFacts pod = std::move(stored_pod->second);
  pods_.erase(stored_pod);
  ended_uids_.push_back(pod.uid);
  if (static_cast<std::int64_t>(ended_uids_.size()) > limits_.max_tombstones) {
    uids_.erase(ended_uids_.front());
    ended_uids_.pop_front();
  }
  pod.resource_version = next_version();
  publish([gone = std::move(pod)](service::ClusterSink& sink) { sink.pod_gone(gone); });
  return {};
}

void MemoryApi::put_node(model::NodeFacts node) {
  const base::MutexLock lock(mutex_);
  node.resource_version = next_version();
  const model::NodeFacts& stored = nodes_[node.name] = std::move(node);
  publish([changed = stored](service::ClusterSink& sink) { sink.node_changed(changed); });
}

void MemoryApi::delete_node(std::string_view name) {
  const base::MutexLock lock(mutex_);
  const auto stored_node = nodes_.find(name);
  if (stored_node == nodes_.end()) return;
  nodes_.erase(stored_node);
  publish([gone = std::string(name)](service::ClusterSink& sink) { sink.node_gone(gone); });
}

std::uint64_t MemoryApi::wake_ups() const {
  const base::MutexLock lock(mutex_);
  return wake_ups_;
}

std::vector<model::Notice> MemoryApi::notices() const {
  const base::MutexLock lock(mutex_);
  return {notices_.begin(), notices_.end()};
}

}  // namespace snug::memory
