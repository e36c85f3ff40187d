#include "snug/agent_service/pod_book.hpp"

#include "snug/base/agent_limits.hpp"

namespace snug::agent_service {
namespace {

bool book_is_full(std::size_t pods) {
  return std::cmp_greater_equal(pods, base::agent_limits::max_node_pods);
}

}  // namespace

PodBook::PodRef PodBook::lookup(std::string_view runtime_uid, std::string_view name_space,
                                std::string_view name) const {
  const Key key{name_space, name};
  const base::MutexLock lock(mutex_);
  const auto found = pods_.find(key);
  return found != pods_.end() && found->second->runtime_uid == runtime_uid ? found->second
                                                                           : nullptr;
}

std::vector<PodBook::PodRef> PodBook::pods() const {
  const base::MutexLock lock(mutex_);
  std::vector<PodRef> all;
  all.reserve(pods_.size());
  for (const auto& [key, pod] : pods_) all.push_back(pod);
  return all;
}

bool PodBook::fresh() const {
  const base::MutexLock lock(mutex_);
  return listed_ && alive_;
}

void PodBook::set_alive(bool alive) {
  {
    const base::MutexLock lock(mutex_);
    if (std::exchange(alive_, alive) == alive) return;
  }
  on_change_();
}

void PodBook::pods_listed(std::vector<agent::PodView> pods) {
  PodMap listed_pods;
  for (agent::PodView& pod : pods) {
    if (book_is_full(listed_pods.size())) break;
    Key key{pod.name_space, pod.name};
    listed_pods.insert_or_assign(std::move(key),
                                 std::make_shared<const agent::PodView>(std::move(pod)));
  }
  {
    const base::MutexLock lock(mutex_);
    pods_.swap(listed_pods);
    listed_ = true;
  }
  on_change_();
}

void PodBook::pod_changed(agent::PodView pod) {
  const Key key{pod.name_space, pod.name};
  auto changed_pod = std::make_shared<const agent::PodView>(std::move(pod));
  {
    const base::MutexLock lock(mutex_);
    const auto found = pods_.find(key);
    if (found == pods_.end()) {
      if (book_is_full(pods_.size())) return;
      pods_.emplace(key, std::move(changed_pod));
    } else {
      if (*found->second == *changed_pod) return;
      found->second = std::move(changed_pod);
    }
  }
  on_change_();
}

void PodBook::pod_gone(const agent::PodView& pod) {
  {
    const base::MutexLock lock(mutex_);
    const auto found = pods_.find(Key{pod.name_space, pod.name});
    if (found == pods_.end() || found->second->uid != pod.uid) return;
    pods_.erase(found);
  }
  on_change_();
}

}  // namespace snug::agent_service
