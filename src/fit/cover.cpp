#include "fit/cover.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "snug/fit/tenant.hpp"

namespace snug::fit {
namespace {

std::size_t lowest(ContainerSet set) { return static_cast<std::size_t>(std::countr_zero(set)); }

template <typename Value>
void add(std::vector<Value>& sums, std::size_t bin, const std::vector<Value>& own) {
  const std::size_t sets = own.size();
  for (std::size_t set = 0; set < sets; ++set) {
    sums[bin * sets + set] = sums[(bin + 1) * sets + set] + own[set];
  }
}

}  // namespace

std::size_t CoverSearch::NogoodHash::operator()(const Nogood& nogood) const {
  constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;
  const std::uint64_t mixed = (nogood.left ^ (nogood.left >> 29)) * kOdd + nogood.place;
  return (mixed ^ (mixed >> 32)) * kOdd;
}

CoverSearch::CoverSearch(const PatternBook& book, std::vector<Bin> bins, std::int64_t cap_left,
                         std::int64_t& steps)
    : book_(book),
      bins_(std::move(bins)),
      cap_left_(cap_left),
      steps_(steps),
      sets_(std::size_t{1} << book.regular_containers()) {
  add_up_bounds();
  for (std::size_t turn = book_.regular_containers(); turn < book_.containers(); ++turn) {
    const bool any_mode = book_.request_of(turn).isolation == model::Isolation::kAny;
    const bool alone = std::ranges::all_of(bins_, [&](const Bin& bin) {
      const bool beside = (bin.patterns->inits_with(0) & bit(turn)) != 0;
      return beside == bin.patterns->serves(bit(turn)) && !bin.patterns->offered().mig.table;
    });
    if (!any_mode || !alone) inits_independent_ = false;
  }
  const bool inits = book_.containers() > book_.regular_containers();
  // A failed state (Nogood) is stored with one byte for each number of GPUs. If there are more bins
  // than a byte can count, the search stores no failed states.
  const bool few = bins_.size() <= UINT8_MAX;
  remembers_ = few && (!inits || (inits_independent_ && cap_left_ == kNoCap));
}

void CoverSearch::add_up_bounds() {
  const std::size_t all = bins_.size();
  max_containers_.resize((all + 1) * sets_);
  max_compute_.resize((all + 1) * sets_);
  max_memory_.resize((all + 1) * sets_);
  cheapest_.fill(kNoCap);
  for (std::size_t bin = all; bin-- > 0;) {
    const Patterns& patterns = *bins_[bin].patterns;
    add(max_containers_, bin, patterns.max_containers());
    add(max_compute_, bin, patterns.max_compute());
    add(max_memory_, bin, patterns.max_memory());
    for (std::size_t turn = 0; turn < book_.regular_containers(); ++turn) {
      if ((patterns.served() & bit(turn)) == 0) continue;
      cheapest_.at(turn) = std::min(cheapest_.at(turn), patterns.cost(bit(turn)).compute.value);
    }
  }
  need_.resize(sets_);
}

void CoverSearch::run(Aim aim, std::function<bool(const Cover&)> found) {
  aim_ = aim;
  found_ = std::move(found);
  cover_.assign(bins_.size(), 0);
  init_capacity_.fill(0);
  open_ = 0;
  compute_ = 0;
  unplaced_weight_ = {};
  covers_ = 0;
  nogoods_.clear();
  stopped_ = false;
  ran_out_ = false;
  for (std::size_t turn = 0; turn < book_.containers(); ++turn) {
    unplaced_.at(turn) = book_.request_of(turn).count;
    if (turn >= book_.regular_containers()) continue;
    open_ |= bit(turn);
    for (std::int64_t i = 0; i < unplaced_.at(turn) && !bins_.empty(); ++i) {
      unplaced_weight_ += bins_.front().patterns->weight(bit(turn));
    }
  }
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    for (std::size_t turn = book_.regular_containers(); turn < book_.containers(); ++turn) {
      init_capacity_.at(turn) += (bins_[bin].patterns->inits() & bit(turn)) != 0 ? 1 : 0;
    }
  }
  if (within_bounds(0)) extend(0, 0);
}

