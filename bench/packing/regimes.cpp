#include "regimes.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "draws.hpp"

namespace snug_bench {
namespace {

using snug::sim::Trace;
using snug::sim::TraceNode;
using snug::sim::TracePod;

constexpr std::size_t kArrivals = 50'000;  // in churn
constexpr double kFilledTo = 1.305;        // of the GPUs, so that 130 % is passed

std::int64_t gpu_milli_of(const Trace& base) { return 1000 * base.gpu_count(); }

double times_of(const Mix& mix, const TracePod& pod) {
  if (pod.gpus == 0) return mix.cpu_only;
  if (pod.gpus == 1) return pod.gpu_milli < 1000 ? mix.share : mix.one;
  return pod.gpus == 2 ? mix.two : pod.gpus == 4 ? mix.four : mix.eight;
}

/// Makes some pods name models, in proportion to the GPUs of each model, and only models of which
/// some node could take the pod.
class Namer {
 public:
  explicit Namer(const Trace& base) : base_(base) {
    for (const TraceNode& node : base.nodes) {
      if (node.gpus > 0) gpus_[node.model] += node.gpus;
    }
  }

  void name(TracePod& pod, Draws& draws) const {
    constexpr double kNamesTwo = 0.4;
    constexpr int kTries = 50;
    for (int i = 0; i < kTries; ++i) {
      std::vector<std::string> models{draw(draws)};
      if (draws.part() < kNamesTwo) models.push_back(draw(draws));
      if (models.size() > 1 && models[0] == models[1]) models.pop_back();
      if (!hosted(pod, models)) continue;
      pod.models = std::move(models);
      return;
    }
  }

 private:
  std::string draw(Draws& draws) const {
    double at = draws.part() * static_cast<double>(base_.gpu_count());
    for (const auto& [model, gpus] : gpus_) {
      at -= static_cast<double>(gpus);
      if (at < 0) return model;
    }
    return gpus_.rbegin()->first;
  }
  bool hosted(const TracePod& pod, const std::vector<std::string>& models) const {
    return std::ranges::any_of(base_.nodes, [&](const TraceNode& node) {
      return std::ranges::find(models, node.model) != models.end() && node.gpus >= pod.gpus &&
             node.cpu_milli >= pod.cpu_milli && node.memory_mib >= pod.memory_mib;
    });
  }

  const Trace& base_;
  std::map<std::string, int> gpus_;
};

/// A mix, as rows that are appended to a trace's pods.
class Rows {
 public:
  Rows(const Mix& mix, const Trace& base, Trace& trace) : first_(trace.pods.size()) {
    constexpr std::int64_t kWholeNodeCpu = 96'000;  // what the nodes of eight GPUs have
    Draws draws(777);  // the pods are the same for all seeds; their order differs
    const Namer namer(base);
    double milli = 0;
    for (TracePod pod : base.pods) {
      if (pod.gpus > 0) {
        const auto cpu =
            static_cast<std::int64_t>(static_cast<double>(pod.cpu_milli) * mix.cpu_times);
        pod.cpu_milli = std::min(cpu, std::max(pod.cpu_milli, kWholeNodeCpu * pod.gpus / 8));
        if (pod.gpus == 1) pod.cpu_milli = cpu;
        if (draws.part() < mix.naming) namer.name(pod, draws);
      }
      const double times = times_of(mix, pod);
      upto_.push_back((upto_.empty() ? 0 : upto_.back()) + times);
      milli += times * static_cast<double>(pod.milli());
      trace.pods.push_back(std::move(pod));
    }
    mean_milli_ = milli / upto_.back();
  }

  [[nodiscard]] std::size_t draw(Draws& draws) const {
    const double at = draws.part() * upto_.back();
    return first_ + static_cast<std::size_t>(std::ranges::upper_bound(upto_, at) - upto_.begin());
  }
  [[nodiscard]] double mean_milli() const { return mean_milli_; }

 private:
  std::size_t first_;
  std::vector<double> upto_;  // cumulative frequencies of the pods
  double mean_milli_ = 0;
};

class Drawing {
 public:
  Drawing(const Regime& regime, const Trace& base, std::uint64_t seed)
      : regime_(regime),
        capacity_(static_cast<double>(gpu_milli_of(base))),
        draws_(seed),
        trace_{.nodes = base.nodes, .pods = {}, .arrivals = {}},
        first_(regime.mix, base, trace_),
        later_(regime.later, base, trace_) {
    for (std::size_t i = trace_.nodes.size(); i > 1; --i) {
      std::swap(trace_.nodes[i - 1], trace_.nodes[draws_.below(i)]);
    }
  }

  Trace run() {
    regime_.churns ? churn() : fill();
    return std::move(trace_);
  }

 private:
  void fill() {
    for (double arrived = 0; arrived < kFilledTo * capacity_;) {
      const bool later = regime_.change > 0 && arrived > capacity_ / 2;
      const std::size_t pod = (later ? later_ : first_).draw(draws_);
      trace_.arrivals.push_back({.pod = pod, .lifetime = std::nullopt});
      arrived += static_cast<double>(trace_.pods[pod].milli());
    }
  }

