// The uids of the last ended pods, so that a late event cannot bring one back.
// Not thread-safe: the ledger's mutex guards it.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>

#include "snug/model/snapshot.hpp"

namespace snug {

class Tombstones {
 public:
  explicit Tombstones(std::size_t most) : most_(most) {}

  void add(std::string_view uid) {
    if (!known_.emplace(uid).second) return;
    by_age_.emplace_back(uid);
    if (by_age_.size() <= most_) return;
    known_.erase(by_age_.front());
    by_age_.pop_front();
  }

  [[nodiscard]] bool contains(std::string_view uid) const { return known_.contains(uid); }

 private:
  std::size_t most_;
  std::deque<std::string> by_age_;
  std::unordered_set<std::string, StringHash, std::equal_to<>> known_;
};

}  // namespace snug
