#include "snug/mps/namespace_keeper.hpp"

#include <utility>

namespace snug::mps {

void NamespaceKeeper::forget() {
  has_list_ = false;
  known_.clear();
}

void NamespaceKeeper::listed(const Names& names, const Namespaces& wanted) {
  has_list_ = true;
  std::erase_if(known_, [&](const auto& entry) {
    return !names.contains(entry.first) && !wanted.contains(entry.first);
  });
  for (const std::string& name : names) known_[name];
  for (auto& [name, known] : known_) {
    known.exists = names.contains(name);
    if (!known.exists) known.limits.reset();
    known.has_failed = false;
  }
}

/// Limits cannot be taken away: a namespace that should have none keeps those that it has.
bool NamespaceKeeper::is_ready(const Known& known, const std::optional<NamespaceLimits>& wanted) {
  return known.exists && (!wanted || known.limits == wanted);
}

std::optional<NamespaceStep> NamespaceKeeper::next(const Namespaces& wanted) const {
  if (!has_list_) return std::nullopt;
  for (const auto& [name, limits] : wanted) {
    const auto known = known_.find(name);
    if (known == known_.end() || (!known->second.exists && !known->second.has_failed))
      return NamespaceStep{NamespaceAction::kCreate, name, {}};
    if (known->second.has_failed || !limits || is_ready(known->second, limits)) continue;
    return NamespaceStep{NamespaceAction::kSetLimits, name, *limits};
  }
  for (const auto& [name, known] : known_) {
    if (known.exists && !known.has_failed && !wanted.contains(name))
      return NamespaceStep{NamespaceAction::kDelete, name, {}};
  }
  return std::nullopt;
}

void NamespaceKeeper::begun(const NamespaceStep& step) {
  if (step.action != NamespaceAction::kDelete) return;
  Known& known = known_[step.name];
  known.exists = false;
  known.limits.reset();
}

bool NamespaceKeeper::done(const NamespaceStep& step, std::string failure) {
  Known& known = known_[step.name];
  known.has_failed = !failure.empty();
  const bool is_news = !known.has_failed || known.failure != failure;
  known.failure = std::move(failure);
  if (known.has_failed) return is_news;
  if (step.action == NamespaceAction::kDelete) {
    known_.erase(step.name);
  } else {
    known.exists = true;
    if (step.action == NamespaceAction::kSetLimits) known.limits = step.limits;
  }
  return is_news;
}

NamespaceStates NamespaceKeeper::states(const Namespaces& wanted) const {
  NamespaceStates states;
  for (const auto& [name, limits] : wanted) {
    const auto known = known_.find(name);
    if (known == known_.end()) continue;
    const bool ready = is_ready(known->second, limits);
    if (ready || !known->second.failure.empty())
      states.emplace(name, ready ? std::string() : known->second.failure);
  }
  return states;
}

}  // namespace snug::mps
