#include "fit/search.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "fit/levels.hpp"
#include "snug/base/limits.hpp"
#include "snug/fit/pod_charge.hpp"

namespace snug {
namespace {

/// As much as no GPU has: what a vanished one may have had.
constexpr std::int64_t kAnySize = kLargestQuantity;

/// One GPU at one level, and what the pod takes of it so far.
struct Bin {
  const GpuState* gpu = nullptr;
  MebiBytes capacity;
  Charge free;
  GpuMode mode = GpuMode::kNone;  // in which others hold it
  GpuMode ours = GpuMode::kNone;  // in which this pod takes it
  PodCharge charge;
  bool usable = true;

  [[nodiscard]] bool untouched() const { return ours == GpuMode::kNone; }
};

bool wants_whole(const ContainerRequest& asked) {
  return std::holds_alternative<WholeAsk>(asked.ask);
}

/// The order in which containers choose.
std::vector<std::size_t> in_turn(const GpuRequest& request) {
  const auto turn = [&](std::size_t c) {
    const ContainerRequest& asked = request.containers[c];
    const bool any_mode = !wants_whole(asked) && asked.isolation == Isolation::kAny;
    return std::tuple(asked.kind == ContainerKind::kInit, any_mode, c);
  };
  std::vector<std::size_t> order(request.containers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, turn);
  return order;
}

class Search {
 public:
  Search(const NodeState& node, const GpuRequest& request, const Tenant& tenant, Prices& prices)
      : node_(node),
        request_(request),
        tenant_(tenant),
        prices_(prices),
        order_(in_turn(request)),
        apart_(kept_apart(node, tenant)) {}

  /// Whether there is an assignment by the constraints up to this one.
  bool possible(Level level) {
    most_ = 1;
    options_ = nullptr;
    return run(level);
  }

  /// The last search ended before it had tried everything.
  [[nodiscard]] bool ran_out() const { return steps_ > kMostFitSteps; }

  /// One assignment, sooner than collect() finds it: of linked GPUs too only the first is tried.
  bool first(PlacementList& options) {
    if (!possible(Level::kTenants)) return false;
    for (const DeviceTake& take : first_) options.add(take);
    options.close();
    return true;
  }

  /// Every assignment that differs, up to a number that takes little time to score.
  bool collect(PlacementList& options) {
    most_ = kMostOptions;
    options_ = &options;
    return run(Level::kTenants);
  }

 private:
  static constexpr std::size_t kMostOptions = 64;
  /// From here on it pays to remember what came to nothing.
  static constexpr std::int64_t kStepsUntilMemory = 64;

  bool run(Level level) {
    level_ = level;
    bins_.clear();
    for (std::size_t i = 0; i < node_.gpus.size(); ++i) bins_.push_back(bin(i));
    takes_.clear();
    hopeless_.clear();
    steps_ = 0;
    found_ = 0;
    if (each_has_gpus()) assign(0, 0, 0);
    return found_ > 0;
  }

  /// Whether every app and sidecar has as many GPUs as it asks for, if it were alone.
  bool each_has_gpus() {
    for (std::size_t c = 0; c < request_.containers.size(); ++c) {
      if (request_.containers[c].kind == ContainerKind::kInit) continue;
      std::int64_t gpus = 0;
      for (std::size_t at = 0; at < bins_.size(); ++at) {
        if (!put(c, at)) continue;
        take_back(at);
        ++gpus;
      }
      if (gpus < request_.containers[c].count) return false;
    }
    return true;
  }

  [[nodiscard]] Bin bin(std::size_t position) const {
    const GpuState& gpu = node_.gpus[position];
    const bool gone = gpu.closure == GpuClosure::kVanished;
    Bin bin{.gpu = &gpu, .capacity = gone ? MebiBytes{kAnySize} : gpu.memory};
    bin.free = {.memory = bin.capacity, .compute = kWholeGpu};
    bin.usable = level_ < Level::kHealth || gpu.closure == GpuClosure::kOpen;
    if (gone) return bin;
    if (level_ >= Level::kMode && shares(gpu.mode)) bin.mode = gpu.mode;
    if (level_ >= Level::kRoom) {
      bin.mode = gpu.mode;
      bin.free = {.memory = gpu.free_memory(), .compute = gpu.free_compute()};
    }
    return bin;
  }

  /// The next device of the container whose turn it is; `from`: where in its candidates.
  void assign(std::size_t turn, std::int64_t device, std::size_t from) {
    if (turn == order_.size()) {
      accept();
      return;
    }
    if (++steps_ > kMostFitSteps) return;
    const bool remembers = steps_ > kStepsUntilMemory;
    std::string key;
    if (remembers) {
      key = state(turn, device, from);
      if (hopeless_.contains(key)) return;
    }
    const std::size_t found_before = found_;
    try_candidates(turn, device, from);
    if (remembers && found_ == found_before) hopeless_.insert(std::move(key));
  }

