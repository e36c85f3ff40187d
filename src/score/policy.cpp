#include "snug/score/policy.hpp"

#include <algorithm>

#include "snug/model/glob.hpp"

namespace snug {
namespace {

bool covers(const std::vector<std::string>& namespaces, std::string_view name_space) {
  return namespaces.empty() || any_glob_matches(namespaces, name_space);
}

bool has_labels(const PolicySubject& pod, const std::map<std::string, std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& label) {
    const auto found = pod.labels.find(label.first);
    return found != pod.labels.end() && found->second == label.second;
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

std::int64_t Profile::class_of(std::int64_t score, const Demand& demand) const {
  const std::int64_t size = quantum.at(demand);
  return score / size + (score % size > 0 ? 1 : 0);
}

const Profile& ProfileChoice::of(const NodeState& node, PlacementView placement) const {
  if (by_model_.empty()) return *otherwise_;
  const std::size_t gpu = placement.takes.empty() ? 0 : placement.takes.front().gpu;
  if (gpu >= node.gpus.size()) return *otherwise_;
  const GpuInfo& info = *node.gpus[gpu].info;
  if (info.model_number == 0) return compare(info.model);  // several models share it
  const Profile*& known = known_.at(info.model_number);
  if (known == nullptr) known = &compare(info.model);
  return *known;
}

const Profile& ProfileChoice::compare(std::string_view model) const {
  const ModelText text(model);
  const auto row = std::ranges::find_if(
      by_model_, [&](const Row& each) { return text.matches_any(*each.models); });
  return row == by_model_.end() ? *otherwise_ : *row->profile;
}

std::string ProfileChoice::key() const {
  std::string key = otherwise_->name;
  for (const Row& row : by_model_) {
    key += '\n' + row.profile->name;
    for (const std::string& glob : *row.models) key += '\t' + glob;
  }
  return key;
}

std::expected<ProfileChoice, Refusal> Policy::choose(const PolicySubject& pod) const {
  if (!pod.asked.empty()) {
    const auto profile = profiles.find(pod.asked);
    const bool open =
        profile != profiles.end() && std::ranges::any_of(pod_choice, [&](const PodChoice& choice) {
          return covers(choice.namespaces, pod.name_space) &&
                 std::ranges::find(choice.profiles, pod.asked) != choice.profiles.end();
        });
    if (!open) return std::unexpected(Refusal{ReasonCode::kForbiddenPolicy, {}});
    return ProfileChoice(profile->second);
  }
  std::vector<const ProfileRule*> by_model;
  const Profile* otherwise = &default_terms();
  for (const ProfileRule& rule : rules) {
    if (!covers(rule.namespaces, pod.name_space) || !has_labels(pod, rule.pod_labels)) continue;
    if (rule.gpu_models.empty()) {
      otherwise = &profiles.find(rule.profile)->second;
      break;
    }
    by_model.push_back(&rule);
  }
  ProfileChoice choice(*otherwise);
  for (const ProfileRule* rule : by_model) {
    choice.add(rule->gpu_models, profiles.find(rule->profile)->second);
  }
  return choice;
}

}  // namespace snug
