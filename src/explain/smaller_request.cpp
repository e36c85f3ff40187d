#include "explain/smaller_request.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "explain/request_edits.hpp"
#include "snug/mig/profile_choice.hpp"

namespace snug::explain {
namespace {

/// A request and its trial, which refers to it.
struct Candidate {
  Candidate(const model::Snapshot& snapshot, const plan::IncomingPod& incoming,
            model::GpuRequest the_request)
      : request(std::move(the_request)), trial(snapshot, with_request(incoming, request)) {}
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  model::GpuRequest request;
  Trial trial;
};

/// Requests that differ in one number, which grows with the size; nullopt: no request has this
/// number.
using Family = std::function<std::optional<model::GpuRequest>(std::int64_t number)>;

struct Found {
  model::GpuRequest request;
  Slot slot = 0;
};

/// Finds the largest member of a family that fits on a node, supposing that of two requests the
/// smaller one fits wherever the larger does. If that is not so, the result still fits.
class FamilySearch {
 public:
  FamilySearch(const model::Snapshot& snapshot, const plan::IncomingPod& incoming, Family family)
      : snapshot_(snapshot), incoming_(incoming), family_(std::move(family)) {}

  /// The numbers are from 1 to `last`.
  std::optional<Found> largest(std::int64_t last, std::span<const Slot> slots) {
    std::int64_t best = 0;
    std::optional<Found> found;
    for (const Slot slot : slots) {
      if (best == last) break;
      if (!takes(slot, best + 1)) continue;
      std::int64_t fits = best + 1;
      std::int64_t too_large = last + 1;
      while (fits + 1 < too_large) {
        const std::int64_t middle = fits + (too_large - fits) / 2;
        (takes(slot, middle) ? fits : too_large) = middle;
      }
      best = fits;
      found = {candidate(best)->request, slot};
    }
    return found;
  }

 private:
  Candidate* candidate(std::int64_t number) {
    const auto [at, is_new] = candidates_.try_emplace(number);
    if (is_new) {
      if (auto request = family_(number))
        at->second = std::make_unique<Candidate>(snapshot_, incoming_, *std::move(request));
    }
    return at->second.get();
  }
  bool takes(Slot slot, std::int64_t number) {
    Candidate* const tried = candidate(number);
    return tried != nullptr && tried->trial.takes(slot);
  }

