// A policy consists of profiles (weighted sums of score terms), rules that select the profile for a
// pod, the profiles that pods may select themselves, and the sharing rules of namespaces. Of these,
// only the sharing rules affect whether a placement fits. A profile scores both nodes and GPUs.
// codec/policy_codec reads a policy, which does not change afterwards.
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

/// The score of ten terms that each have the largest weight and the value kTermBound.
inline constexpr std::int64_t kMaxQuantum = 1'000'000'000'000;

/// A number in a policy, a weight or a quantum, that depends on the regime.
class ByRegime {
 public:
  struct Numbers {
    std::int64_t filling = 0;    // the number while no pod leaves
    std::int64_t churning = 0;   // the number at full churn
    std::int64_t saturated = 0;  // the number at full churn and full saturation
    friend bool operator==(const Numbers&, const Numbers&) = default;
  };

  // NOLINTNEXTLINE(google-explicit-constructor): most numbers are the same in all regimes.
  ByRegime(std::int64_t same_in_all) : numbers_{same_in_all, same_in_all, same_in_all} {}
  explicit ByRegime(const Numbers& numbers) : numbers_(numbers) {}
  friend bool operator==(const ByRegime&, const ByRegime&) = default;

  /// Interpolates between the three numbers by Demand::churn and Demand::saturation:
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
  ByRegime weight = 0;  // from -kMaxWeight to kMaxWeight
};

struct Profile {
  std::string name;
  std::vector<WeightedTerm> terms;
  /// The unit to which the scores of nodes are rounded, from 1 to kMaxQuantum. Nodes with almost
  /// equal scores then count as equal, and the one with the lower name wins. So pods fill one such
  /// node before the next; with exact scores they would be scattered.
  ByRegime quantum = 1;

  /// Returns ceil(score / quantum). A negative score above -quantum is therefore in class 0.
  [[nodiscard]] std::int64_t score_class_of(std::int64_t score, const model::Demand& demand) const;
  [[nodiscard]] bool reads_load() const;  // whether any term does
};

/// Returns the sum of weight * value over the profile's terms. This exact score ranks the
/// placements on one node. It does not overflow if all weights and term values are within their
/// bounds.
[[nodiscard]] std::int64_t score(const Profile& profile, const TermInput& input);

/// Selects the profile that scores a placement of one pod. The profile may depend on the GPU model.
/// Holds pointers into the policy, which must outlive it. One choice must be used for the GPUs of
/// one ledger only, because each ledger numbers the models in its own way. Not thread-safe, even if
/// const, because profile_for() caches its results.
///
/// Each model that has a number (GpuInfo::model_id) is compared with the policy's patterns only
/// once. A comparison takes 0.1 us with a few patterns, and 0.7 ms with as many patterns as a
/// policy file can hold.
class ProfileChoice {
 public:
  /// Selects `profile` for all placements.
  // NOLINTNEXTLINE(google-explicit-constructor): one profile is the simplest choice.
  ProfileChoice(const Profile& profile) : fallback_(&profile), reads_load_(profile.reads_load()) {}

  /// Adds a row: `profile` scores placements on GPUs whose model matches a pattern in `models`. The
  /// first row that matches applies.
  void add(const std::vector<std::string>& models, const Profile& profile) {
    by_model_.push_back({&models, &profile});
    cached_by_model_ = {};
    reads_load_ = reads_load_ || profile.reads_load();
  }
  /// Selects the profile by the model of the placement's first GPU. A placement without GPUs (of a
  /// kubelet-assigned pod) counts as one on the node's first GPU.
  [[nodiscard]] const Profile& profile_for(const model::NodeState& node,
                                           model::PlacementView placement) const;
  /// Whether two placements on GPUs that differ only in GpuInfo::load can have different scores.
  [[nodiscard]] bool reads_load() const { return reads_load_; }
  /// Two choices of one policy that have equal keys score every placement alike.
  [[nodiscard]] std::string cache_key() const;

 private:
  struct Row {
    const std::vector<std::string>* models;  // patterns for ModelMatcher
    const Profile* profile;
  };

  [[nodiscard]] const Profile& find_by_model(std::string_view model) const;

  std::vector<Row> by_model_;
  /// The results of profile_for() by GpuInfo::model_id; null: not computed yet.
  mutable std::array<const Profile*, model::kMaxModels> cached_by_model_{};
  const Profile* fallback_;
  bool reads_load_ = false;
};

/// Selects a profile for pods. An empty list or map matches every pod and every GPU model.
struct ProfileRule {
  std::vector<std::string> namespaces;            // globs; empty: all namespaces
  std::map<std::string, std::string> pod_labels;  // labels that the pod must have
  std::vector<std::string> gpu_models;            // patterns for ModelMatcher
  std::string profile;                            // a key of Policy::profiles
};

/// Pods of these namespaces may select these profiles with the annotation `gpu-policy`.
struct PodChoice {
  std::vector<std::string> namespaces;  // globs; empty: all namespaces
  std::vector<std::string> profiles;    // keys of Policy::profiles
};

/// The fields of a pod that the rules of a policy compare.
struct PolicySubject {
  std::string_view name_space;
  const std::map<std::string, std::string, std::less<>>& labels;
  std::string_view requested_profile;  // the annotation `gpu-policy`; empty: the pod has none
};

struct Policy {
  std::string default_profile_name;  // a key of `profiles`
  std::map<std::string, Profile, std::less<>> profiles;
  std::vector<ProfileRule> rules;  // the first rule that matches applies
  std::vector<PodChoice> pod_choice;
  model::SharingRules sharing;

  [[nodiscard]] const Profile& default_profile() const {
    return profiles.find(default_profile_name)->second;
  }
  /// Selects the profile of a pod: the one that its annotation names, else the one of the first
  /// rule that matches, else the default. Returns the refusal ForbiddenPolicy if the pod may not
  /// select the profile that its annotation names.
  [[nodiscard]] std::expected<ProfileChoice, model::Refusal> choose(const PolicySubject& pod) const;
};
using PolicyPtr = std::shared_ptr<const Policy>;

}  // namespace snug::score
