// Compares the ledger with the sums of the naive model.
#include <algorithm>

#include "sim/harness/naive_model.hpp"

namespace snug {
namespace {

const Observed::Gpu* seen_gpu(const Observed::Node& node, int index, const std::string* vanished) {
  const auto found = std::ranges::find_if(node.gpus, [&](const Observed::Gpu& gpu) {
    if (gpu.index != index || gpu.vanished != (vanished != nullptr)) return false;
    return vanished == nullptr || gpu.uuid == *vanished;
  });
  return found == node.gpus.end() ? nullptr : &*found;
}

}  // namespace

void NaiveModel::check_gpu(const std::string& where, const Amounts& expected,
                           const Amounts& counted, Compare how) {
  const auto text = [](const Amounts& amounts) {
    return std::to_string(amounts.memory) + " MiB, " + std::to_string(amounts.compute) + " milli";
  };
  if (counted.memory < expected.memory || counted.compute < expected.compute) {
    report("freed", "the snapshot counts " + text(counted) + " on " + where +
                        ", and its pods hold " + text(expected));
  } else if (how == Compare::kEqual && counted != expected) {
    report("leak", "the snapshot counts " + text(counted) + " on " + where +
                       ", and its pods hold only " + text(expected));
  }
}

void NaiveModel::check_taken(const std::string& where, std::uint64_t expected,
                             std::uint64_t counted, Compare how) {
  if ((expected & ~counted) != 0) {
    report("freed", "the slices " + std::to_string(expected & ~counted) + " on " + where +
                        " are held, and free in the snapshot");
  } else if (how == Compare::kEqual && counted != expected) {
    report("leak", "the slices " + std::to_string(counted & ~expected) + " on " + where +
                       " are nobody's, and taken in the snapshot");
  }
}

void NaiveModel::check_sums(const Observed& seen, const std::vector<Holder>& all, Compare how) {
  for (const auto& [name, node] : feed_.told_nodes()) {
    const auto found = seen.nodes.find(name);
    if (found == seen.nodes.end()) {
      report("different", "the snapshot lacks " + name);
      continue;
    }
    const FitOracle truth = oracle_of(node, all, {});
    for (const FitOracle::Gpu& held : truth.gpus()) {
      const std::string where = name + "/" + std::to_string(held.info.index);
      const Observed::Gpu* gpu =
          seen_gpu(found->second, held.info.index, held.vanished ? &held.info.uuid : nullptr);
      if (gpu == nullptr && !held.vanished) {
        report("different", "the snapshot lacks " + where);
        continue;
      }
      const Amounts counted =
          gpu == nullptr ? Amounts{} : Amounts{gpu->used_memory, gpu->used_compute};
      check_gpu(where + (held.vanished ? " that vanished" : ""), held.used, counted, how);
      if (held.vanished) continue;
      check_taken(where, held.slices ? held.slices->held_slices() : 0, gpu->taken, how);
    }
    const auto sum_of = [](const std::map<std::string, std::int64_t>& units) {
      std::int64_t sum = 0;
      for (const auto& [resource, count] : units) sum += count;
      return sum;
    };
    const std::int64_t units = sum_of(found->second.units);
    const std::int64_t held = sum_of(truth.units());
    if (units < held || (how == Compare::kEqual && units != held)) {
      report(units < held ? "freed" : "leak", "the snapshot counts " + std::to_string(units) +
                                                  " units on " + name + " for " +
                                                  std::to_string(held));
    }
    if (how == Compare::kEqual && found->second.gpus.size() != truth.gpus().size()) {
      report("different", "the snapshot has other GPUs on " + name);
    }
  }
}

void NaiveModel::check_ledger(const Observed& seen) {
  if (!seen.ready) return;
  const std::vector<Holder> all = holders(true);
  for (const Holder& holder : all) {
    const auto found = seen.pods.find(holder.uid);
    const Held& held = holder.held->held;
    if (found == seen.pods.end()) {
      report("freed", holder.uid + " lives and its GPUs are free: " + show(held));
    } else if (found->second.held != held || found->second.node != holder.node) {
      report("freed", holder.uid + " holds " + show(held) + " on " + holder.node +
                          " and the ledger says " + show(found->second.held) + " on " +
                          found->second.node);
    }
  }
  check_sums(seen, all, Compare::kAtLeast);
}

void NaiveModel::check_equal(const Observed& seen) {
  check_pods(seen);
  check_waiting(seen);
  check_nominations(seen);
  check_hosts(seen);
  if (seen.nodes.size() != world_.nodes().size()) report("different", "the nodes differ");
  check_sums(seen, holders(false), Compare::kEqual);
}

void NaiveModel::check_pods(const Observed& seen) {
  std::set<std::string> expected;
  for (const Holder& holder : holders(false)) {
    expected.insert(holder.uid);
    const auto found = seen.pods.find(holder.uid);
    const Held& held = holder.held->held;
    if (found == seen.pods.end()) {
      report("lost", holder.uid + " on " + holder.node + " is not in the ledger: " + show(held));
    } else if (found->second.held != held || found->second.node != holder.node) {
      report("different", holder.uid + " holds " + show(held) + " on " + holder.node +
                              " and the ledger says " + show(found->second.held) + " on " +
                              found->second.node);
    } else if (!found->second.bound) {
      report("unconfirmed", holder.uid + " is bound and the ledger does not say so");
    } else if (found->second.terminating != holder.terminating) {
      report("different", holder.uid + " is terminating, or not, as the ledger does not know");
    }
  }
  for (const auto& [uid, pod] : seen.pods) {
    if (expected.contains(uid)) continue;
    report("leak",
           uid + " holds nothing, and the ledger gives it " + show(pod.held) + " on " + pod.node);
  }
}

void NaiveModel::check_waiting(const Observed& seen) {
  for (const auto& [uid, pod] : world_.pods()) {
    if (!pod.bound() && !pod.facts.finished && !seen.pending.contains(uid)) {
      report("forgotten", uid + " waits, and Snug does not know it");
    }
  }
  for (const std::string& uid : seen.pending) {
    if (!world_.pods().contains(uid)) report("leak", uid + " is gone, and pending");
  }
}

void NaiveModel::check_nominations(const Observed& seen) {
  std::set<std::pair<std::string, std::string>> expected;
  for (const auto& [uid, pod] : world_.pods()) {
    const std::string& node = pod.facts.nominated_node_name;
    if (!pod.waits() || node.empty() || !world_.nodes().contains(node)) continue;
    const PlainAsk ask = plain_ask(pod.facts);
    if (!ask.nothing() && !ask.malformed) expected.emplace(uid, node);
  }
  if (expected == seen.nominations) return;
  std::string text = "nominated are";
  for (const auto& [uid, node] : expected) text += " " + uid + " to " + node;
  text += ", and Snug keeps room for";
  for (const auto& [uid, node] : seen.nominations) text += " " + uid + " on " + node;
  report("nominations", text);
}

/// Checks the CPU and memory that all pods take on each node, including CPU-only pods.
void NaiveModel::check_hosts(const Observed& seen) {
  std::map<std::string, Observed::Node> expected;
  for (const auto& [uid, pod] : world_.pods()) {
    if (!pod.holds()) continue;
    Observed::Node& node = expected[pod.facts.node_name];
    const auto [cpu, memory] = host_resources_of(pod.facts);
    node.host_cpu += cpu;
    node.host_memory += memory;
    ++node.pods;
  }
  for (const auto& [name, node] : seen.nodes) {
    const Observed::Node& truth = expected[name];
    if (node.host_cpu == truth.host_cpu && node.host_memory == truth.host_memory &&
        node.pods == truth.pods) {
      continue;
    }
    report("host", name + " has " + std::to_string(truth.pods) + " pods with " +
                       std::to_string(truth.host_cpu) + " milli-CPU and " +
                       std::to_string(truth.host_memory) + " bytes, and the ledger counts " +
                       std::to_string(node.pods) + " with " + std::to_string(node.host_cpu) +
                       " and " + std::to_string(node.host_memory));
  }
}

}  // namespace snug