  void try_candidates(std::size_t turn, std::int64_t device, std::size_t from) {
    const std::size_t container = order_[turn];
    const ContainerRequest& asked = request_.containers[container];
    const std::vector<std::size_t> gpus = candidates(asked);
    const std::size_t found_before = found_;
    std::vector<std::size_t> tried;
    for (std::size_t i = from; i < gpus.size(); ++i) {
      if (std::cmp_less(gpus.size() - i, asked.count - device)) return;
      const std::size_t at = gpus[i];
      if (std::ranges::any_of(tried, [&](std::size_t other) { return alike(at, other); })) continue;
      tried.push_back(at);
      if (!put(container, at)) continue;
      if (device + 1 < asked.count) {
        assign(turn, device + 1, i + 1);
      } else {
        assign(turn + 1, 0, 0);
      }
      take_back(at);
      if (found_ >= most_) return;
      // What an init container takes beyond the others' devices is no choice worth scoring.
      if (asked.kind == ContainerKind::kInit && found_ > found_before) return;
    }
  }

  /// Positions in the order of preference. It stays the same while one container chooses: the
  /// devices of the others that come first are those of apps and sidecars.
  [[nodiscard]] std::vector<std::size_t> candidates(const ContainerRequest& asked) const {
    std::vector<std::size_t> gpus;
    if (asked.kind == ContainerKind::kInit) {
      std::vector<DeviceTake> others;
      std::ranges::copy_if(takes_, std::back_inserter(others), [&](const DeviceTake& take) {
        return request_.containers[take.container].kind != ContainerKind::kInit;
      });
      std::ranges::sort(others, {}, [&](const DeviceTake& take) {
        const bool app = request_.containers[take.container].kind == ContainerKind::kApp;
        return std::tuple(!app, take.container, take.gpu);
      });
      for (const DeviceTake& take : others) add_once(gpus, take.gpu);
    }
    for (std::size_t i = 0; i < bins_.size(); ++i) add_once(gpus, i);
    return gpus;
  }

