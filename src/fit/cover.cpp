#include "fit/cover.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "snug/fit/tenant.hpp"

namespace snug::fit {
namespace {

std::size_t lowest_turn(ContainerSet set) {
  return static_cast<std::size_t>(std::countr_zero(set));
}

template <typename Value>
void add_bin_bound(std::vector<Value>& bounds, std::size_t bin,
                   const std::vector<Value>& bin_maxima) {
  const std::size_t set_count = bin_maxima.size();
  for (std::size_t set = 0; set < set_count; ++set) {
    bounds[bin * set_count + set] = bounds[(bin + 1) * set_count + set] + bin_maxima[set];
  }
}

}  // namespace

std::size_t CoverSearch::NogoodHash::operator()(const Nogood& nogood) const {
  constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;
  const std::uint64_t mixed = (nogood.counts ^ (nogood.counts >> 29)) * kOdd + nogood.bin_state;
  return (mixed ^ (mixed >> 32)) * kOdd;
}

CoverSearch::CoverSearch(const PatternBook& book, std::vector<Bin> bins, std::int64_t cap_left,
                         std::int64_t& steps)
    : book_(book),
      bins_(std::move(bins)),
      cap_left_(cap_left),
      steps_(steps),
      set_count_(std::size_t{1} << book.regular_containers()) {
  add_up_bounds();
  for (std::size_t turn = book_.regular_containers(); turn < book_.containers(); ++turn) {
    const bool any_mode = book_.request_of(turn).isolation == model::Isolation::kAny;
    const bool needs_no_other_init = std::ranges::all_of(bins_, [&](const Bin& bin) {
      const bool in_init_pattern = (bin.patterns->inits_with(0) & bit(turn)) != 0;
      return in_init_pattern == bin.patterns->serves(bit(turn)) &&
             !bin.patterns->offered().mig.table;
    });
    if (!any_mode || !needs_no_other_init) inits_independent_ = false;
  }
  const bool inits = book_.containers() > book_.regular_containers();
  // A failed state (Nogood) is stored with one byte for each number of GPUs. If there are more bins
  // than a byte can count, the search stores no failed states.
  const bool few = bins_.size() <= UINT8_MAX;
  remembers_ = few && (!inits || (inits_independent_ && cap_left_ == kNoCap));
}

void CoverSearch::add_up_bounds() {
  const std::size_t bin_count = bins_.size();
  max_containers_.resize((bin_count + 1) * set_count_);
  max_compute_.resize((bin_count + 1) * set_count_);
  max_memory_.resize((bin_count + 1) * set_count_);
  cheapest_.fill(kNoCap);
  for (std::size_t bin = bin_count; bin-- > 0;) {
    const Patterns& patterns = *bins_[bin].patterns;
    add_bin_bound(max_containers_, bin, patterns.max_containers());
    add_bin_bound(max_compute_, bin, patterns.max_compute());
    add_bin_bound(max_memory_, bin, patterns.max_memory());
    for (std::size_t turn = 0; turn < book_.regular_containers(); ++turn) {
      if ((patterns.served() & bit(turn)) == 0) continue;
      cheapest_.at(turn) = std::min(cheapest_.at(turn), patterns.cost(bit(turn)).compute.value);
    }
  }
  unplaced_in_set_.resize(set_count_);
}

void CoverSearch::run(Aim aim, std::function<bool(const Cover&)> on_cover) {
  aim_ = aim;
  on_cover_ = std::move(on_cover);
  cover_.assign(bins_.size(), 0);
  init_capacity_.fill(0);
  open_containers_ = 0;
  placed_compute_ = 0;
  unplaced_weight_ = {};
  covers_ = 0;
  nogoods_.clear();
  stopped_ = false;
  ran_out_ = false;
  for (std::size_t turn = 0; turn < book_.containers(); ++turn) {
    unplaced_.at(turn) = book_.request_of(turn).count;
    if (turn >= book_.regular_containers()) continue;
    open_containers_ |= bit(turn);
    for (std::int64_t i = 0; i < unplaced_.at(turn) && !bins_.empty(); ++i) {
      unplaced_weight_ += bins_.front().patterns->weight(bit(turn));
    }
  }
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    for (std::size_t turn = book_.regular_containers(); turn < book_.containers(); ++turn) {
      init_capacity_.at(turn) += (bins_[bin].patterns->inits() & bit(turn)) != 0 ? 1 : 0;
    }
  }
  if (inits_within_cap() && within_bounds(0)) extend_cover(0, 0);
}