/// Returns false if a bound shows that this bin and those after it cannot take all unplaced
/// devices.
bool CoverSearch::within_bounds(std::size_t bin) {
  const std::int32_t* most = &max_containers_[bin * sets_];
  // Visit every subset of the containers that have unplaced devices, in ascending order.
  for (ContainerSet set = open_ & -open_; set != 0; set = (set - open_) & open_) {
    need_[set] = need_[set & (set - 1)] + static_cast<std::int32_t>(unplaced_.at(lowest(set)));
    if (need_[set] > most[set]) return false;
  }
  for (std::size_t turn = book_.regular_containers(); turn < book_.containers(); ++turn) {
    if (init_capacity_.at(turn) < unplaced_.at(turn)) return false;
  }
  std::int64_t least = compute_;
  for (ContainerSet rest = open_; rest != 0; rest &= rest - 1) {
    least += unplaced_.at(lowest(rest)) * cheapest_.at(lowest(rest));
  }
  const std::size_t open = bin * sets_ + open_;
  return unplaced_weight_.compute.value <= max_compute_[open] &&
         unplaced_weight_.memory.value <= max_memory_[open] && least <= cap_left_;
}

/// Whether the GPU could serve one more container together with the set, and the same init
/// containers beside them. Then every cover in which the GPU serves the set can be turned into one
/// in which it serves the larger set, so the set need not be tried. False under a cap, because the
/// container can cost more on this GPU than on another.
bool CoverSearch::dominated(const Patterns& patterns, ContainerSet set) const {
  if (aim_ != Aim::kAny || cap_left_ != kNoCap || !inits_independent_) return false;
  for (ContainerSet rest = open_ & ~set & ~book_.whole_gpu_containers(); rest != 0;
       rest &= rest - 1) {
    const ContainerSet with = set | (rest & -rest);
    if (patterns.serves(with) && patterns.inits_with(with) == patterns.inits_with(set)) {
      return true;
    }
  }
  return false;
}

/// Whether the set has a container but lacks a twin that must come before this container. Of two
/// twins, the one with more unplaced devices comes first; if they have equally many, the one with
/// the lower turn.
bool CoverSearch::breaks_symmetry(ContainerSet set) const {
  if (aim_ != Aim::kAny) return false;
  for (ContainerSet rest = set; rest != 0; rest &= rest - 1) {
    const std::size_t turn = lowest(rest);
    for (ContainerSet twins = book_.twins(turn) & open_ & ~set; twins != 0; twins &= twins - 1) {
      const std::size_t twin = lowest(twins);
      if (std::pair(-unplaced_.at(twin), twin) < std::pair(-unplaced_.at(turn), turn)) return true;
    }
  }
  return false;
}

/// Everything on which the rest of the search depends. For an init container, this is the number of
/// GPUs that can serve it beyond those that it needs.
CoverSearch::Nogood CoverSearch::state(std::size_t bin, std::size_t from) const {
  auto left = unplaced_;
  if (aim_ == Aim::kAny) {
    for (std::size_t turn = 1; turn < book_.regular_containers(); ++turn) {
      for (std::size_t other = 0; other < turn; ++other) {
        const bool twins = (book_.twins(turn) & bit(other)) != 0;
        if (twins && left.at(other) < left.at(turn)) std::swap(left.at(other), left.at(turn));
      }
    }
  }
  Nogood nogood;
  for (std::size_t turn = 0; turn < book_.regular_containers(); ++turn) {
    nogood.left = nogood.left << 8U | static_cast<std::uint64_t>(left.at(turn));
  }
  const auto to_come = static_cast<std::int64_t>(bins_.size() - bin);
  for (std::size_t turn = book_.regular_containers(); turn < book_.containers(); ++turn) {
    const std::int64_t spare = std::min(init_capacity_.at(turn) - unplaced_.at(turn), to_come);
    nogood.left = nogood.left << 8U | static_cast<std::uint64_t>(spare);
  }
  const std::int64_t compute = cap_left_ == kNoCap ? 0 : compute_;
  nogood.place = static_cast<std::uint64_t>(compute) << 32U | bin << 16U | from;
  return nogood;
}

