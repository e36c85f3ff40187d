// A policy is data: profiles of weighted terms, rules that choose among them, what pods may choose
// themselves, and what tenants share. Which placement fits never depends on terms or rules; what a
// namespace may share does (SharingRules). Immutable once read (codec/policy_codec); the same
// profile chooses the node and the GPU.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "snug/model/demand.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/sharing.hpp"
#include "snug/score/terms.hpp"

namespace snug {

inline constexpr std::int64_t kMaxWeight = 1'000'000;

/// The largest quantum: as much as ten terms of the largest weight at their bounds.
inline constexpr std::int64_t kMaxQuantum = 1'000'000'000'000;

/// What a number of a policy is while no pod ever leaves, in a cluster that churns in full
/// (Demand::churn), and in one that churns and has no room for what comes (Demand::saturation);
/// between these in proportion.
struct ByRegime {
  std::int64_t still = 0;
  std::int64_t churning = 0;
  std::int64_t saturated = 0;

  // NOLINTNEXTLINE(google-explicit-constructor): most numbers are the same in all.
  ByRegime(std::int64_t same) : still(same), churning(same), saturated(same) {}
  ByRegime(std::int64_t the_still, std::int64_t the_churning)
      : still(the_still), churning(the_churning), saturated(the_churning) {}
  ByRegime(std::int64_t the_still, std::int64_t the_churning, std::int64_t the_saturated)
      : still(the_still), churning(the_churning), saturated(the_saturated) {}
  friend bool operator==(const ByRegime&, const ByRegime&) = default;

  [[nodiscard]] std::int64_t at(const Demand& demand) const {
    constexpr int kChurn = Demand::kFullChurn;
    constexpr int kAll = kChurn * Demand::kFullSaturation;
    const std::int64_t number =
        (still * (kChurn - demand.churn) + churning * demand.churn) / kChurn;
    return number + (saturated - number) * demand.churn * demand.saturation / kAll;
  }
};

struct WeightedTerm {
  const TermRow* term = nullptr;
  ByRegime weight = 0;  // -kMaxWeight..kMaxWeight
};

struct Profile {
  std::string name;
  std::vector<WeightedTerm> terms;
  /// Nodes whose scores lie in the same quantum are equally good: the tie rule stacks pods there
  /// instead of scattering them. 1..kMaxQuantum.
  ByRegime quantum = 1;

  /// The class of a node whose best placement has this score: the quantum up to which it lies, so
  /// that 0 and costs of less than one quantum are alike.
  [[nodiscard]] std::int64_t class_of(std::int64_t score, const Demand& demand) const;
};

/// Σ weight × term: it chooses among the placements on a node. Cannot overflow within the bounds
/// above.
[[nodiscard]] std::int64_t score(const Profile& profile, const TermInput& input);

/// The profiles that score one pod's placements, on the GPUs of one ledger. Points into the policy
/// that made it. Not thread-safe, not even where it is const: of() remembers what it has found.
///
/// What comparing costs: a policy's patterns are together no longer than its file
/// (max_config_bytes), and a model with a number (GpuInfo::model_number) is compared with them
/// once: 0.1 us for a few patterns, 0.7 ms for a file that is full of them.
class ProfileChoice {
 public:
  /// `profile` for every placement.
  // NOLINTNEXTLINE(google-explicit-constructor): one profile is the simplest choice.
  ProfileChoice(const Profile& profile) : otherwise_(&profile) {}

  /// `profile` for placements on GPUs of these models, unless an earlier row has them.
  void add(const std::vector<std::string>& models, const Profile& profile) {
    by_model_.push_back({&models, &profile});
    known_ = {};
  }
  /// By the model of the placement's first GPU, or of the node's first where the kubelet picks.
  [[nodiscard]] const Profile& of(const NodeState& node, PlacementView placement) const;
  /// The same text for choices that score alike, within one policy.
  [[nodiscard]] std::string key() const;

 private:
  struct Row {
    const std::vector<std::string>* models;  // patterns of ModelText
    const Profile* profile;
  };

  [[nodiscard]] const Profile& compare(std::string_view model) const;

  std::vector<Row> by_model_;
  /// What of() found, by the model's number; null: it was not asked yet, or the number is 0.
  mutable std::array<const Profile*, kMostModels> known_{};
  const Profile* otherwise_;
};

/// A rule's empty list or map asks nothing.
struct ProfileRule {
  std::vector<std::string> namespaces;            // globs
  std::map<std::string, std::string> pod_labels;  // all of them, exactly
  std::vector<std::string> gpu_models;            // patterns of ModelText
  std::string profile;                            // a key of Policy::profiles
};

/// Profiles that the pods of some namespaces may choose by `gpu-policy`.
struct PodChoice {
  std::vector<std::string> namespaces;  // globs
  std::vector<std::string> profiles;    // keys of Policy::profiles
};

/// What rules look at in a pod.
struct PolicySubject {
  std::string_view name_space;
  const std::map<std::string, std::string, std::less<>>& labels;
  std::string_view asked;  // `gpu-policy`; empty: none
};

struct Policy {
  std::string default_profile;  // a key of `profiles`
  std::map<std::string, Profile, std::less<>> profiles;
  std::vector<ProfileRule> rules;  // the first that matches counts
  std::vector<PodChoice> pod_choice;
  SharingRules sharing;

  [[nodiscard]] const Profile& default_terms() const {
    return profiles.find(default_profile)->second;
  }
  /// What the pod asked for, where that is open to it (else ForbiddenPolicy); else what the rules
  /// say; else the default.
  [[nodiscard]] std::expected<ProfileChoice, Refusal> choose(const PolicySubject& pod) const;
};
using PolicyPtr = std::shared_ptr<const Policy>;

}  // namespace snug
