// A node with pods, and an incoming pod that may preempt them, for tests of preemption. Pure.
//
//   PreemptionScenario on("n: A 1000 x2", {"a 5 g0:500 cpu=2000", "b 0 w1 ending"}, make_whole(1));
//
// The text of a pod is its uid, its priority, and words: gI:M (M MiB and M milli-GPU of GPU I), wI
// (GPU I as a whole), uN (N units of nvidia.com/gpu), cpu=, mem=, milli= and mib= (the resources
// that mirror shares), @TIME (its creation time), ending (it is terminating), tied (it has other
// constraints). A GPU has 1000 MiB.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/plan/choose_victims.hpp"
#include "support/node_states.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug {

inline std::shared_ptr<model::Holding> make_evictable(std::string_view text) {
  const std::vector<std::string> words = split(text, ' ');
  if (words.size() < 2) throw std::invalid_argument("a pod is UID PRIORITY WORDS…");
  std::vector<model::ReservedDevice> devices;
  std::int64_t units = 0;
  auto holding = make_holding(words[0], "n", {});
  holding->rank = {.priority = std::stoi(words[1]), .created = "2026", .uid = words[0]};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string value = word.substr(std::min(word.find_first_of(":=") + 1, word.size()));
    if (word == "ending") {
      holding->terminating = true;
    } else if (word == "tied") {
      holding->has_other_constraints = true;
    } else if (word.starts_with("cpu=")) {
      holding->host.cpu_milli = std::stoll(value);
    } else if (word.starts_with("mem=")) {
      holding->host.memory_bytes = std::stoll(value);
    } else if (word.starts_with("milli=")) {
      holding->mirrored.milli.value = std::stoll(value);
    } else if (word.starts_with("mib=")) {
      holding->mirrored.memory.value = std::stoll(value);
    } else if (word.starts_with('@')) {
      holding->rank.created = word.substr(1);
    } else if (word.starts_with('g')) {
      devices.push_back(
          make_share(std::stoi(word.substr(1)), std::stoll(value), std::stoll(value)));
    } else if (word.starts_with('w')) {
      devices.push_back(make_whole_device(std::stoi(word.substr(1)), 1000));
    } else if (word.starts_with('u')) {
      units = std::stoll(word.substr(1));
    } else {
      throw std::invalid_argument("unknown word of a pod: " + word);
    }
  }
  auto& containers = holding->reservation.containers;
  if (units > 0) {
    containers.front().assigned = model::KubeletUnits{"nvidia.com/gpu", units};
  } else if (devices.empty()) {
    containers.clear();
  } else {
    containers.front().assigned = std::move(devices);
  }
  return holding;
}

/// The incoming pod has priority 10 unless a test changes it.
class PreemptionScenario {
 public:
  PreemptionScenario(std::string_view node, const std::vector<std::string>& pods,
                     model::GpuRequest asked)
      : incoming(std::move(asked)) {
    incoming.rank = {.priority = 10, .created = "2026", .uid = "new"};
    inventory_ = make_node(node);
    for (const std::string& pod : pods) holdings.push_back(make_evictable(pod));
  }

  /// Sets the node's CPU, memory and number of pods. Without this call, they are unknown.
  PreemptionScenario& host(std::int64_t cpu, std::int64_t memory, std::int64_t pods) {
    inventory_.host = {
        .resources = {.cpu_milli = cpu, .memory_bytes = memory}, .pod_slots = pods, .known = true};
    return *this;
  }
  PreemptionScenario& request_host(std::int64_t cpu, std::int64_t memory = 0) {
    host_request = {.cpu_milli = cpu, .memory_bytes = memory};
    return *this;
  }
  /// Sets what the node's status shows of the resources that mirror shares. Without this call, it
  /// lacks them.
  PreemptionScenario& mirror(std::int64_t milli, std::int64_t mib) {
    inventory_.mirrored.allocatable = {.milli = milli, .memory_mib = mib};
    return *this;
  }
  PreemptionScenario& request_mirrored(std::int64_t milli, std::int64_t mib = 0) {
    mirrored_request = {.milli = {milli}, .memory = {mib}};
    return *this;
  }
  PreemptionScenario& nominate(model::GpuRequest request, model::PodRank rank,
                               model::HostResources host = {},
                               model::MirroredAmounts mirrored = {}) {
    nominations.push_back(
        std::make_shared<const model::Nomination>(model::Nomination{.name_space = "default",
                                                                    .node = "n",
                                                                    .rank = std::move(rank),
                                                                    .request = std::move(request),
                                                                    .host = host,
                                                                    .mirrored = mirrored}));
    return *this;
  }

  [[nodiscard]] model::NodeStatePtr state() const {
    return fit::build_node_state(std::make_shared<const model::NodeInventory>(inventory_), holdings,
                                 unlisted);
  }
  [[nodiscard]] std::vector<std::string> victims(
      const std::vector<std::string_view>& chosen = {},
      const std::vector<std::string_view>& spared = {}) const {
    const model::NodeStatePtr node = state();
    const plan::NodeContext context{.namespace_usage = held, .nominations = &nominations};
    plan::IncomingPod claimed = incoming.view();
    claimed.host = host_request;
    claimed.mirrored = mirrored_request;
    const plan::Preemptor preemptor{.incoming = claimed,
                                    .has_other_constraints = has_other_constraints};
    std::vector<std::string> uids;
    const plan::EvictionCandidate candidate{
        .node = *node, .context = context, .proposed_victims = chosen, .protected_uids = spared};
    fit::FitMemo memo(preemptor.incoming.request);
    for (const std::string_view uid : plan::choose_victims(preemptor, candidate, memo)) {
      uids.emplace_back(uid);
    }
    return uids;
  }

  OwnedIncomingPod incoming;
  model::HostResources host_request;
  model::MirroredAmounts mirrored_request;
  bool has_other_constraints = false;
  std::vector<model::HoldingPtr> holdings;
  fit::CpuOnlyHoldings unlisted;  // CPU-only pods, which the node state does not list
  model::NamespaceUsage held;
  model::Nominations nominations;

 private:
  model::NodeInventory inventory_;
};

}  // namespace snug