void CoverSearch::extend(std::size_t bin, std::size_t last) {
  if (open_ == 0) {
    place_inits();
    return;
  }
  const bool goes_on = aim_ != Aim::kAny && bins_[bin].is_like_previous;
  const std::size_t from = goes_on ? last : 0;
  if (!remembers_) {
    try_patterns(bin, from);
    return;
  }
  const Nogood now = state(bin, from);
  if (nogoods_.contains(now)) return;
  const std::size_t before = covers_;
  try_patterns(bin, from);
  if (covers_ == before && !stopped_) nogoods_.insert(now);
}

void CoverSearch::try_patterns(std::size_t bin, std::size_t from) {
  const Patterns& patterns = *bins_[bin].patterns;
  const auto order = aim_ == Aim::kSpread ? patterns.fewest_first() : patterns.heaviest_first();
  for (std::size_t i = from; i < order.size(); ++i) {
    const ContainerSet set = order[i];
    if ((set & ~open_) != 0 || dominated(patterns, set) || breaks_symmetry(set)) continue;
    if (steps_-- <= 0) {
      ran_out_ = stopped_ = true;
      return;
    }
    place(bin, set);
    if (within_bounds(bin + 1)) extend(bin + 1, i);
    unplace(bin);
    if (stopped_) return;
  }
}

void CoverSearch::place(std::size_t bin, ContainerSet set) {
  cover_[bin] = set;
  for (ContainerSet rest = set; rest != 0; rest &= rest - 1) {
    if (--unplaced_.at(lowest(rest)) == 0) open_ &= ~(rest & -rest);
  }
  compute_ += bins_[bin].patterns->cost(set).compute.value;
  unplaced_weight_ -= bins_[bin].patterns->weight(set);
  count_inits(bin, 1);
}

void CoverSearch::unplace(std::size_t bin) {
  const ContainerSet set = cover_[bin];
  count_inits(bin, -1);
  compute_ -= bins_[bin].patterns->cost(set).compute.value;
  unplaced_weight_ += bins_[bin].patterns->weight(set);
  for (ContainerSet rest = set; rest != 0; rest &= rest - 1) ++unplaced_.at(lowest(rest));
  open_ |= set;
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
  std::vector<std::size_t> order(bins_.size());
  for (std::size_t bin = 0; bin < order.size(); ++bin) order[bin] = bin;
  const auto rank = [&](std::size_t bin) {
    const ContainerSet apps = cover_[bin] & book_.apps();
    const ContainerSet sidecars = cover_[bin] & ~apps;
    return std::tuple(apps == 0, apps == 0 ? sidecars == 0 : false,
                      lowest(apps == 0 ? sidecars : apps), bins_[bin].gpu);
  };
  std::ranges::sort(order, {}, rank);
  return order;
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

void CoverSearch::place_init(std::size_t turn, std::int64_t device, std::size_t from) {
  if (turn == book_.containers()) {
    if (!all_served()) return;
    inits_placed_ = true;
    accept();
    return;
  }
  for (std::size_t i = from; i < init_order_.size(); ++i) {
    const std::size_t bin = init_order_[i];
    const Patterns& patterns = *bins_[bin].patterns;
    const ContainerSet before = cover_[bin];
    const ContainerSet with = before | bit(turn);
    if (!patterns.serves_with_inits(with)) continue;
    const std::int64_t more = least_compute(patterns, with) - least_compute(patterns, before);
    if (compute_ + more > cap_left_) continue;
    if (steps_-- <= 0) {
      ran_out_ = stopped_ = true;
      return;
    }
    cover_[bin] = with;
    compute_ += more;
    if (device + 1 < book_.request_of(turn).count) {
      place_init(turn, device + 1, i + 1);
    } else {
      place_init(turn + 1, 0, 0);
    }
    compute_ -= more;
    cover_[bin] = before;
    if (inits_placed_ || stopped_) return;
  }
}

void CoverSearch::accept() {
  ++covers_;
  if (!found_(cover_)) stopped_ = true;
}

}  // namespace snug::fit
