// Caches what fit() has computed for a request of several containers, for use on other nodes.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "fit/patterns.hpp"

namespace snug::fit {

class MultiContainerCache {
 public:
  /// Everything on which the result of possible_under() depends for one request.
  struct Question {
    std::vector<std::size_t> gpu_classes;  // the classes of the GPUs (Patterns::number()), sorted
    std::int64_t cap_left = 0;
    bool all_constraints = false;  // false: a search for the reason of a refusal, with fewer steps
    friend auto operator<=>(const Question&, const Question&) = default;
  };
  struct Known {
    bool possible = false;
    bool ran_out = false;  // the search reached its limit of steps
    /// If `possible` is true: for each GPU, its class and the set of containers that it serves.
    std::vector<std::pair<std::size_t, ContainerSet>> cover;
  };

  explicit MultiContainerCache(const model::GpuRequest& request) : book(request) {}

  [[nodiscard]] const Known* find(const Question& question) const {
    const auto found = known_.find(question);
    return found == known_.end() ? nullptr : &found->second;
  }
  const Known* remember(Question question, Known known) {
    return &known_.emplace(std::move(question), std::move(known)).first->second;
  }

  /// Empties the cache if it is large. Then pointers from find() and remember() become invalid.
  void trim() {
    constexpr std::size_t kMany = 4'096;
    if (book.class_count() + known_.size() <= kMany) return;
    book.forget();
    known_.clear();
  }

  PatternBook book;

 private:
  std::map<Question, Known> known_;
};

}  // namespace snug::fit