/// Whether each init container by itself can be within the cap. This does not depend on where the
/// other containers are.
bool CoverSearch::inits_within_cap() const {
  if (cap_left_ == kNoCap) return true;
  for (std::size_t turn = book_.regular_containers(); turn < book_.containers(); ++turn) {
    std::int64_t cheapest = kNoCap;
    for (const Bin& bin : bins_) {
      if ((bin.patterns->inits() & bit(turn)) == 0) continue;
      // In MIG mode the container can use the slice of another one, which may have less compute
      // than the smallest slice for it.
      const std::int64_t compute =
          bin.patterns->offered().mig.table ? 0 : least_compute(*bin.patterns, bit(turn));
      cheapest = std::min(cheapest, compute);
    }
    if (cheapest > cap_left_ / book_.request_of(turn).count) return false;
  }
  return true;
}

/// Returns false if a bound shows that this bin and those after it cannot take all unplaced
/// devices.
bool CoverSearch::within_bounds(std::size_t bin) {
  const std::int32_t* most_containers = &max_containers_[bin * set_count_];
  // Visit every subset of the containers that have unplaced devices, in ascending order.
  for (ContainerSet set = open_containers_ & -open_containers_; set != 0;
       set = (set - open_containers_) & open_containers_) {
    unplaced_in_set_[set] = unplaced_in_set_[set & (set - 1)] +
                            static_cast<std::int32_t>(unplaced_.at(lowest_turn(set)));
    if (unplaced_in_set_[set] > most_containers[set]) return false;
  }
  for (std::size_t turn = book_.regular_containers(); turn < book_.containers(); ++turn) {
    if (init_capacity_.at(turn) < unplaced_.at(turn)) return false;
  }
  std::int64_t min_compute = placed_compute_;
  for (ContainerSet containers_left = open_containers_; containers_left != 0;
       containers_left &= containers_left - 1) {
    min_compute +=
        unplaced_.at(lowest_turn(containers_left)) * cheapest_.at(lowest_turn(containers_left));
  }
  const std::size_t open_set_index = bin * set_count_ + open_containers_;
  return unplaced_weight_.compute.value <= max_compute_[open_set_index] &&
         unplaced_weight_.memory.value <= max_memory_[open_set_index] && min_compute <= cap_left_;
}

/// Whether the GPU could serve one more container together with the pattern, and the same init
/// containers beside them. Then every cover in which the GPU serves the pattern can be turned into
/// one in which it serves the larger pattern, so the pattern need not be tried. False under a cap,
/// because the container can cost more on this GPU than on another.
bool CoverSearch::dominated(const Patterns& patterns, ContainerSet pattern) const {
  if (aim_ != Aim::kAny || cap_left_ != kNoCap || !inits_independent_) return false;
  for (ContainerSet containers_left = open_containers_ & ~pattern & ~book_.whole_gpu_containers();
       containers_left != 0; containers_left &= containers_left - 1) {
    const ContainerSet larger_pattern = pattern | (containers_left & -containers_left);
    if (patterns.serves(larger_pattern) &&
        patterns.inits_with(larger_pattern) == patterns.inits_with(pattern)) {
      return true;
    }
  }
  return false;
}

/// Whether the pattern has a container but lacks a twin that must come before this container. Of
/// two twins, the one with more unplaced devices comes first; if they have equally many, the one
/// with the lower turn.
bool CoverSearch::breaks_symmetry(ContainerSet pattern) const {
  if (aim_ != Aim::kAny) return false;
  for (ContainerSet containers_left = pattern; containers_left != 0;
       containers_left &= containers_left - 1) {
    const std::size_t turn = lowest_turn(containers_left);
    for (ContainerSet twins = book_.twins(turn) & open_containers_ & ~pattern; twins != 0;
         twins &= twins - 1) {
      const std::size_t twin = lowest_turn(twins);
      if (std::pair(-unplaced_.at(twin), twin) < std::pair(-unplaced_.at(turn), turn)) return true;
    }
  }
  return false;
}

