// What fit() remembers of a request for several containers, from node to node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "fit/patterns.hpp"

namespace snug {

class SeveralMemo {
 public:
  /// The kinds of a node's GPUs (Patterns::number, sorted), and what the cap leaves: nothing else
  /// decides whether the request is possible.
  using Kinds = std::pair<std::vector<std::size_t>, std::int64_t>;
  struct Known {
    bool possible = false;
    bool ran_out = false;  // not possible, as far as was tried
    /// If possible, a cover: what GPUs of which kind serve.
    std::vector<std::pair<std::size_t, ContainerSet>> cover;
  };

  explicit SeveralMemo(const GpuRequest& request) : book(request) {}

  [[nodiscard]] const Known* find(const Kinds& kinds) const {
    const auto found = known_.find(kinds);
    return found == known_.end() ? nullptr : &found->second;
  }
  const Known* remember(Kinds kinds, Known known) {
    return &known_.emplace(std::move(kinds), std::move(known)).first->second;
  }

  /// Gives memory back where much has been seen. Nothing that was found stays valid.
  void tidy() {
    constexpr std::size_t kMany = 4'096;
    if (book.kinds() + known_.size() <= kMany) return;
    book.forget();
    known_.clear();
  }

  PatternBook book;

 private:
  std::map<Kinds, Known> known_;
};

}  // namespace snug
