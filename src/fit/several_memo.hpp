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
  struct CachedResult {
    bool possible = false;
    bool ran_out = false;  // the search reached its limit of steps
    /// If `possible` is true: for each GPU, its class and the set of containers that it serves.
    std::vector<std::pair<std::size_t, ContainerSet>> cover;
  };

  explicit MultiContainerCache(const model::GpuRequest& request) : book(request) {}

  [[nodiscard]] const CachedResult* find(const Question& question) const {
    const auto cached = results_.find(question);
    return cached == results_.end() ? nullptr : &cached->second;
  }
  const CachedResult* remember(Question question, CachedResult search_result) {
    return &results_.emplace(std::move(question), std::move(search_result)).first->second;
  }

  /// Empties the cache if it is large. Then pointers from find() and remember() become invalid.
  void trim() {
    constexpr std::size_t kMany = 4'096;
    if (book.class_count() + results_.size() <= kMany) return;
    book.forget();
    results_.clear();
  }

  PatternBook book;

 private:
  std::map<Question, CachedResult> results_;
};

}  // namespace snug::fit
