// A ledger with a clock that stands still, two nodes of one GPU each, and short words for what
// tests do to it. Not thread-safe, but for `ledger` itself.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "snug/ledger/ledger.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug {

class LedgerFixture {
 public:
  explicit LedgerFixture(const base::Limits& limits = {},
                         const std::vector<std::string>& nodes = {"n1: A 40960", "n2: A 40960"})
      : ledger(clock, limits) {
    for (const std::string& node : nodes) ledger.put_node(make_node(node));
  }

  base::ManualClock clock;
  ledger::Ledger ledger;
  score::Profile profile = make_profile("best-fit");

  std::expected<model::HoldingPtr, ledger::ReserveFailure> reserve(
      std::string_view uid, std::string_view node,
      const model::GpuRequest& request = make_fraction(500)) {
    const OwnedIncomingPod claim(request, profile, std::string(uid));
    return ledger.reserve({.incoming = claim.view(), .pod = uid, .node = node});
  }

  [[nodiscard]] model::NodeStatePtr node(std::string_view name) {
    const model::SnapshotPtr snapshot = ledger.snapshot();
    const auto found = snapshot->names->find(name);
    return found ? snapshot->nodes[found->value] : nullptr;
  }

  /// Everything that decisions can see.
  [[nodiscard]] std::string visible() { return describe(*ledger.snapshot()); }

  [[nodiscard]] std::uint64_t generation() { return ledger.snapshot()->generation.value; }
  [[nodiscard]] std::uint64_t room() { return ledger.snapshot()->freed_generation.value; }
  [[nodiscard]] std::uint64_t intents_ended() {
    return ledger.snapshot()->ended_intents_generation.value;
  }

  /// `Reserved@n1`, `ended`, or `-` for a pod that the ledger does not know.
  [[nodiscard]] std::string where(std::string_view uid) const {
    const std::optional<ledger::LedgerEntry> entry = ledger.find(uid);
    if (ledger.has_ended(uid)) return entry ? "ended and holding" : "ended";
    if (!entry) return "-";
    const std::string node = "@" + entry->holding->reservation.node;
    if (entry->state == ledger::HoldingState::kReserved) return "Reserved" + node;
    return (entry->state == ledger::HoldingState::kUnsettled ? "Unsettled" : "Bound") + node;
  }

  /// What a whole list shows: pods bound with what they hold, and unbound ones by uid.
  void list(ledger::ListMark mark, const std::vector<model::HoldingPtr>& bound,
            const std::vector<std::string>& unbound = {}) {
    ledger::ListedPods listed;
    for (const model::HoldingPtr& holding : bound) {
      listed.bound.push_back(holding);
      listed.living.insert(holding->uid);
    }
    for (const std::string& uid : unbound) listed.living.insert(uid);
    ledger.replace_holdings(mark, listed);
  }

  /// The nodes' use is what the entries add up to, entry by entry, and nothing else.
  void expect_sums() {
    const model::SnapshotPtr snapshot = ledger.snapshot();
    std::size_t on_nodes = 0;
    for (std::size_t i = 0; i < snapshot->nodes.size(); ++i) {
      if (snapshot->nodes[i] == nullptr) continue;
      std::vector<model::HoldingPtr> holdings;
      for (const model::HoldingPtr& holding : snapshot->nodes[i]->holdings) {
        const std::optional<ledger::LedgerEntry> entry = ledger.find(holding->uid);
        ASSERT_TRUE(entry.has_value()) << holding->uid;
        EXPECT_EQ(entry->holding, holding);
        EXPECT_EQ(holding->reservation.node, snapshot->nodes[i]->name());
        holdings.push_back(entry->holding);
        on_nodes += holding->is_cpu_only() ? 0 : 1;
      }
      EXPECT_EQ(describe(*fit::build_node_state(snapshot->nodes[i]->inventory, holdings)),
                describe(*snapshot->nodes[i]));
    }
    std::size_t expected = 0;
    std::set<std::string> to_confirm;
    ledger::HoldingCounts counts{{ledger::HoldingState::kBound, 0}};
    for (const ledger::LedgerEntry& entry : ledger.gpu_entries()) {
      const bool unseen = entry.state == ledger::HoldingState::kBound &&
                          (!entry.confirmed || entry.reappeared_after_end);
      if (unseen || entry.state == ledger::HoldingState::kUnsettled)
        to_confirm.insert(entry.holding->uid);
      ++counts[entry.state];
      expected += snapshot->names->contains(entry.holding->reservation.node) ? 1 : 0;
    }
    EXPECT_EQ(on_nodes, expected);
    EXPECT_EQ(ledger.gpu_holding_counts(), counts);
    std::set<std::string> unconfirmed;
    for (const ledger::LedgerEntry& entry : ledger.unconfirmed())
      unconfirmed.insert(entry.holding->uid);
    EXPECT_EQ(unconfirmed, to_confirm);
  }
};

}  // namespace snug
