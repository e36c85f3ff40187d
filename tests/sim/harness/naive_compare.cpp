// What the naive model says of a quiet cluster: who fits where, and what the ledger must hold.
#include <algorithm>

#include "sim/harness/naive_model.hpp"

namespace snug {
namespace {

constexpr std::int64_t kWhole = 1000;

bool allows(const SimGpu& gpu, const std::string& mode) {
  return std::find(gpu.modes.begin(), gpu.modes.end(), mode) != gpu.modes.end();
}

std::int64_t healthy_gpus(const SimNode& node) {
  return std::count_if(node.gpus.begin(), node.gpus.end(),
                       [](const SimGpu& gpu) { return gpu.healthy; });
}

}  // namespace

bool NaiveModel::fits_gpu(const PlainAsk& ask, const SimGpu& gpu,
                          const std::vector<Holder>& there) {
  std::int64_t memory = gpu.memory;
  std::int64_t compute = kWhole;
  bool empty = true;
  std::string mode;
  for (const Holder& holder : there) {
    for (const Device& device : holder.held->devices) {
      const bool same = gpu.uuid.empty() ? device.index == gpu.index : device.uuid == gpu.uuid;
      if (same) {
        memory -= device.memory;
        compute -= device.compute;
        empty = false;
        mode = device.mode;
      }
    }
  }
  if (!gpu.healthy) return false;
  if (ask.kind == PlainAsk::Kind::kWhole) return empty && allows(gpu, "whole");
  // A GPU in use stays in its mode, and takes more only while the operator allows that mode.
  if (mode == "whole" || (!mode.empty() && !allows(gpu, mode))) return false;
  if (!allows(gpu, "time-slicing") && !allows(gpu, "mps")) return false;
  const bool fraction = ask.kind == PlainAsk::Kind::kFraction;
  const std::int64_t need =
      fraction ? std::max<std::int64_t>(1, ask.amount * gpu.memory / 1000) : ask.amount;
  const std::int64_t milli =
      fraction ? ask.amount : std::max<std::int64_t>(1, 1000 * ask.amount / gpu.memory);
  return need <= memory && milli <= compute;
}

bool NaiveModel::fits_units(std::int64_t units, const SimNode& node,
                            const std::vector<Holder>& there) const {
  if (node.pool == "shares") return false;
  std::int64_t left = healthy_gpus(node) - units;
  for (const Holder& holder : there) {
    if (!holder.held->devices.empty() || holder.held->unplaced) return false;
    for (const auto& [resource, count] : holder.held->units) left -= count;
  }
  return left >= 0;
}

bool NaiveModel::fits(const PodFacts& pod, const std::string& node_name) {
  using Kind = PlainAsk::Kind;
  const PlainAsk ask = plain_ask(pod);
  if (ask.kind == Kind::kNothing) return true;
  const auto found = world_.nodes().find(node_name);
  if (found == world_.nodes().end() || ask.kind == Kind::kMalformed) return false;
  const SimNode& node = found->second;
  std::vector<Holder> there = holders(false);
  std::erase_if(there, [&](const Holder& holder) { return holder.node != node_name; });
  if (ask.kind == Kind::kKubelet) return fits_units(ask.amount, node, there);
  if (node.pool == "whole") return false;
  if (node.labels_only && healthy_gpus(node) < static_cast<std::int64_t>(node.gpus.size())) {
    return false;
  }
  for (const Holder& holder : there) {
    if (holder.held->unplaced || !holder.held->units.empty()) return false;
  }
  std::int64_t fitting = 0;
  for (const SimGpu& gpu : node.gpus) {
    // A GPU that took the place of one that is still held is closed.
    const bool taken_over = std::any_of(there.begin(), there.end(), [&](const Holder& holder) {
      return std::any_of(
          holder.held->devices.begin(), holder.held->devices.end(), [&](const Device& device) {
            const bool known = std::any_of(node.gpus.begin(), node.gpus.end(),
                                           [&](const auto& g) { return g.uuid == device.uuid; });
            return !device.uuid.empty() && !known && device.index == gpu.index;
          });
    });
    if (!taken_over && fits_gpu(ask, gpu, there)) ++fitting;
  }
  return fitting >= (ask.kind == Kind::kWhole ? ask.amount : 1);
}

void NaiveModel::check_equal(const Observed& seen) {
  std::set<std::string> expected;
  for (const Holder& holder : holders(false)) {
    expected.insert(holder.uid);
    const auto found = seen.pods.find(holder.uid);
    if (found == seen.pods.end()) {
      report("lost",
             holder.uid + " on " + holder.node + " is not in the ledger: " + show(*holder.held));
    } else if (found->second.held != *holder.held || found->second.node != holder.node) {
      report("different", holder.uid + " holds " + show(*holder.held) + " on " + holder.node +
                              " and the ledger says " + show(found->second.held) + " on " +
                              found->second.node);
    } else if (!found->second.bound) {
      report("unconfirmed", holder.uid + " is bound and the ledger does not say so");
    }
  }
  for (const auto& [uid, pod] : seen.pods) {
    if (!expected.contains(uid)) {
      report("leak",
             uid + " holds nothing, and the ledger gives it " + show(pod.held) + " on " + pod.node);
    }
  }
  for (const auto& [uid, pod] : world_.pods()) {
    if (!pod.bound() && !pod.facts.finished && !seen.pending.contains(uid)) {
      report("forgotten", uid + " waits, and Snug does not know it");
    }
  }
  for (const std::string& uid : seen.pending) {
    if (!world_.pods().contains(uid)) report("leak", uid + " is gone, and pending");
  }
  if (seen.nodes.size() != world_.nodes().size()) report("different", "the nodes differ");
  for (const auto& [name, node] : beyond(seen, holders(false))) {
    for (const Observed::Gpu& gpu : node.gpus) {
      if (gpu.used_memory == 0 && gpu.used_compute == 0) continue;
      report("leak", "the snapshot counts on " + name + "/" + std::to_string(gpu.index) +
                         " what no pod holds");
    }
    for (const auto& [resource, count] : node.units) {
      if (count != 0) report("leak", "the snapshot miscounts " + resource + " on " + name);
    }
  }
}

}  // namespace snug
