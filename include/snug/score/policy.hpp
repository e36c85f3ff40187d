// A policy is data: profiles of weighted terms, rules that choose a profile, which profiles pods
// may choose themselves, and what namespaces may share. Whether a placement fits depends on the
// sharing rules alone. Immutable once read (codec/policy_codec). The same profile chooses the node
// and the GPU.
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
#include "snug/model/reasons.hpp"
#include "snug/model/sharing_rules.hpp"
#include "snug/score/terms.hpp"

namespace snug::score {

inline constexpr std::int64_t kMaxWeight = 1'000'000;

/// As much as ten terms with the largest weight at their bounds.
inline constexpr std::int64_t kMaxQuantum = 1'000'000'000'000;

/// A number of a policy that depends on the regime.
class ByRegime {
 public:
  struct Numbers {
    std::int64_t filling = 0;    // no pod leaves
    std::int64_t churning = 0;   // as many pods leave as come
    std::int64_t saturated = 0;  // the same, and many find no place
    friend bool operator==(const Numbers&, const Numbers&) = default;
  };

  // NOLINTNEXTLINE(google-explicit-constructor): most numbers are the same in all regimes.
  ByRegime(std::int64_t same_in_all) : numbers_{same_in_all, same_in_all, same_in_all} {}
  explicit ByRegime(const Numbers& numbers) : numbers_(numbers) {}
  friend bool operator==(const ByRegime&, const ByRegime&) = default;

  /// Between the regimes in proportion to Demand::churn and Demand::saturation:
  ///
  ///   n = filling + (churning - filling) * churn / kFullChurn
  ///   n + (saturated - n) * churn * saturation / (kFullChurn * kFullSaturation)
  [[nodiscard]] std::int64_t at(const model::Demand& demand) const {
    constexpr int kChurn = model::Demand::kFullChurn;
    constexpr int kAll = kChurn * model::Demand::kFullSaturation;
    const auto& [filling, churning, saturated] = numbers_;
    const std::int64_t number =
        (filling * (kChurn - demand.churn) + churning * demand.churn) / kChurn;
    return number + (saturated - number) * demand.churn * demand.saturation / kAll;
  }

 private:
  Numbers numbers_;
};

struct WeightedTerm {
  const TermRow* term = nullptr;
  ByRegime weight = 0;  // -kMaxWeight..kMaxWeight
};

struct Profile {
  std::string name;
  std::vector<WeightedTerm> terms;
  /// Scores are rounded to quanta, so that among nodes of almost equal scores the tie rule decides:
  /// it stacks pods where exact scores would scatter them. 1..kMaxQuantum.
  ByRegime quantum = 1;

  /// ceil(score / quantum): a cost of less than one quantum is in the class of 0.
  [[nodiscard]] std::int64_t score_class_of(std::int64_t score, const model::Demand& demand) const;
};

/// The sum of weight * term, by which placements on one node are compared. Does not overflow within
/// the bounds above.
[[nodiscard]] std::int64_t score(const Profile& profile, const TermInput& input);

/// The profiles that score one pod's placements, on the GPUs of one ledger. Points into the policy
/// that made it. Not thread-safe, even if const: of() caches.
///
/// Each model with a number (GpuInfo::model_id) is compared with the policy's patterns once:
/// 0.1 us for a few patterns, 0.7 ms for a policy file that is full of them.
class ProfileChoice {
 public:
  /// One profile for all placements.
  // NOLINTNEXTLINE(google-explicit-constructor): one profile is the simplest choice.
  ProfileChoice(const Profile& profile) : fallback_(&profile) {}

  /// `profile` for placements on GPUs of these models; the first row that matches counts.
  void add(const std::vector<std::string>& models, const Profile& profile) {
    by_model_.push_back({&models, &profile});
    cached_by_model_ = {};
  }
  /// By the model of the placement's first GPU, or of the node's first GPU if the kubelet picks.
  [[nodiscard]] const Profile& profile_for(const model::NodeState& node,
                                           model::PlacementView placement) const;
  /// Equal for choices that score alike, within one policy.
  [[nodiscard]] std::string cache_key() const;

 private:
  struct Row {
    const std::vector<std::string>* models;  // patterns of ModelMatcher
    const Profile* profile;
  };

  [[nodiscard]] const Profile& find_by_model(std::string_view model) const;

  std::vector<Row> by_model_;
  /// The cache of of(), by model number.
  mutable std::array<const Profile*, model::kMaxModels> cached_by_model_{};
  const Profile* fallback_;
};

/// An empty list or map matches every pod.
struct ProfileRule {
  std::vector<std::string> namespaces;            // globs
  std::map<std::string, std::string> pod_labels;  // all must be equal
  std::vector<std::string> gpu_models;            // patterns of ModelMatcher
  std::string profile;                            // a key of Policy::profiles
};

/// Profiles that pods of these namespaces may choose by the annotation `gpu-policy`.
struct PodChoice {
  std::vector<std::string> namespaces;  // globs
  std::vector<std::string> profiles;    // keys of Policy::profiles
};

/// What the rules compare.
struct PolicySubject {
  std::string_view name_space;
  const std::map<std::string, std::string, std::less<>>& labels;
  std::string_view requested_profile;  // `gpu-policy`; empty: none
};

struct Policy {
  std::string default_profile_name;  // a key of `profiles`
  std::map<std::string, Profile, std::less<>> profiles;
  std::vector<ProfileRule> rules;  // the first that matches counts
  std::vector<PodChoice> pod_choice;
  model::SharingRules sharing;

  [[nodiscard]] const Profile& default_profile() const {
    return profiles.find(default_profile_name)->second;
  }
  /// The profile that the pod asks for, if it may (else ForbiddenPolicy); without one, the first
  /// rule that matches, then the default.
  [[nodiscard]] std::expected<ProfileChoice, model::Refusal> choose(const PolicySubject& pod) const;
};
using PolicyPtr = std::shared_ptr<const Policy>;

}  // namespace snug::score
