#include "fit/patterns.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <tuple>
#include <utility>

#include "snug/base/check.hpp"
#include "snug/fit/pod_charge.hpp"

namespace snug::fit {
namespace {

bool wants_whole(const model::ContainerRequest& container_request) {
  return std::holds_alternative<model::WholeGpuRequest>(container_request.device);
}

/// `serves` says for each set whether it is a pattern. Returns for each set the maximum of own()
/// over all patterns that are subsets of the set, except the empty pattern; 0 if there are none.
template <typename Value, typename Own>
std::vector<Value> max_in(const std::vector<bool>& serves, std::size_t set_count, Own own) {
  std::vector<Value> most(set_count);
  for (ContainerSet set = 1; set < set_count; ++set) {
    Value best = serves[set] ? own(set) : Value{0};
    for (ContainerSet containers_left = set; containers_left != 0;
         containers_left &= containers_left - 1) {
      best = std::max(best, most[set & ~(containers_left & -containers_left)]);
    }
    most[set] = best;
  }
  return most;
}

}  // namespace

PatternBook::PatternBook(const model::GpuRequest& request) : request_(request) {
  SNUG_CHECK(request.containers.size() <= base::kMaxGpuContainers);
  for (std::size_t c = 0; c < request.containers.size(); ++c) turns_.push_back(c);
  const auto order = [&](std::size_t c) {
    const bool init = request.containers[c].type == model::ContainerType::kInit;
    return std::tuple(init, init && !wants_whole(request.containers[c]), c);
  };
  std::ranges::sort(turns_, {}, order);
  regular_ = static_cast<std::size_t>(std::ranges::count_if(
      request.containers, [](const model::ContainerRequest& container_request) {
        return container_request.type != model::ContainerType::kInit;
      }));
  for (std::size_t turn = 0; turn < turns_.size(); ++turn) {
    if (wants_whole(request_of(turn))) {
      whole_gpu_containers_ |= bit(turn);
    } else {
      by_isolation_.at(static_cast<std::size_t>(request_of(turn).isolation)) |= bit(turn);
    }
    if (std::holds_alternative<model::SliceRequest>(request_of(turn).device))
      profile_containers_ |= bit(turn);
    if (model::is_share(request_of(turn).device) && request_of(turn).count > 1)
      several_shares_ |= bit(turn);
    if (request_of(turn).type == model::ContainerType::kApp) apps_ |= bit(turn);
  }
  find_twins();
}

/// Sets twins_. Sidecars can be twins only in a pod without plain init containers: a sidecar is
/// charged together with the init containers after it, so its position matters.
void PatternBook::find_twins() {
  for (std::size_t a = 0; a < regular_; ++a) {
    for (std::size_t b = 0; b < regular_; ++b) {
      const model::ContainerRequest& request_a = request_of(a);
      const model::ContainerRequest& request_b = request_of(b);
      const bool same_turn =
          request_a.type == request_b.type &&
          (request_a.type == model::ContainerType::kApp || regular_ == containers());
      if (a != b && same_turn && request_a.device == request_b.device &&
          request_a.isolation == request_b.isolation &&
          request_a.compute_percent == request_b.compute_percent &&
          (request_a.count > 1) == (request_b.count > 1) && request_a.models == request_b.models) {
        twins_.at(a) |= bit(b);
      }
    }
  }
}

std::size_t PatternBook::GpuClassHash::operator()(const GpuClass& gpu_class) const {
  const GpuOffer& offered = gpu_class.offered;
  const std::hash<std::uint64_t> hash;
  std::size_t value = 0;
  for (const std::int64_t part :
       {offered.free.memory.value, offered.free.compute.value, offered.capacity.value,
        std::int64_t{offered.allowed}, static_cast<std::int64_t>(offered.mig.use.taken_slices)}) {
    value = value * 1'000'003 + hash(static_cast<std::uint64_t>(part));
  }
  return value;
}

const Patterns& PatternBook::of(const GpuClass& gpu_class) {
  const auto cached_patterns = patterns_by_class_.find(gpu_class);
  if (cached_patterns != patterns_by_class_.end()) return cached_patterns->second;
  return patterns_by_class_.emplace(gpu_class, make(gpu_class)).first->second;
}

void PatternBook::forget() {
  patterns_by_class_.clear();
  costs_.clear();
}

std::shared_ptr<const std::vector<Charge>> PatternBook::costs(base::MebiBytes capacity) {
  std::shared_ptr<const std::vector<Charge>>& cached_costs = costs_[capacity.value];
  if (cached_costs != nullptr) return cached_costs;
  std::vector<Charge> container_costs;
  container_costs.reserve(containers());
  for (std::size_t turn = 0; turn < containers(); ++turn) {
    container_costs.push_back(charge(request_of(turn), capacity));
  }
  std::vector<Charge> totals(std::size_t{1} << containers());
  for (ContainerSet set = 1; set < totals.size(); ++set) {
    PodCharge pod_charge;
    for (std::size_t turn = 0; turn < containers(); ++turn) {
      if ((set & bit(turn)) != 0)
        pod_charge.add(request_of(turn).type, position(turn), container_costs[turn]);
    }
    totals[set] = pod_charge.total();
  }
  cached_costs = std::make_shared<const std::vector<Charge>>(std::move(totals));
  return cached_costs;
}

/// The mode in which a GPU serves the set; kNone: it does not serve the set. As a whole GPU, it
/// serves at most one app or sidecar, and plain init containers that end before this container
/// starts. These init containers may request the whole GPU, or a share without a mode. A shared GPU
/// has the mode that its containers request, or else the mode that the operator prefers and that
/// they may have.
model::GpuMode PatternBook::mode_of(const GpuOffer& offered, ContainerSet set) const {
  if ((set & whole_gpu_containers_) != 0) {
    const ContainerSet owners = set & all_regular();
    const ContainerSet shares = set & ~whole_gpu_containers_;
    const bool one_owner = std::has_single_bit(owners) || owners == 0;
    const bool asks_mode = (shares & ~by_isolation_[0]) != 0;
    const bool possible = one_owner && (owners & ~whole_gpu_containers_) == 0 && !asks_mode;
    return offered.whole && possible ? model::GpuMode::kWhole : model::GpuMode::kNone;
  }
  if (!offered.any_profile && (set & profile_containers_) != 0) return model::GpuMode::kNone;
  model::GpuMode mode = model::GpuMode::kNone;
  for (std::size_t isolation = 1; isolation < by_isolation_.size(); ++isolation) {
    if ((set & by_isolation_.at(isolation)) == 0) continue;
    const model::GpuMode requested_mode = offered.shared_as.at(isolation);
    if (requested_mode == model::GpuMode::kNone ||
        (mode != model::GpuMode::kNone && mode != requested_mode))
      return model::GpuMode::kNone;
    mode = requested_mode;
  }
  const bool requests_mode = mode != model::GpuMode::kNone;
  if (!requests_mode) mode = offered.shares_for(model::Isolation::kAny);
  if (mode != model::GpuMode::kMps || !offered.one_mps_device || (set & several_shares_) == 0)
    return mode;
  return requests_mode ? model::GpuMode::kNone : offered.without_mps(model::Isolation::kAny);
}

Patterns PatternBook::make(const GpuClass& gpu_class) {
  const GpuOffer& offered = gpu_class.offered;
  Patterns patterns;
  patterns.gpu_class_ = gpu_class;
  patterns.number_ = next_number_++;
  patterns.costs_ = costs(offered.capacity);
  patterns.weights_ = costs(gpu_class.weigh_at);
  const std::size_t set_count = patterns.costs_->size();
  patterns.serves_.resize(set_count);
  patterns.modes_.resize(set_count);
  patterns.inits_with_.resize(std::size_t{1} << regular_);
  patterns.serves_[0] = true;
  if (offered.mig.table) serve_slices(patterns);
  for (ContainerSet set = 1; set < set_count; ++set) {
    if ((set & ~offered.allowed) != 0) continue;
    const bool as_slices = offered.mig.table && (set & whole_gpu_containers_) == 0;
    if (!as_slices && offered.has_free(patterns.cost(set))) {
      patterns.modes_[set] = mode_of(offered, set);
    }
    if (patterns.modes_[set] == model::GpuMode::kNone) continue;
    patterns.serves_[set] = true;
    patterns.served_ |= set;
    patterns.inits_with_[set & all_regular()] |= set & ~all_regular();
  }
  patterns.inits_ = patterns.served_ & ~all_regular();
  if (offered.mig.table && regular_ + 1 < containers()) serve_in_company(patterns);
  weigh(patterns);
  return patterns;
}

void PatternBook::serve_in_company(Patterns& patterns) const {
  patterns.serves_with_inits_ = patterns.serves_;
  for (auto set = static_cast<ContainerSet>(patterns.serves_.size()); set-- > 0;) {
    for (std::size_t turn = regular_; turn < containers(); ++turn) {
      if (patterns.serves_with_inits_[set | bit(turn)]) patterns.serves_with_inits_[set] = true;
    }
  }
}

void PatternBook::weigh(Patterns& patterns) const {
  const std::size_t set_count = std::size_t{1} << regular_;
  const std::vector<Charge>& weights = *patterns.weights_;
  patterns.max_containers_ = max_in<std::int32_t>(
      patterns.serves_, set_count, [](ContainerSet set) { return std::popcount(set); });
  patterns.max_compute_ = max_in<std::int64_t>(
      patterns.serves_, set_count, [&](ContainerSet set) { return weights[set].compute.value; });
  patterns.max_memory_ = max_in<std::int64_t>(
      patterns.serves_, set_count, [&](ContainerSet set) { return weights[set].memory.value; });

  std::vector<ContainerSet>& order = patterns.heaviest_first_;
  for (ContainerSet set = 1; set < set_count; ++set) {
    if (patterns.serves_[set]) order.push_back(set);
  }
  const auto weight = [&](ContainerSet set) {
    return std::pair(weights[set].compute, weights[set].memory);
  };
  std::ranges::sort(order, [&](ContainerSet a, ContainerSet b) {
    return std::tuple(weight(b), a) < std::tuple(weight(a), b);
  });
  std::vector<ContainerSet>& fewest = patterns.fewest_first_;
  fewest = order;
  std::ranges::sort(fewest, [&](ContainerSet a, ContainerSet b) {
    return std::tuple(std::popcount(a), weight(b), a) < std::tuple(std::popcount(b), weight(a), b);
  });
  order.push_back(0);
  fewest.push_back(0);
}

}  // namespace snug::fit
