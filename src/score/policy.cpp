#include "snug/score/policy.hpp"

#include <algorithm>

#include "snug/model/model_patterns.hpp"

namespace snug::score {
namespace {

bool includes_namespace(const std::vector<std::string>& namespaces, std::string_view name_space) {
  return namespaces.empty() || model::any_glob_matches(namespaces, name_space);
}

bool has_labels(const PolicySubject& pod,
                const std::map<std::string, std::string>& required_labels) {
  return std::ranges::all_of(required_labels, [&](const auto& label) {
    const auto pod_label = pod.labels.find(label.first);
    return pod_label != pod.labels.end() && pod_label->second == label.second;
  });
}

}  // namespace

std::int64_t score(const Profile& profile, const TermInput& input) {
  std::int64_t sum = 0;
  for (const WeightedTerm& part : profile.terms) {
    const std::int64_t weight = part.weight.at(input.demand);
    if (weight != 0) sum += weight * part.term->function(input);
  }
  return sum;
}

std::int64_t Profile::score_class_of(std::int64_t score, const model::Demand& demand) const {
  const std::int64_t size = quantum.at(demand);
  return score / size + (score % size > 0 ? 1 : 0);
}

bool Profile::reads_load() const {
  return std::ranges::any_of(terms, [](const WeightedTerm& part) { return part.term->reads_load; });
}

const Profile& ProfileChoice::profile_for(const model::NodeState& node,
                                          model::PlacementView placement) const {
  if (by_model_.empty()) return *fallback_;
  const std::size_t gpu = placement.allocations.empty() ? 0 : placement.allocations.front().gpu;
  if (gpu >= node.gpus.size()) return *fallback_;
  const model::GpuInfo& info = *node.gpus[gpu].info;
  if (info.model_id == 0) return find_by_model(info.model);  // a model without a number
  const Profile*& cached_profile = cached_by_model_.at(info.model_id);
  if (cached_profile == nullptr) cached_profile = &find_by_model(info.model);
  return *cached_profile;
}

const Profile& ProfileChoice::find_by_model(std::string_view model) const {
  const model::ModelMatcher matcher(model);
  const auto row = std::ranges::find_if(
      by_model_, [&](const Row& model_row) { return matcher.matches_any(*model_row.models); });
  return row == by_model_.end() ? *fallback_ : *row->profile;
}

std::string ProfileChoice::cache_key() const {
  std::string key = fallback_->name;
  for (const Row& row : by_model_) {
    key += '\n' + row.profile->name;
    for (const std::string& glob : *row.models) key += '\t' + glob;
  }
  return key;
}

std::expected<ProfileChoice, model::Refusal> Policy::choose(const PolicySubject& pod) const {
  if (!pod.requested_profile.empty()) {
    const auto profile = profiles.find(pod.requested_profile);
    const bool may_select =
        profile != profiles.end() && std::ranges::any_of(pod_choice, [&](const PodChoice& choice) {
          return includes_namespace(choice.namespaces, pod.name_space) &&
                 std::ranges::find(choice.profiles, pod.requested_profile) != choice.profiles.end();
        });
    if (!may_select)
      return std::unexpected(model::Refusal{model::ReasonCode::kForbiddenPolicy, {}});
    return ProfileChoice(profile->second);
  }
  std::vector<const ProfileRule*> by_model;
  const Profile* fallback = &default_profile();
  for (const ProfileRule& rule : rules) {
    if (!includes_namespace(rule.namespaces, pod.name_space) || !has_labels(pod, rule.pod_labels))
      continue;
    if (rule.gpu_models.empty()) {
      fallback = &profiles.find(rule.profile)->second;
      break;
    }
    by_model.push_back(&rule);
  }
  ProfileChoice choice(*fallback);
  for (const ProfileRule* rule : by_model) {
    choice.add(rule->gpu_models, profiles.find(rule->profile)->second);
  }
  return choice;
}

}  // namespace snug::score
