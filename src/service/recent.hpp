// A map from texts, such as the uids of pods, to values. It holds at most a given number of values:
// those that were put last. Every operation takes constant time. Not thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace snug::service {

template <typename T>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}
  Recent(const Recent&) = delete;
  Recent& operator=(const Recent&) = delete;

  /// Makes `value` the pod's value, and the newest of all. Returns the value that it displaces:
  /// the pod's earlier one, or the oldest if there are now too many. A caller that holds a lock can
  /// thus destroy that value later.
  std::optional<T> put(std::string_view uid, T value);
  /// The pod's value, valid until the next put() or take(); null: there is none.
  [[nodiscard]] const T* find(std::string_view uid) const;
  /// Removes the pod's value and returns it.
  std::optional<T> take(std::string_view uid);

 private:
  struct Entry {
    std::string uid;
    T value;
  };

  const std::size_t most_;
  std::list<Entry> by_age_;  // the oldest first
  /// The keys are the uids in by_age_.
  std::unordered_map<std::string_view, typename std::list<Entry>::iterator> by_uid_;
};

template <typename T>
std::optional<T> Recent<T>::put(std::string_view uid, T value) {
  const auto known = by_uid_.find(uid);
  if (known != by_uid_.end()) {
    by_age_.splice(by_age_.end(), by_age_, known->second);
    return std::exchange(known->second->value, std::move(value));
  }
  // If an allocation fails, nothing has changed.
  std::list<Entry> added;
  added.push_back({std::string(uid), std::move(value)});
  by_uid_.emplace(added.front().uid, added.begin());
  by_age_.splice(by_age_.end(), added);
  if (by_age_.size() <= most_) return std::nullopt;
  return take(by_age_.front().uid);
}

template <typename T>
const T* Recent<T>::find(std::string_view uid) const {
  const auto known = by_uid_.find(uid);
  return known == by_uid_.end() ? nullptr : &known->second->value;
}

template <typename T>
std::optional<T> Recent<T>::take(std::string_view uid) {
  const auto known = by_uid_.find(uid);
  if (known == by_uid_.end()) return std::nullopt;
  const auto entry = known->second;
  by_uid_.erase(known);
  std::optional<T> taken = std::move(entry->value);
  by_age_.erase(entry);
  return taken;
}

}  // namespace snug::service
