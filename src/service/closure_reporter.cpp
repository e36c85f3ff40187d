#include "service/closure_reporter.hpp"

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace snug::service {
namespace {

ReservationProblem closure_problem(model::GpuClosure closure) {
  const bool is_over_committed =
      closure == model::GpuClosure::kOverCommitted || closure == model::GpuClosure::kModeConflict;
  return is_over_committed ? ReservationProblem::kOverCommitment : ReservationProblem::kGpuClosed;
}

/// An unhealthy GPU is not reported here, since the component that marked it as unhealthy reports
/// it.
bool is_reported_closure(model::GpuClosure closure) {
  return closure != model::GpuClosure::kOpen && closure != model::GpuClosure::kUnhealthy;
}

using Holders = std::vector<std::vector<const model::Holding*>>;

/// The holdings on each GPU of the node, by the GPU's position, without duplicates.
Holders holders_by_gpu(const model::NodeState& node) {
  Holders holders_by_position(node.gpus.size());
  for (const model::HoldingPtr& holding : node.holdings) {
    for (const model::ReservedContainer& container : holding->reservation.containers) {
      for (const model::ReservedDevice& device : container.devices()) {
        const std::size_t gpu_position = node.find_gpu(device).value_or(node.gpus.size());
        if (gpu_position == node.gpus.size()) continue;
        std::vector<const model::Holding*>& gpu_holders = holders_by_position[gpu_position];
        if (gpu_holders.empty() || gpu_holders.back() != holding.get())
          gpu_holders.push_back(holding.get());
      }
    }
  }
  return holders_by_position;
}

}  // namespace

void ClosureReporter::look_at(const model::Snapshot& snapshot) {
  if (snapshot.generation == seen_generation_) return;
  seen_generation_ = snapshot.generation;
  const model::NodeTable& nodes = snapshot.nodes;
  node_versions_.resize(nodes.size());
  std::vector<std::size_t> changed_slots;
  // The old texts of all changed slots are merged: a node that was removed and came back may be in
  // another slot, and its problems must not be reported twice.
  NodeProblems problems;
  for (std::size_t slot = 0; slot < nodes.size(); ++slot) {
    const std::uint64_t node_version = nodes.version(slot);
    if (node_version != 0 && node_version == node_versions_[slot]) continue;
    node_versions_[slot] = node_version;
    if (auto earlier_problems = reported_problems_.extract(slot))
      problems.earlier.merge(earlier_problems.mapped());
    if (nodes[slot] != nullptr) changed_slots.push_back(slot);
  }
  for (const std::size_t slot : changed_slots) {
    report_node(*nodes[slot], problems);
    if (!problems.current.empty())
      reported_problems_.emplace(slot, std::exchange(problems.current, {}));
  }
}

void ClosureReporter::report_node(const model::NodeState& node, NodeProblems& problems) {
  constexpr ReservationProblem kOverCommitment = ReservationProblem::kOverCommitment;
  if (node.conflict != model::NodeConflict::kNone) {
    const std::string problem_text =
        "node " + node.name() + ": " + std::string(model::to_string(node.conflict));
    if (is_first_report(kOverCommitment, problem_text, problems)) {
      for (const model::HoldingPtr& holding : node.holdings) {
        if (!holding->is_cpu_only())
          warn_holder(*holding, ReservationProblem::kOverCommitment, problem_text);
      }
    }
  }
  Holders holders;  // computed when first needed
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const model::GpuState& gpu = node.gpus[i];
    if (!is_reported_closure(gpu.closure)) continue;
    const ReservationProblem problem = closure_problem(gpu.closure);
    const std::string problem_text = "GPU " + std::to_string(gpu.info->index) + " of node " +
                                     node.name() +
                                     " is closed: " + std::string(model::to_string(gpu.closure));
    if (!is_first_report(problem, problem_text, problems)) continue;
    if (holders.empty()) holders = holders_by_gpu(node);
    for (const model::Holding* holding : holders[i]) warn_holder(*holding, problem, problem_text);
  }
}

bool ClosureReporter::is_first_report(ReservationProblem problem, const std::string& problem_text,
                                      NodeProblems& problems) {
  // Two vanished GPUs with the same index have the same text, which is reported once.
  const bool is_new =
      problems.current.insert(problem_text).second && !problems.earlier.contains(problem_text);
  if (!is_new) return false;
  metrics_.reservation_problem(problem);
  log_.write(LogLevel::kError, problem_text);
  return true;
}

void ClosureReporter::warn_holder(const model::Holding& holding, ReservationProblem problem,
                                  const std::string& problem_text) {
  const bool over_committed = problem == ReservationProblem::kOverCommitment;
  api_.notify({.name_space = holding.name_space,
               .name = holding.pod,
               .uid = holding.uid,
               .reason = over_committed ? "GpuOverCommitted" : "GpuClosed",
               .note = problem_text});
}

}  // namespace snug::service
