#include "service/closure_reporter.hpp"

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace snug::service {
namespace {

ReservationProblem problem_of(model::GpuClosure closure) {
  const bool given_twice =
      closure == model::GpuClosure::kOverCommitted || closure == model::GpuClosure::kModeConflict;
  return given_twice ? ReservationProblem::kOverCommitment : ReservationProblem::kGpuClosed;
}

/// An unhealthy GPU is not reported here, since the component that marked it as unhealthy reports
/// it.
bool is_reported(model::GpuClosure closure) {
  return closure != model::GpuClosure::kOpen && closure != model::GpuClosure::kUnhealthy;
}

using Holders = std::vector<std::vector<const model::Holding*>>;

/// The holdings on each GPU of the node, by the GPU's position, without duplicates.
Holders holders_by_gpu(const model::NodeState& node) {
  Holders holders(node.gpus.size());
  for (const model::HoldingPtr& holding : node.holdings) {
    for (const model::ReservedContainer& container : holding->reservation.containers) {
      const auto* devices = std::get_if<std::vector<model::ReservedDevice>>(&container.assigned);
      if (devices == nullptr) continue;
      for (const model::ReservedDevice& device : *devices) {
        const std::size_t gpu = node.find_gpu(device).value_or(node.gpus.size());
        if (gpu == node.gpus.size()) continue;
        std::vector<const model::Holding*>& known = holders[gpu];
        if (known.empty() || known.back() != holding.get()) known.push_back(holding.get());
      }
    }
  }
  return holders;
}

}  // namespace

void ClosureReporter::look_at(const model::Snapshot& snapshot) {
  if (snapshot.generation == seen_) return;
  seen_ = snapshot.generation;
  const model::NodeTable& nodes = snapshot.nodes;
  versions_.resize(nodes.size());
  std::vector<std::size_t> changed;
  // The old texts of all changed slots are merged: a node that was removed and came back may be in
  // another slot, and its problems must not be reported twice.
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

void ClosureReporter::look_at_node(const model::NodeState& node, NodeTexts& texts) {
  constexpr ReservationProblem kOverCommitment = ReservationProblem::kOverCommitment;
  if (node.conflict != model::NodeConflict::kNone) {
    const std::string text =
        "node " + node.name() + ": " + std::string(model::to_string(node.conflict));
    if (is_first_report(kOverCommitment, text, texts)) {
      for (const model::HoldingPtr& holding : node.holdings) {
        if (!holding->is_cpu_only()) warn(*holding, ReservationProblem::kOverCommitment, text);
      }
    }
  }
  Holders holders;  // computed when first needed
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const model::GpuState& gpu = node.gpus[i];
    if (!is_reported(gpu.closure)) continue;
    const ReservationProblem problem = problem_of(gpu.closure);
    const std::string text = "GPU " + std::to_string(gpu.info->index) + " of node " + node.name() +
                             " is closed: " + std::string(model::to_string(gpu.closure));
    if (!is_first_report(problem, text, texts)) continue;
    if (holders.empty()) holders = holders_by_gpu(node);
    for (const model::Holding* holding : holders[i]) warn(*holding, problem, text);
  }
}

bool ClosureReporter::is_first_report(ReservationProblem problem, const std::string& text,
                                      NodeTexts& texts) {
  // Two vanished GPUs with the same index have the same text, which is reported once.
  const bool is_new = texts.now.insert(text).second && !texts.before.contains(text);
  if (!is_new) return false;
  metrics_.reservation_problem(problem);
  log_.write(LogLevel::kError, text);
  return true;
}

void ClosureReporter::warn(const model::Holding& holding, ReservationProblem problem,
                           const std::string& text) {
  const bool over_committed = problem == ReservationProblem::kOverCommitment;
  api_.warn({.name_space = holding.name_space,
             .pod = holding.pod,
             .uid = holding.uid,
             .reason = over_committed ? "GpuOverCommitted" : "GpuClosed",
             .note = text});
}

}  // namespace snug::service
