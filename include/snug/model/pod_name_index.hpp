// Finds the uids of pods by namespace and name. At one time the API server has at most one pod with
// a name, but a table of pods may still have the earlier one when the next one arrives.
//
// Invariant: each uid is in the index at most once for a name, in the order of the calls of add().
// All functions take constant time. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace snug::model {

class PodNameIndex {
 public:
  /// The pod must not be in the index.
  void add(std::string_view name_space, std::string_view name, std::string_view uid) {
    uids_[key(name_space, name)].emplace_back(uid);
  }
  /// Has no effect if the pod is not in the index.
  void remove(std::string_view name_space, std::string_view name, std::string_view uid) {
    const auto pods = uids_.find(key(name_space, name));
    if (pods == uids_.end()) return;
    std::erase(pods->second, uid);
    if (pods->second.empty()) uids_.erase(pods);
  }
  void clear() { uids_.clear(); }

  /// The uid of the pod with this name that was added last; nullopt: there is none.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name_space,
                                                     std::string_view name) const {
    const auto pods = uids_.find(key(name_space, name));
    if (pods == uids_.end()) return std::nullopt;
    return pods->second.back();
  }

 private:
  /// Neither a namespace nor a name contains a slash.
  static std::string key(std::string_view name_space, std::string_view name) {
    return std::string(name_space).append("/").append(name);
  }

  std::unordered_map<std::string, std::vector<std::string>> uids_;  // by key; never an empty list
};

}  // namespace snug::model
