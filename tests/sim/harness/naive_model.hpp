// The obviously right model: from the API server's truth alone it says, with its own reading of
// annotations, who holds what, and where Snug went wrong. What a node's pods take of it and what
// fits there is FitOracle's to say. It keeps no state but what it has found. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "oracle/fit_oracle.hpp"
#include "sim/harness/feed.hpp"
#include "sim/harness/observed.hpp"
#include "sim/harness/plain_ask.hpp"
#include "sim/harness/plain_policy.hpp"
#include "sim/harness/world.hpp"

namespace snug {

/// What a pod holds, and what it asked when it was given that.
struct PlainHeld {
  Held held;
  PlainAsk ask;
  model::HoldingPtr holding;  // the same in FitOracle's words
};

struct Holder {
  std::string uid;
  std::string node;
  const model::PodFacts* pod = nullptr;
  std::shared_ptr<const PlainHeld> held;
  bool terminating = false;
};

[[nodiscard]] std::string show(const model::Slice& slice);
[[nodiscard]] std::string show(const Held& held);

struct Violation {
  std::string check;  // name of the check that failed
  std::string text;
};

class NaiveModel {
 public:
  NaiveModel(const World& world, const Feed& feed) : world_(world), feed_(feed) {}

  /// Sets the policy. The caller gives Snug the same policy.
  void set_policy(PlainPolicy policy) { policy_ = std::move(policy); }

  // Checks. Each check adds what it finds to violations().
  /// Checks that bound pods and bindings in flight over-commit no GPU. The capacity of a GPU is the
  /// largest that it ever had.
  void check_truth();
  /// Checks that no two pods hold overlapping slices or the same engine of a card.
  void check_slices_of_all();
  /// Checks a binding that Snug sends: its devices match the request, they are free according to
  /// all that Snug knows, and room is left for the nominated pod. `seen` is Snug's current state.
  void check_decision(const model::Binding& binding, const Observed& seen);
  /// Checks that the ledger counts the devices of each pod that Snug has bound or that the watch
  /// has shown, until the pod ends.
  void check_ledger(const Observed& seen);
  /// Checks that the ledger equals the state in the API server. Call this when no call is in flight
  /// and all events are delivered.
  void check_equal(const Observed& seen);
  void report(std::string check, std::string text);

  /// Whether the pod fits on the node according to the API server, beside the promises to other
  /// pods. No call may be in flight.
  enum class Fit { kNo, kYes, kUnsure };
  [[nodiscard]] Fit fits(const model::PodFacts& pod, const std::string& node,
                         const std::vector<Observed::Promise>& promises);
  /// Returns what a bound pod of the API server holds.
  [[nodiscard]] const Held& held(const SimPod& pod);

  /// Describes a node and what each pod holds on it, for messages.
  [[nodiscard]] std::string describe(const std::string& node);

  /// Call this when Snug has been replaced by a new process.
  void restart() { decided_.clear(); }
  [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }

 private:
  std::shared_ptr<const PlainHeld> read(const model::PodFacts& pod,
                                        const model::StringMap& annotations,
                                        const std::string& node);
  /// What the ledger says that a pod holds.
  [[nodiscard]] static std::shared_ptr<const PlainHeld> held_as(const model::PodFacts& pod,
                                                                const std::string& node,
                                                                const Held& held);
  std::shared_ptr<const PlainHeld> read_binding(const model::PodFacts& pod,
                                                const model::Binding& binding);
  /// Returns the pods that hold something. If `only_known`, returns only those that Snug must know:
  /// it has bound them, or the watch has shown them.
  std::vector<Holder> holders(bool only_known);
  /// Who asks, in a cluster where these hold what they do.
  [[nodiscard]] Asker asker_of(const std::string& name_space, const std::vector<Holder>& all,
                               const std::map<std::string, SimNode>& nodes) const;
  /// The node with those of the holders that are on it.
  [[nodiscard]] static FitOracle oracle_of(const SimNode& node, const std::vector<Holder>& all,
                                           Asker asker);

  // naive_decision.cpp
  void check_choice(const model::PodFacts& pod, const PlainHeld& held, const SimNode& node,
                    const FitOracle& oracle, FitOracle::Beside beside);
  [[nodiscard]] std::vector<Holder> holders_in(const Observed& seen) const;
  [[nodiscard]] std::vector<Holder> promised_to_others(
      const model::PodFacts& pod, const std::string& node,
      const std::vector<Observed::Promise>& promises);
  void check_nominated(const model::PodFacts& pod, const model::Binding& binding,
                       const Observed& seen);
  /// Which holders must leave before a nominated pod fits. kForever: it does not fit even then.
  enum class Waits { kForNobody, kForTerminating, kForAllAfterIt, kForever };
  /// Whether `pod` fits on the node after the holders of `waits` have left. `comer`, unless null,
  /// is an additional holder that stays.
  [[nodiscard]] bool finds_room(const model::PodFacts& pod, const SimNode& node,
                                const std::vector<Holder>& all,
                                const std::map<std::string, SimNode>& nodes, Waits waits,
                                const Holder* comer = nullptr) const;
  [[nodiscard]] Waits waits_for(const model::PodFacts& pod, const SimNode& node,
                                const std::vector<Holder>& all,
                                const std::map<std::string, SimNode>& nodes) const;

  // naive_compare.cpp
  void check_pods(const Observed& seen);
  void check_waiting(const Observed& seen);
  void check_nominations(const Observed& seen);
  void check_hosts(const Observed& seen);
  enum class Compare { kAtLeast, kEqual };
  void check_sums(const Observed& seen, const std::vector<Holder>& all, Compare how);
  void check_gpu(const std::string& where, const Amounts& expected, const Amounts& counted,
                 Compare how);
  void check_taken(const std::string& where, std::uint64_t expected, std::uint64_t counted,
                   Compare how);

  const World& world_;
  const Feed& feed_;
  PlainPolicy policy_;
  std::unordered_map<std::string, std::shared_ptr<const PlainHeld>> memo_;
  std::set<std::pair<std::string, std::string>> decided_;  // (uid, reservation) seen in a binding
  std::vector<Violation> violations_;
};

}  // namespace snug
