// A node with pods on it, and a pod that wants to come in, for tests of preemption. Pure.
//
//   Eviction on("n: A 1000 x2", {"a 5 g0:500 cpu=2000", "b 0 w1 ending"});
//
// A pod is its uid, its priority, and words: gI:M (M thousandths and MiB of GPU I), wI (all of GPU
// I), uN (N units of nvidia.com/gpu), cpu=, mem=, @TIME (its creation), ending, tied (other
// constraints). GPUs have 1000 MiB, so that thousandths and MiB are the same.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/plan/preempt.hpp"
#include "support/claims.hpp"
#include "support/states.hpp"

namespace snug {

inline std::shared_ptr<Holding> make_evictable(std::string_view text) {
  const std::vector<std::string> words = split(text, ' ');
  if (words.size() < 2) throw std::invalid_argument("a pod is UID PRIORITY WORDS…");
  std::vector<ReservedDevice> devices;
  std::int64_t units = 0;
  auto holding = make_holding(words[0], "n", {});
  holding->rank = {.priority = std::stoi(words[1]), .created = "2026", .uid = words[0]};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string value = word.substr(std::min(word.find_first_of(":=") + 1, word.size()));
    if (word == "ending") {
      holding->terminating = true;
    } else if (word == "tied") {
      holding->other_constraints = true;
    } else if (word.starts_with("cpu=")) {
      holding->host.cpu_milli = std::stoll(value);
    } else if (word.starts_with("mem=")) {
      holding->host.memory_bytes = std::stoll(value);
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
    containers.front().given = KubeletUnits{"nvidia.com/gpu", units};
  } else if (devices.empty()) {
    containers.clear();
  } else {
    containers.front().given = std::move(devices);
  }
  return holding;
}

/// The pod that wants to come in has priority 10 unless told otherwise.
class Eviction {
 public:
  Eviction(std::string_view node, const std::vector<std::string>& pods, GpuRequest asked)
      : claim(std::move(asked)) {
    claim.rank = {.priority = 10, .created = "2026", .uid = "new"};
    inventory_ = make_node(node);
    for (const std::string& pod : pods) holdings.push_back(make_evictable(pod));
  }

  /// What the node has for pods; without it nothing is known of that.
  Eviction& host(std::int64_t cpu, std::int64_t memory, std::int64_t pods) {
    inventory_.host = {
        .amounts = {.cpu_milli = cpu, .memory_bytes = memory}, .pods = pods, .known = true};
    return *this;
  }
  Eviction& asks(std::int64_t cpu, std::int64_t memory = 0) {
    wants = {.cpu_milli = cpu, .memory_bytes = memory};
    return *this;
  }
  Eviction& nominate(GpuRequest request, PodRank rank) {
    nominations.push_back(
        std::make_shared<const Nomination>(Nomination{.name_space = "default",
                                                      .node = "n",
                                                      .rank = std::move(rank),
                                                      .request = std::move(request)}));
    return *this;
  }

  [[nodiscard]] NodeStatePtr state() const {
    return add_up(std::make_shared<const NodeInventory>(inventory_), holdings, counted);
  }
  [[nodiscard]] std::vector<std::string> victims(
      const std::vector<std::string_view>& chosen = {},
      const std::vector<std::string_view>& spared = {}) const {
    const NodeStatePtr node = state();
    const Around around{.held = held, .nominations = &nominations};
    Claim claimed = claim.view();
    claimed.host = wants;
    const Preemptor preemptor{.claim = claimed, .other_constraints = tied};
    std::vector<std::string> uids;
    const EvictionOffer offer{.node = *node, .around = around, .chosen = chosen, .spared = spared};
    FitMemo memo(preemptor.claim.request);
    for (const std::string_view uid : choose_victims(preemptor, offer, memo)) {
      uids.emplace_back(uid);
    }
    return uids;
  }

  OwnClaim claim;
  HostAmounts wants;
  bool tied = false;
  std::vector<HoldingPtr> holdings;
  HostHoldings counted;  // of pods that the state does not list
  NamespaceUse held;
  Nominations nominations;

 private:
  NodeInventory inventory_;
};

}  // namespace snug
