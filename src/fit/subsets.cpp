#include "fit/subsets.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace snug::fit {
namespace {

using Set = std::vector<std::size_t>;

/// The largest number of sets that are scored. Scoring them takes some ten microseconds. Eight GPUs
/// have at most 70 sets of one size.
constexpr std::size_t kMaxSets = 96;

/// Whether there are more than kMaxSets ways to choose `count` of `all` GPUs.
bool too_many(std::size_t all, std::size_t count) {
  std::size_t ways = 1;
  for (std::size_t i = 1; i <= count && ways <= kMaxSets; ++i) ways = ways * (all - count + i) / i;
  return ways > kMaxSets;
}

/// Lists the first kMaxSets sets in ascending order. If no NVLinks are known, identical GPUs are
/// interchangeable: of adjacent identical GPUs the first ones are used.
class Every {
 public:
  Every(const model::NodeState& node, const Set& fitting, std::size_t count)
      : node_(node), fitting_(fitting), count_(count) {}

  std::vector<Set> run() {
    extend(0);
    return std::move(found_);
  }

 private:
  void extend(std::size_t from) {
    if (found_.size() >= kMaxSets) return;
    if (chosen_.size() == count_) {
      found_.push_back(chosen_);
      return;
    }
    for (std::size_t i = from; i + count_ - chosen_.size() <= fitting_.size(); ++i) {
      if (i > from && alike(fitting_[i], fitting_[i - 1])) continue;
      chosen_.push_back(fitting_[i]);
      extend(i + 1);
      chosen_.pop_back();
    }
  }

  [[nodiscard]] bool alike(std::size_t a, std::size_t b) const {
    return node_.inventory->nvlinks.empty() && node_.gpus[a].is_interchangeable_with(node_.gpus[b]);
  }

  const model::NodeState& node_;
  const Set& fitting_;
  std::size_t count_;
  Set chosen_;
  std::vector<Set> found_;
};

std::int64_t links_to(const model::NodeState& node, std::size_t gpu, const Set& others) {
  std::int64_t sum = 0;
  for (const std::size_t other : others) {
    if (other != gpu) sum += node.nvlinks_between(gpu, other);
  }
  return sum;
}

/// Grows a set from the GPU `seed`. Each step adds the GPU with the most NVLinks to the set; among
/// equals, the one with the fewest links to the remaining GPUs, so that those stay well linked too.
Set grown_from(const model::NodeState& node, std::size_t seed, const Set& fitting,
               std::size_t count) {
  Set set{seed};
  Set rest = fitting;
  std::erase(rest, seed);
  while (set.size() < count) {
    const auto next = std::ranges::max_element(rest, {}, [&](std::size_t gpu) {
      return std::pair(links_to(node, gpu, set), -links_to(node, gpu, rest));
    });
    set.push_back(*next);
    rest.erase(next);
  }
  std::ranges::sort(set);
  return set;
}

}  // namespace

std::vector<Set> subsets(const model::NodeState& node, const Set& fitting, std::size_t count) {
  const bool linked = !node.inventory->nvlinks.empty();
  if (!linked || !too_many(fitting.size(), count)) return Every(node, fitting, count).run();
  std::set<Set> found{Set(fitting.begin(), fitting.begin() + static_cast<std::ptrdiff_t>(count))};
  for (const std::size_t seed : fitting) found.insert(grown_from(node, seed, fitting, count));
  return {found.begin(), found.end()};
}

}  // namespace snug::fit