  static void add_once(std::vector<std::size_t>& gpus, std::size_t gpu) {
    if (std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
  }

  /// Whether choosing one or the other makes no difference to what can follow. Where links are
  /// scored it does to the score.
  [[nodiscard]] bool alike(std::size_t a, std::size_t b) const {
    const bool scored = options_ != nullptr && !node_.inventory->links.empty();
    return !scored && bins_[a].untouched() && bins_[b].untouched() &&
           node_.gpus[a].same_as(node_.gpus[b]) && (apart_.empty() || apart_[a] == apart_[b]);
  }

  /// In which mode the container would take the GPU; kNone: it may not. A vanished GPU may have
  /// been one for any mode.
  [[nodiscard]] GpuMode mode_on(const ContainerRequest& asked, std::size_t at) const {
    const Bin& bin = bins_[at];
    const bool init = asked.kind == ContainerKind::kInit;
    const bool any_mode = level_ < Level::kMode || bin.gpu->closure == GpuClosure::kVanished;
    if (wants_whole(asked)) {
      if (!any_mode && !bin.gpu->takes_whole) return GpuMode::kNone;
      if (level_ >= Level::kRoom && bin.mode != GpuMode::kNone) return GpuMode::kNone;
      const bool free = bin.untouched() || (init && bin.ours == GpuMode::kWhole);
      return free ? GpuMode::kWhole : GpuMode::kNone;
    }
    // The pod's own whole GPU has no neighbours, and none of the others runs yet.
    if (bin.ours == GpuMode::kWhole) {
      return init && asked.isolation == Isolation::kAny ? GpuMode::kWhole : GpuMode::kNone;
    }
    if (any_mode) return GpuMode::kTimeSlicing;
    if (!bin.untouched()) return suits(bin.ours, asked.isolation) ? bin.ours : GpuMode::kNone;
    if (bin.mode == GpuMode::kNone) return opened_as(*bin.gpu->info, asked.isolation);
    return shares(bin.mode) ? serving_mode(*bin.gpu, asked.isolation) : GpuMode::kNone;
  }

  bool put(std::size_t container, std::size_t at) {
    const ContainerRequest& asked = request_.containers[container];
    Bin& bin = bins_[at];
    if (!bin.usable) return false;
    const bool gone = bin.gpu->closure == GpuClosure::kVanished;
    if (!gone && level_ >= Level::kModel && !asked.models.allows(bin.gpu->info->model)) {
      return false;
    }
    const GpuMode mode = mode_on(asked, at);
    if (mode == GpuMode::kNone) return false;
    const bool apart = !apart_.empty() && apart_[at];
    if (level_ >= Level::kTenants && mode != GpuMode::kWhole && apart) return false;

    const Charge before = bin.charge.total();
    const Charge cost = prices_.of(container, bin.capacity).cost;
    bin.charge.add(asked.kind, container, cost);
    const Charge after = bin.charge.total();
    const std::int64_t more = after.compute.value - before.compute.value;
    if (after.memory > bin.free.memory || after.compute > bin.free.compute ||
        (level_ >= Level::kCap && compute_ + more > tenant_.cap_left)) {
      bin.charge.remove_last();
      return false;
    }
    compute_ += more;
    modes_before_.push_back(bin.ours);
    bin.ours = mode;
    takes_.push_back({.container = static_cast<std::uint16_t>(container),
                      .gpu = static_cast<std::uint16_t>(at),
                      .mode = mode,
                      .room = after.room(bin.capacity) - before.room(bin.capacity),
                      .memory = cost.memory,
                      .compute = cost.compute});
    return true;
  }

  void take_back(std::size_t at) {
    Bin& bin = bins_[at];
    const std::int64_t with = bin.charge.total().compute.value;
    bin.charge.remove_last();
    compute_ -= with - bin.charge.total().compute.value;
    bin.ours = modes_before_.back();
    modes_before_.pop_back();
    takes_.pop_back();
  }

  void accept() {
    ++found_;
    if (options_ == nullptr) {
      first_ = takes_;
      return;
    }
    for (const DeviceTake& take : takes_) options_->add(take);
    options_->close();
  }

  /// All that what follows depends on: of each GPU that the pod uses what is left of it, unless no
  /// container to come could use it, and in which mode.
  [[nodiscard]] std::string state(std::size_t turn, std::int64_t device, std::size_t from) {
    const bool inits = std::any_of(
        order_.begin() + static_cast<std::ptrdiff_t>(turn), order_.end(),
        [&](std::size_t c) { return request_.containers[c].kind == ContainerKind::kInit; });
    std::string text =
        std::to_string(turn) + '.' + std::to_string(device) + '.' + std::to_string(from);
    if (tenant_.cap_left != kNoCap) text += '/' + std::to_string(compute_);
    for (std::size_t at = 0; at < bins_.size(); ++at) {
      const Bin& bin = bins_[at];
      if (bin.untouched()) continue;
      text += ' ' + std::to_string(at) + ':';
      if (inits) {
        append_users(text, at);  // a sidecar counts beside those that start after it
      } else if (any_fits(turn, at)) {
        const Charge total = bin.charge.total();
        text += std::to_string(static_cast<int>(bin.ours)) + ',' +
                std::to_string(total.memory.value) + ',' + std::to_string(total.compute.value);
      }
    }
    return text;
  }

  void append_users(std::string& text, std::size_t at) const {
    for (const DeviceTake& take : takes_) {
      if (take.gpu == at) text += std::to_string(take.container) + ',';
    }
  }

  bool any_fits(std::size_t turn, std::size_t at) {
    for (std::size_t i = turn; i < order_.size(); ++i) {
      if (!put(order_[i], at)) continue;
      take_back(at);
      return true;
    }
    return false;
  }

  const NodeState& node_;
  const GpuRequest& request_;
  const Tenant& tenant_;
  Prices& prices_;
  std::vector<std::size_t> order_;
  std::vector<bool> apart_;
  Level level_ = Level::kTenants;
  std::size_t most_ = 1;
  PlacementList* options_ = nullptr;
  std::vector<Bin> bins_;
  std::vector<DeviceTake> takes_;
  std::vector<DeviceTake> first_;      // what possible() found
  std::vector<GpuMode> modes_before_;  // of the GPUs of takes_
  std::int64_t compute_ = 0;           // that the takes come to
  std::unordered_set<std::string> hopeless_;
  std::int64_t steps_ = 0;
  std::size_t found_ = 0;
};

}  // namespace

ReasonCode fit_several(const NodeState& node, const GpuRequest& request, const Tenant& tenant,
                       Prices& prices, PlacementList& options) {
  Search search(node, request, tenant, prices);
  if (search.collect(options)) return ReasonCode::kNone;
  if (search.ran_out() && search.first(options)) return ReasonCode::kNone;
  for (const Level level :
       {Level::kSize, Level::kModel, Level::kMode, Level::kHealth, Level::kCap, Level::kRoom}) {
    if (!search.possible(level)) return search.ran_out() ? ReasonCode::kNoRoom : reason_at(level);
  }
  return search.ran_out() ? ReasonCode::kNoRoom : reason_at(Level::kTenants);
}

}  // namespace snug
