#include "refusals.hpp"

#include <memory>
#include <utility>

#include "row.hpp"

namespace snug_bench {
namespace {

using snug::base::NodeIndex;
using snug::ledger::Ledger;
using snug::sim::ArrivingPod;

RefusedPod refused(const ArrivingPod& pod, const snug::model::Snapshot& snapshot) {
  RefusedPod refusal{.asks = static_cast<int>(pod.pod.gpus)};
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    const std::vector<snug::model::GpuState>& gpus = snapshot.nodes[slot]->gpus;
    std::size_t idle = 0;
    for (const snug::model::GpuState& gpu : gpus) {
      if (gpu.empty()) {
        ++idle;
      } else {
        refusal.left_of_shared += gpu.free_milli / 1000.0;
      }
    }
    refusal.idle += static_cast<int>(idle);
    if (gpus.size() == RefusedPod::kLargest) ++refusal.nodes_by_idle[idle];
  }
  return refusal;
}

/// Another's, of which it notes what is refused.
class Noting final : public snug::sim::Placer {
 public:
  Noting(std::unique_ptr<snug::sim::Placer> placer, const OpenbRun& run)
      : placer_(std::move(placer)), run_(run) {}

  void pod_arrived(const ArrivingPod& pod, Ledger& ledger) override {
    ++come_;
    placer_->pod_arrived(pod, ledger);
  }
  std::optional<NodeIndex> choose_node(const ArrivingPod& pod,
                                       std::span<const NodeIndex> candidates,
                                       Ledger& ledger) override {
    const std::optional<NodeIndex> node = placer_->choose_node(pod, candidates, ledger);
    const std::size_t arrival = come_ - 1;
    if (!node && pod.pod.gpus > 1 && run_.trace.is_in_later_half(arrival)) {
      RefusedPod& refusal = noted.emplace_back(refused(pod, *ledger.snapshot()));
      refusal.run = run_.name;
      refusal.arrival = arrival;
    }
    return node;
  }
  void commit(const ArrivingPod& pod, NodeIndex node, Ledger& ledger) override {
    placer_->commit(pod, node, ledger);
  }
  void pod_left(std::string_view uid, Ledger& ledger) override { placer_->pod_left(uid, ledger); }

  std::vector<RefusedPod> noted;

 private:
  std::unique_ptr<snug::sim::Placer> placer_;
  const OpenbRun& run_;
  std::size_t come_ = 0;
};

}  // namespace

std::vector<RefusedPod> refused_pods(const Contender& who, const OpenbRun& run) {
  Noting placer(who.placer(run.trace, run.seed), run);
  const snug::base::SteadyClock clock;
  const snug::sim::ReplayInput input{run.trace, clock, nullptr};
  static_cast<void>(snug::sim::replay(input, placer));
  return std::move(placer.noted);
}

std::string table(const std::vector<RefusedPod>& all) {
  std::string text =
      "| run | arrival | requested GPUs | idle GPUs | free on shared GPUs "
      "| nodes of eight with 0, 1, … 8 idle |\n|---|---|---|---|---|---|\n";
  for (const RefusedPod& each : all) {
    text += row_of("| %s | %zu | %d | %d | %.0f |", each.run.c_str(), each.arrival, each.asks,
                   each.idle, each.left_of_shared);
    for (const int nodes : each.nodes_by_idle) text += row_of(" %d", nodes);
    text += " |\n";
  }
  return text;
}

}  // namespace snug_bench
