#include "snug/service/closures.hpp"

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace snug {
namespace {

ReservationProblem problem_of(GpuClosure closure) {
  const bool shared_out_twice =
      closure == GpuClosure::kOverCommitted || closure == GpuClosure::kModeConflict;
  return shared_out_twice ? ReservationProblem::kOverCommitment : ReservationProblem::kGpuClosed;
}

/// An unhealthy GPU is its operator's news, not ours.
bool is_news(GpuClosure closure) {
  return closure != GpuClosure::kOpen && closure != GpuClosure::kUnhealthy;
}

using Holders = std::vector<std::vector<const Holding*>>;

/// Who holds something of each GPU, each once.
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
  // A node that went and came back may be in another slot, and what was said of it is still said.
  Told told;
  for (std::size_t slot = 0; slot < nodes.size(); ++slot) {
    const std::uint64_t version = nodes.version(slot);
    if (version != 0 && version == versions_[slot]) continue;
    versions_[slot] = version;
    if (auto said = said_.extract(slot)) told.before.merge(said.mapped());
    if (nodes[slot] != nullptr) changed.push_back(slot);
  }
  for (const std::size_t slot : changed) {
    look_at_node(*nodes[slot], told);
    if (!told.now.empty()) said_.emplace(slot, std::exchange(told.now, {}));
  }
}

void ClosureReporter::look_at_node(const NodeState& node, Told& told) {
  if (node.conflict != NodeConflict::kNone) {
    const std::string text = "node " + node.name() + ": " + std::string(to_string(node.conflict));
    if (say(ReservationProblem::kOverCommitment, text, told)) {
      for (const HoldingPtr& holding : node.holdings) {
        if (!holding->of_host_alone()) warn(*holding, ReservationProblem::kOverCommitment, text);
      }
    }
  }
  Holders holders;  // made when first needed
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const GpuState& gpu = node.gpus[i];
    if (!is_news(gpu.closure)) continue;
    const ReservationProblem problem = problem_of(gpu.closure);
    const std::string text = "GPU " + std::to_string(gpu.info->index) + " of node " + node.name() +
                             " is closed: " + std::string(to_string(gpu.closure));
    if (!say(problem, text, told)) continue;
    if (holders.empty()) holders = holders_by_gpu(node);
    for (const Holding* holding : holders[i]) warn(*holding, problem, text);
  }
}

bool ClosureReporter::say(ReservationProblem problem, const std::string& text, Told& told) {
  // Two GPUs that vanished may have had one index: that is one text, said once.
  const bool is_new = told.now.insert(text).second && !told.before.contains(text);
  if (!is_new) return false;
  metrics_.reservation_problem(problem);
  log_.write(LogLevel::kError, text);
  return true;
}

void ClosureReporter::warn(const Holding& holding, ReservationProblem problem,
                           const std::string& text) {
  api_.warn(
      {.name_space = holding.name_space,
       .pod = holding.pod,
       .uid = holding.uid,
       .reason = problem == ReservationProblem::kOverCommitment ? "GpuOverCommitted" : "GpuClosed",
       .note = text});
}

}  // namespace snug