  void churn() {
    double staying = 0;
    for (std::size_t i = 0; i < kArrivals; ++i) {
      const bool later = regime_.change > 0 && i >= regime_.change;
      const Rows& rows = later ? later_ : first_;
      const double load = later ? regime_.later_load : regime_.load;
      const std::size_t pod = rows.draw(draws_);
      double lifetime = draw_lifetime(load * capacity_ / rows.mean_milli(), load, staying);
      if (lifetime == kForEver) staying += static_cast<double>(trace_.pods[pod].milli());
      if (regime_.fills_first && i < regime_.change) {
        lifetime += static_cast<double>(regime_.change - i);
      }
      trace_.arrivals.push_back({.pod = pod, .lifetime = lifetime});
    }
  }

  static constexpr double kForEver = 1e9;

  double draw_lifetime(double mean, double load, double staying) {
    constexpr double kStay = 0.4;
    switch (regime_.lifetimes) {
      case Lifetimes::kExponential:
        return draws_.exponential() * mean;
      case Lifetimes::kLogNormal: {
        constexpr double kSigma = 1.2;
        return mean * std::exp(kSigma * draws_.normal() - kSigma * kSigma / 2);
      }
      case Lifetimes::kTwoKinds: {
        constexpr double kShort = 1 / 1.9;  // so that the mean is 1
        return draws_.exponential() * mean * (draws_.part() < 0.1 ? 10 * kShort : kShort);
      }
      case Lifetimes::kSomeStay:
        break;
    }
    if (staying < kStay * capacity_) return kForEver;
    return draws_.exponential() * mean * (load - kStay) / load;
  }

  const Regime& regime_;
  double capacity_;
  Draws draws_;
  Trace trace_;
  Rows first_;
  Rows later_;
};

struct NamedMix {
  std::string name;
  Mix mix;
};

std::vector<NamedMix> mixes() {
  return {{"default", {}},
          {"shares", {.share = 4}},
          {"wholes", {.share = 0.3}},
          {"multi-GPU", {.two = 40, .four = 25, .eight = 3}},
          {"eight GPUs", {.two = 3, .four = 3, .eight = 6}},
          {"half multi-GPU", {.two = 150, .four = 120, .eight = 8}},
          {"no multi-GPU", {.share = 2, .two = 0, .four = 0, .eight = 0}},
          {"shares alone", {.one = 0, .two = 0, .four = 0, .eight = 0}},
          {"CPU-heavy", {.cpu_times = 1.5}},
          {"more without GPUs", {.cpu_only = 2.5}},
          {"a tenth names models", {.naming = 0.1}},
          {"a third names models", {.naming = 0.33}},
          {"CPU-heavy, a fifth names models", {.cpu_only = 0.5, .cpu_times = 1.25, .naming = 0.2}}};
}

Regime with_mix(std::string name, const Mix& mix) {
  return {.name = std::move(name), .mix = mix, .later = mix};
}

void add_loads(std::vector<Regime>& all) {
  for (const double load : {0.9, 1.0, 1.1, 1.2, 1.3}) {
    Regime regime = with_mix("load " + std::to_string(load).substr(0, 3), {});
    regime.load = load;
    all.push_back(std::move(regime));
  }
  for (const NamedMix& each : mixes()) {
    if (each.name != "multi-GPU" && each.name != "shares" && each.name != "CPU-heavy" &&
        each.name != "a third names models") {
      continue;
    }
    Regime regime = with_mix("load 1.1, " + each.name, each.mix);
    regime.load = 1.1;
    all.push_back(std::move(regime));
  }
}

void add_lifetimes(std::vector<Regime>& all) {
  for (const auto& [name, lifetimes] : {std::pair{"heavy-tailed lifetimes", Lifetimes::kLogNormal},
                                        std::pair{"two kinds of lifetimes", Lifetimes::kTwoKinds},
                                        std::pair{"some stay", Lifetimes::kSomeStay}}) {
    Regime regime = with_mix(name, {});
    regime.lifetimes = lifetimes;
    all.push_back(std::move(regime));
  }
}

void add_changes(std::vector<Regime>& all) {
  const Mix shares{.share = 4};
  const Mix multi{.two = 40, .four = 25, .eight = 3};
  all.push_back(
      {.name = "shares, then multi-GPU", .mix = shares, .later = multi, .change = 22'000});
  all.push_back(
      {.name = "multi-GPU, then shares", .mix = multi, .later = shares, .change = 22'000});
  all.push_back({.name = "load 0.9, then 1.1", .load = 0.9, .later_load = 1.1, .change = 25'000});
  all.push_back({.name = "load 1.2, then 0.95", .load = 1.2, .change = 20'000});
  all.push_back({.name = "fills, then churns", .change = 7'600, .fills_first = true});
  all.push_back({.name = "fill: shares, then wholes",
                 .mix = shares,
                 .later = {.share = 0.3},
                 .churns = false,
                 .change = 1});
}

}  // namespace

std::vector<Regime> regimes() {
  std::vector<Regime> all;
  for (const NamedMix& each : mixes()) {
    Regime fill = with_mix("fill: " + each.name, each.mix);
    fill.churns = false;
    all.push_back(std::move(fill));
  }
  for (const NamedMix& each : mixes()) all.push_back(with_mix("churn: " + each.name, each.mix));
  add_loads(all);
  add_lifetimes(all);
  add_changes(all);
  return all;
}

Trace draw(const Regime& regime, const Trace& base, std::uint64_t seed) {
  return Drawing(regime, base, seed).run();
}

}  // namespace snug_bench
