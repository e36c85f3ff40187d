#include "service/closures.hpp"

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace snug {
namespace {

ReservationProblem problem_of(GpuClosure closure) {
  const bool given_twice =
      closure == GpuClosure::kOverCommitted || closure == GpuClosure::kModeConflict;
  return given_twice ? ReservationProblem::kOverCommitment : ReservationProblem::kGpuClosed;
}

/// An unhealthy GPU is reported by whoever marked it so.
bool is_reported(GpuClosure closure) {
  return closure != GpuClosure::kOpen && closure != GpuClosure::kUnhealthy;
}

using Holders = std::vector<std::vector<const Holding*>>;

/// The holders of each GPU, each once.
Holders holders_by_gpu(const NodeState& node) {
  Holders holders(node.gpus.size());
  for (const HoldingPtr& holding : node.holdings) {
    for (const ReservedContainer& container : holding->reservation.containers) {
      const auto* devices = std::get_if<std::vector<ReservedDevice>>(&container.given);
      if (devices == nullptr) continue;
      for (const ReservedDevice& device : *devices) {
        const std::size_t gpu = node.gpu_of(device).value_or(node.gpus.size());
        if (gpu == node.gpus.size()) continue;
        std::vector<const Holding*>& known = holders[gpu];
        if (known.empty() || known.back() != holding.get()) known.push_back(holding.get());
      }
    }
  }
  return holders;
}

}  // namespace

void ClosureReporter::look_at(const Snapshot& snapshot) {
  if (snapshot.generation == seen_) return;
  seen_ = snapshot.generation;
  const NodeTable& nodes = snapshot.nodes;
  versions_.resize(nodes.size());
  std::vector<std::size_t> changed;
  // A node that was removed and came back may be in another slot, and what was reported of it is
  // not reported again.
  NodeTexts texts;
  for (std::size_t slot = 0; slot < nodes.size(); ++slot) {
    const std::uint64_t version = nodes.version(slot);
    if (version != 0 && version == versions_[slot]) continue;
    versions_[slot] = version;
    if (auto old = reported_.extract(slot)) texts.before.merge(old.mapped());
    if (nodes[slot] != nullptr) changed.push_back(slot);
  }
  for (const std::size_t slot : changed) {
    look_at_node(*nodes[slot], texts);
    if (!texts.now.empty()) reported_.emplace(slot, std::exchange(texts.now, {}));
  }
}

void ClosureReporter::look_at_node(const NodeState& node, NodeTexts& texts) {
  constexpr ReservationProblem kOverCommitment = ReservationProblem::kOverCommitment;
  if (node.conflict != NodeConflict::kNone) {
    const std::string text = "node " + node.name() + ": " + std::string(to_string(node.conflict));
    if (is_first_report(kOverCommitment, text, texts)) {
      for (const HoldingPtr& holding : node.holdings) {
        if (!holding->of_host_alone()) warn(*holding, ReservationProblem::kOverCommitment, text);
      }
    }
  }
  Holders holders;  // made when first needed
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const GpuState& gpu = node.gpus[i];
    if (!is_reported(gpu.closure)) continue;
    const ReservationProblem problem = problem_of(gpu.closure);
    const std::string text = "GPU " + std::to_string(gpu.info->index) + " of node " + node.name() +
                             " is closed: " + std::string(to_string(gpu.closure));
    if (!is_first_report(problem, text, texts)) continue;
    if (holders.empty()) holders = holders_by_gpu(node);
    for (const Holding* holding : holders[i]) warn(*holding, problem, text);
  }
}

bool ClosureReporter::is_first_report(ReservationProblem problem, const std::string& text,
                                      NodeTexts& texts) {
  // Two GPUs that vanished may have had one index: one text, reported once.
  const bool is_new = texts.now.insert(text).second && !texts.before.contains(text);
  if (!is_new) return false;
  metrics_.reservation_problem(problem);
  log_.write(LogLevel::kError, text);
  return true;
}

void ClosureReporter::warn(const Holding& holding, ReservationProblem problem,
                           const std::string& text) {
  const bool over_committed = problem == ReservationProblem::kOverCommitment;
  api_.warn({.name_space = holding.name_space,
             .pod = holding.pod,
             .uid = holding.uid,
             .reason = over_committed ? "GpuOverCommitted" : "GpuClosed",
             .note = text});
}

}  // namespace snug