/// Everything on which the rest of the search depends. For an init container, this is the number of
/// GPUs that can serve it beyond those that it needs.
CoverSearch::Nogood CoverSearch::nogood_at(std::size_t bin, std::size_t first_pattern) const {
  auto unplaced = unplaced_;
  if (aim_ == Aim::kAny) {
    for (std::size_t turn = 1; turn < book_.regular_containers(); ++turn) {
      for (std::size_t earlier_turn = 0; earlier_turn < turn; ++earlier_turn) {
        const bool twins = (book_.twins(turn) & bit(earlier_turn)) != 0;
        if (twins && unplaced.at(earlier_turn) < unplaced.at(turn))
          std::swap(unplaced.at(earlier_turn), unplaced.at(turn));
      }
    }
  }
  Nogood nogood;
  for (std::size_t turn = 0; turn < book_.regular_containers(); ++turn) {
    nogood.counts = nogood.counts << 8U | static_cast<std::uint64_t>(unplaced.at(turn));
  }
  const auto to_come = static_cast<std::int64_t>(bins_.size() - bin);
  for (std::size_t turn = book_.regular_containers(); turn < book_.containers(); ++turn) {
    const std::int64_t spare = std::min(init_capacity_.at(turn) - unplaced_.at(turn), to_come);
    nogood.counts = nogood.counts << 8U | static_cast<std::uint64_t>(spare);
  }
  const std::int64_t compute = cap_left_ == kNoCap ? 0 : placed_compute_;
  nogood.bin_state = static_cast<std::uint64_t>(compute) << 32U | bin << 16U | first_pattern;
  return nogood;
}

void CoverSearch::extend_cover(std::size_t bin, std::size_t last_pattern) {
  if (open_containers_ == 0) {
    place_inits();
    return;
  }
  const bool goes_on = aim_ != Aim::kAny && bins_[bin].is_like_previous;
  const std::size_t first_pattern = goes_on ? last_pattern : 0;
  if (!remembers_) {
    try_patterns(bin, first_pattern);
    return;
  }
  const Nogood nogood = nogood_at(bin, first_pattern);
  if (nogoods_.contains(nogood)) return;
  const std::size_t covers_before = covers_;
  try_patterns(bin, first_pattern);
  if (covers_ == covers_before && !stopped_) nogoods_.insert(nogood);
}

void CoverSearch::try_patterns(std::size_t bin, std::size_t first_pattern) {
  const Patterns& patterns = *bins_[bin].patterns;
  const auto pattern_order =
      aim_ == Aim::kSpread ? patterns.fewest_first() : patterns.heaviest_first();
  for (std::size_t i = first_pattern; i < pattern_order.size(); ++i) {
    const ContainerSet pattern = pattern_order[i];
    if ((pattern & ~open_containers_) != 0 || dominated(patterns, pattern) ||
        breaks_symmetry(pattern))
      continue;
    if (steps_-- <= 0) {
      ran_out_ = stopped_ = true;
      return;
    }
    place(bin, pattern);
    if (within_bounds(bin + 1)) extend_cover(bin + 1, i);
    unplace(bin);
    if (stopped_) return;
  }
}

void CoverSearch::place(std::size_t bin, ContainerSet pattern) {
  cover_[bin] = pattern;
  for (ContainerSet containers_left = pattern; containers_left != 0;
       containers_left &= containers_left - 1) {
    if (--unplaced_.at(lowest_turn(containers_left)) == 0)
      open_containers_ &= ~(containers_left & -containers_left);
  }
  placed_compute_ += bins_[bin].patterns->cost(pattern).compute.value;
  unplaced_weight_ -= bins_[bin].patterns->weight(pattern);
  count_inits(bin, 1);
}

