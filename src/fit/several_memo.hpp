// What fit() remembers of a request for several containers, from node to node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "fit/patterns.hpp"
#include "snug/base/limits.hpp"

namespace snug {

class SeveralMemo {
 public:
  /// The kinds of a node's GPUs (Patterns::number, sorted), and what the cap leaves: nothing else
  /// decides whether the request is possible.
  using Kinds = std::pair<std::vector<std::size_t>, std::int64_t>;
  struct Known {
    bool possible = false;
    bool ran_out = false;  // not possible, as far as was tried
  };

  explicit SeveralMemo(const GpuRequest& request) : book(request) {}

  [[nodiscard]] const Known* find(const Kinds& kinds) const {
    const auto found = known_.find(kinds);
    return found == known_.end() ? nullptr : &found->second;
  }
  void remember(Kinds kinds, Known known) { known_.emplace(std::move(kinds), known); }

  /// Of these steps so many as are left: all requests of one call share them.
  [[nodiscard]] std::int64_t steps(std::int64_t at_most) const {
    return std::max(kLeastFitSteps, std::min(at_most, steps_left_));
  }
  void used(std::int64_t steps) { steps_left_ -= steps; }

  /// Gives memory back where much has been seen. Patterns are no longer valid.
  void tidy() {
    constexpr std::size_t kMany = 4'096;
    if (book.kinds() + known_.size() <= kMany) return;
    book.forget();
    known_.clear();
  }

  PatternBook book;

 private:
  std::map<Kinds, Known> known_;
  std::int64_t steps_left_ = kMostFitStepsOfCall;
};

}  // namespace snug
