#include "snug/service/closures.hpp"

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace snug {
namespace {

constexpr std::string_view kOverCommitment = "over_commitment";
constexpr std::string_view kGpuClosed = "gpu_closed";

std::string_view kind_of(GpuClosure closure) {
  const bool shared_out_twice =
      closure == GpuClosure::kOverCommitted || closure == GpuClosure::kModeConflict;
  return shared_out_twice ? kOverCommitment : kGpuClosed;
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
  std::unordered_set<std::string> now;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    if (snapshot.nodes[slot] != nullptr) look_at_node(*snapshot.nodes[slot], now);
  }
  said_ = std::move(now);
}

void ClosureReporter::look_at_node(const NodeState& node, std::unordered_set<std::string>& now) {
  if (node.conflict != NodeConflict::kNone) {
    const std::string text = "node " + node.name() + ": " + std::string(to_string(node.conflict));
    if (say(kOverCommitment, text, now)) {
      for (const HoldingPtr& holding : node.holdings) warn(*holding, kOverCommitment, text);
    }
  }
  Holders holders;  // made when first needed
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const GpuState& gpu = node.gpus[i];
    if (!is_news(gpu.closure)) continue;
    const std::string_view kind = kind_of(gpu.closure);
    const std::string text = "GPU " + std::to_string(gpu.info->index) + " of node " + node.name() +
                             " is closed: " + std::string(to_string(gpu.closure));
    if (!say(kind, text, now)) continue;
    if (holders.empty()) holders = holders_by_gpu(node);
    for (const Holding* holding : holders[i]) warn(*holding, kind, text);
  }
}

bool ClosureReporter::say(std::string_view kind, const std::string& text,
                          std::unordered_set<std::string>& now) {
  // Two GPUs that vanished may have had one index: that is one text, said once.
  const bool is_new = now.insert(text).second && !said_.contains(text);
  if (!is_new) return false;
  metrics_.reservation_problem(kind);
  log_.write(LogLevel::kError, text);
  return true;
}

void ClosureReporter::warn(const Holding& holding, std::string_view kind, const std::string& text) {
  api_.warn({.name_space = holding.name_space,
             .pod = holding.pod,
             .uid = holding.uid,
             .reason = kind == kOverCommitment ? "GpuOverCommitted" : "GpuClosed",
             .note = text});
}

}  // namespace snug