void CoverSearch::unplace(std::size_t bin) {
  const ContainerSet pattern = cover_[bin];
  count_inits(bin, -1);
  placed_compute_ -= bins_[bin].patterns->cost(pattern).compute.value;
  unplaced_weight_ += bins_[bin].patterns->weight(pattern);
  for (ContainerSet containers_left = pattern; containers_left != 0;
       containers_left &= containers_left - 1)
    ++unplaced_.at(lowest_turn(containers_left));
  open_containers_ |= pattern;
  cover_[bin] = 0;
}

/// Subtracts 1 from init_capacity_ of each init container that the bin can serve, but not beside
/// the bin's set in cover_. If `sign` is -1, adds 1 instead.
void CoverSearch::count_inits(std::size_t bin, std::int64_t sign) {
  const Patterns& patterns = *bins_[bin].patterns;
  for (std::size_t turn = book_.regular_containers(); turn < book_.containers(); ++turn) {
    const std::int64_t beside = (patterns.inits_with(cover_[bin]) & bit(turn)) != 0 ? 1 : 0;
    const std::int64_t at_all = (patterns.inits() & bit(turn)) != 0 ? 1 : 0;
    init_capacity_.at(turn) += sign * (beside - at_all);
  }
}

/// The bins in the order in which they are tried for init containers: first the bins of apps, in
/// the order of the containers, then those of sidecars, then the rest.
std::vector<std::size_t> CoverSearch::bins_for_inits() const {
  std::vector<std::size_t> bin_order(bins_.size());
  for (std::size_t bin = 0; bin < bin_order.size(); ++bin) bin_order[bin] = bin;
  const auto rank = [&](std::size_t bin) {
    const ContainerSet apps = cover_[bin] & book_.apps();
    const ContainerSet sidecars = cover_[bin] & ~apps;
    return std::tuple(apps == 0, apps == 0 ? sidecars == 0 : false,
                      lowest_turn(apps == 0 ? sidecars : apps), bins_[bin].gpu);
  };
  std::ranges::sort(bin_order, {}, rank);
  return bin_order;
}

void CoverSearch::place_inits() {
  if (book_.containers() == book_.regular_containers()) {
    accept();
    return;
  }
  init_order_ = bins_for_inits();
  inits_placed_ = false;
  place_init(book_.regular_containers(), 0, 0);
}

/// The compute that the set is charged. It is a lower bound if the GPU serves the set only together
/// with further init containers.
std::int64_t CoverSearch::least_compute(const Patterns& patterns, ContainerSet set) const {
  const ContainerSet charged = patterns.serves(set) ? set : set & book_.all_regular();
  return patterns.cost(charged).compute.value;
}

bool CoverSearch::all_served() const {
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    if (!bins_[bin].patterns->serves(cover_[bin])) return false;
  }
  return true;
}

void CoverSearch::place_init(std::size_t turn, std::int64_t device, std::size_t first_init_bin) {
  if (turn == book_.containers()) {
    if (!all_served()) return;
    inits_placed_ = true;
    accept();
    return;
  }
  for (std::size_t i = first_init_bin; i < init_order_.size(); ++i) {
    const std::size_t bin = init_order_[i];
    const Patterns& patterns = *bins_[bin].patterns;
    const ContainerSet set_before = cover_[bin];
    const ContainerSet set_with_init = set_before | bit(turn);
    if (!patterns.serves_with_inits(set_with_init)) continue;
    const std::int64_t added_compute =
        least_compute(patterns, set_with_init) - least_compute(patterns, set_before);
    if (placed_compute_ + added_compute > cap_left_) continue;
    if (steps_-- <= 0) {
      ran_out_ = stopped_ = true;
      return;
    }
    cover_[bin] = set_with_init;
    placed_compute_ += added_compute;
    if (device + 1 < book_.request_of(turn).count) {
      place_init(turn, device + 1, i + 1);
    } else {
      place_init(turn + 1, 0, 0);
    }
    placed_compute_ -= added_compute;
    cover_[bin] = set_before;
    if (inits_placed_ || stopped_) return;
  }
}

void CoverSearch::accept() {
  ++covers_;
  if (!on_cover_(cover_)) stopped_ = true;
}

}  // namespace snug::fit