  const model::Snapshot& snapshot_;
  const plan::IncomingPod& incoming_;
  Family family_;
  std::map<std::int64_t, std::unique_ptr<Candidate>> candidates_;
};

Advice request_advice(const model::Snapshot& snapshot, AdviceKind kind, const Found& found,
                      std::string_view what) {
  return {.kind = kind,
          .sentence = std::string(what) + " " + model::to_text(found.request) +
                      " would fit now, on node " + snapshot.nodes[found.slot]->name(),
          .command = {},
          .change = RequestChange{found.request}};
}

std::int64_t most_devices_of(const model::GpuRequest& request) {
  std::int64_t most = 1;
  for (const model::ContainerRequest& container_request : request.containers)
    most = std::max(most, container_request.count);
  return most;
}

bool accepts_any_isolation(const model::GpuRequest& request) {
  return std::ranges::all_of(request.containers, [](const model::ContainerRequest& container) {
    return container.isolation == model::Isolation::kAny;
  });
}

bool can_shrink(const model::ContainerRequest& container_request) {
  return model::is_share(container_request.device) ||
         std::holds_alternative<model::WholeGpuRequest>(container_request.device);
}

/// The largest amount that the scale of a request changes: with it, each number of the family is
/// another request.
std::int64_t scale_steps(const model::GpuRequest& request) {
  std::int64_t most = kFullScale;
  for (const model::ContainerRequest& container_request : request.containers) {
    if (const auto* fraction = std::get_if<model::FractionRequest>(&container_request.device))
      most = std::min<std::int64_t>(most, fraction->thousandths);
  }
  return request.containers.size() == 1 ? most : kFullScale;
}

/// The names of plain and other profiles of the snapshot's MIG cards that are smaller than the
/// largest slice that the request names, largest first.
std::vector<std::string> smaller_profiles(const model::Snapshot& snapshot,
                                          const model::GpuRequest& request,
                                          std::span<const Slot> slots) {
  std::set<std::pair<std::int64_t, std::string>> profiles;
  const model::MigTable* last_table = nullptr;
  for (const Slot slot : slots) {
    for (const model::GpuState& gpu : snapshot.nodes[slot]->gpus) {
      const model::MigTable* const table = gpu.info->mig_table.pointer().get();
      if (table == nullptr || table == last_table || !gpu.info->mig_enabled) continue;
      last_table = table;
      for (const model::MigProfile& profile : table->profiles)
        profiles.emplace(-profile.memory.value, profile.name);
    }
  }
  for (const model::ContainerRequest& container_request : request.containers) {
    if (const auto* slice = std::get_if<model::SliceRequest>(&container_request.device))
      std::erase_if(profiles,
                    [&](const auto& profile) { return profile.second == slice->profile; });
  }
  std::vector<std::string> names;
  names.reserve(profiles.size());
  for (const auto& [size, name] : profiles) names.push_back(name);
  return names;
}

}  // namespace

std::vector<Advice> smaller_requests(const model::Snapshot& snapshot,
                                     const plan::IncomingPod& incoming,
                                     std::span<const Slot> slots) {
  const model::GpuRequest& request = incoming.request;
  const std::int64_t most_devices = most_devices_of(request);
  const bool shrinks = std::ranges::any_of(request.containers, can_shrink);
  const std::int64_t steps = scale_steps(request);
  std::vector<Advice> advice;
  const auto search = [&](Family family, std::int64_t last, std::string_view what) {
    const auto found = FamilySearch(snapshot, incoming, std::move(family)).largest(last, slots);
    if (found)
      advice.push_back(request_advice(snapshot, AdviceKind::kSmallerRequest, *found, what));
  };
  const auto at_scale = [&](std::int64_t step, std::int64_t devices) {
    // Rounded up, so that the step of a single fraction is its number of thousandths.
    return scaled(request, (step * kFullScale + steps - 1) / steps, devices);
  };
  if (shrinks) {
    search([&](std::int64_t step) { return at_scale(step, most_devices); }, steps - 1,
           "a smaller request:");
  }
  if (most_devices > 1) {
    search([&](std::int64_t devices) { return scaled(request, kFullScale, devices); },
           most_devices - 1, "fewer GPUs:");
  }
  if (shrinks && most_devices > 1 && advice.empty()) {
    search([&](std::int64_t step) { return at_scale(step, 1); }, steps - 1,
           "fewer GPUs and a smaller request:");
  }
  const std::vector<std::string> profiles = smaller_profiles(snapshot, request, slots);
  const auto profile_of = [&](std::int64_t number) -> const std::string& {
    return profiles[profiles.size() - static_cast<std::size_t>(number)];
  };
  const auto last_profile = static_cast<std::int64_t>(profiles.size());
  for (const std::int64_t devices : {most_devices, std::int64_t{1}}) {
    if (!advice.empty()) break;
    // Not a search by halves: which profiles fit does not depend on their size alone.
    for (std::int64_t number = last_profile; number > 0 && advice.empty(); --number) {
      search(
          [&](std::int64_t) {
            const auto fewer = scaled(request, devices == 1 ? 1 : kFullScale, devices);
            return fewer ? with_profile(*fewer, profile_of(number)) : std::nullopt;
          },
          1, "another MIG profile:");
    }
  }
  return advice;
}

std::vector<Advice> other_preferences(const model::Snapshot& snapshot,
                                      const plan::IncomingPod& incoming,
                                      std::span<const Slot> slots) {
  std::vector<Advice> advice;
  const auto try_one = [&](std::optional<model::GpuRequest> changed, AdviceKind kind,
                           const auto& sentence_for) {
    if (!changed) return;
    Candidate candidate(snapshot, incoming, *std::move(changed));
    const auto taker =
        std::ranges::find_if(slots, [&](Slot slot) { return candidate.trial.takes(slot); });
    if (taker == slots.end()) return;
    advice.push_back({.kind = kind,
                      .sentence = sentence_for(*snapshot.nodes[*taker]),
                      .command = {},
                      .change = RequestChange{candidate.request}});
  };
  const auto models_text = [](const model::NodeState& node) {
    std::set<std::string> models;
    for (const model::GpuState& gpu : node.gpus) models.insert(gpu.info->model);
    std::string text;
    for (const std::string& model : models) text += (text.empty() ? "" : ", ") + model;
    return text;
  };
  try_one(with_any_model(incoming.request), AdviceKind::kModel, [&](const model::NodeState& node) {
    return "without gpu-model the pod would fit now, on node " + node.name() + " (" +
           models_text(node) + ")";
  });
  // A request that accepts any isolation fits wherever one that demands an isolation does.
  if (accepts_any_isolation(incoming.request)) return advice;
  for (const model::Isolation isolation : {model::Isolation::kAny, model::Isolation::kTimeSlicing,
                                           model::Isolation::kMps, model::Isolation::kMig}) {
    try_one(with_isolation(incoming.request, isolation), AdviceKind::kIsolation,
            [&](const model::NodeState& node) {
              return "with gpu-isolation " + std::string(model::kIsolationNames[isolation]) +
                     " the pod would fit now, on node " + node.name();
            });
    if (!advice.empty() && advice.back().kind == AdviceKind::kIsolation) break;
  }
  return advice;
}

}  // namespace snug::explain
