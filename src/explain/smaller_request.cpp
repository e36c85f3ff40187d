#include "explain/smaller_request.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explain/request_edits.hpp"
#include "snug/mig/card_catalog.hpp"

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
          .sentence = std::string(what) + " " + model::to_text(found.request) + " would fit now",
          .place = ", on node " + snapshot.nodes[found.slot]->name(),
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

/// The size of a slice, as the name of its profile states it: so the slices of different cards, and
/// a requested one that no card has, can be compared.
struct SliceSize {
  int gigabytes = 0;
  int compute = 0;  // compute slices

  [[nodiscard]] bool fits_in(const SliceSize& other) const {
    return gigabytes <= other.gigabytes && compute <= other.compute;
  }
  friend auto operator<=>(const SliceSize&, const SliceSize&) = default;
};

struct SizedProfile {
  SliceSize size;
  bool has_attribute = false;
  int engines = 0;  // fewer engines than a plain slice (`-me`): -1; more: 1
  std::string name;

  [[nodiscard]] bool is_smaller_than(const SizedProfile& other) const {
    return size.fits_in(other.size) && (size != other.size || engines < other.engines);
  }
  /// By size; of equal sizes, the plain profile is the first.
  friend auto operator<=>(const SizedProfile&, const SizedProfile&) = default;
};

std::optional<SizedProfile> sized(const std::string& profile) {
  auto parsed = mig::parse_mig_profile_name(profile);
  if (!parsed) return std::nullopt;
  const std::string& attribute = parsed->attribute;
  return SizedProfile{.size = {parsed->gigabytes, parsed->compute},
                      .has_attribute = !attribute.empty(),
                      .engines = attribute.empty()            ? 0
                                 : attribute.starts_with('-') ? -1
                                                              : 1,
                      .name = std::move(parsed->canonical)};
}

/// The profiles of the nodes' MIG cards, the smallest first.
std::set<SizedProfile> offered_profiles(const model::Snapshot& snapshot,
                                        std::span<const Slot> slots) {
  std::set<SizedProfile> profiles;
  const model::MigTable* last_table = nullptr;
  for (const Slot slot : slots) {
    for (const model::GpuState& gpu : snapshot.nodes[slot]->gpus) {
      const model::MigTable* const table = gpu.info->mig_table.pointer().get();
      if (table == nullptr || table == last_table || !gpu.info->mig_enabled) continue;
      last_table = table;
      for (const model::MigProfile& profile : table->profiles) {
        if (auto known = sized(profile.name)) profiles.insert(*std::move(known));
      }
    }
  }
  return profiles;
}

/// A profile for all slices of a request, and what it is in comparison with the requested ones.
struct OtherProfile {
  SizedProfile profile;
  AdviceKind kind = AdviceKind::kSmallerRequest;
  std::string what;
};

/// The profiles of the request's slices. Empty if there are none, or if the size of one is unknown.
std::vector<SizedProfile> requested_profiles(const model::GpuRequest& request) {
  std::vector<SizedProfile> requested;
  requested.reserve(request.containers.size());
  for (const model::ContainerRequest& container_request : request.containers) {
    const auto* slice = std::get_if<model::SliceRequest>(&container_request.device);
    if (slice == nullptr) continue;
    auto known = sized(slice->profile);
    if (!known) return {};
    requested.push_back(*std::move(known));
  }
  return requested;
}

/// The profiles to try: the smaller ones, largest first, and then the others, smallest first.
std::vector<OtherProfile> other_profiles(const model::Snapshot& snapshot,
                                         const model::GpuRequest& request,
                                         std::span<const Slot> slots) {
  const std::vector<SizedProfile> requested = requested_profiles(request);
  if (requested.empty()) return {};
  std::vector<OtherProfile> smaller;
  std::vector<OtherProfile> others;
  for (const SizedProfile& profile : offered_profiles(snapshot, slots)) {
    const auto is_same = [&](const SizedProfile& asked) {
      return asked == profile || mig::profile_alias(profile.name) == asked.name;
    };
    const auto is_smaller = [&](const SizedProfile& asked) {
      return is_same(asked) || profile.is_smaller_than(asked);
    };
    const auto is_larger = [&](const SizedProfile& asked) {
      return is_same(asked) || asked.is_smaller_than(profile);
    };
    if (std::ranges::all_of(requested, is_same)) continue;
    if (std::ranges::all_of(requested, is_smaller)) {
      smaller.push_back({profile, AdviceKind::kSmallerRequest, "a smaller MIG profile:"});
    } else {
      const bool larger = std::ranges::all_of(requested, is_larger);
      others.push_back({profile, AdviceKind::kProfile,
                        larger ? "a larger MIG profile:" : "another MIG profile:"});
    }
  }
  std::ranges::stable_sort(smaller, std::greater<>{},
                           [](const OtherProfile& other) { return other.profile.size; });
  std::ranges::move(others, std::back_inserter(smaller));
  // Nodes may publish tables of their own, with any number of names.
  if (smaller.size() > model::kMaxMigProfiles) smaller.resize(model::kMaxMigProfiles);
  return smaller;
}

/// The first of the profiles with which the request fits, in a request that is otherwise unchanged;
/// if there is none, in the smallest request.
std::optional<Advice> other_profile(const model::Snapshot& snapshot,
                                    const plan::IncomingPod& incoming,
                                    std::span<const Slot> slots) {
  const model::GpuRequest& request = incoming.request;
  const std::vector<OtherProfile> profiles = other_profiles(snapshot, request, slots);
  const auto first_in = [&](const model::GpuRequest& base,
                            const std::string& words) -> std::optional<Advice> {
    for (const OtherProfile& other : profiles) {
      const auto family = [&](std::int64_t) { return with_profile(base, other.profile.name); };
      if (const auto found = FamilySearch(snapshot, incoming, family).largest(1, slots))
        return request_advice(snapshot, other.kind, *found, words + other.what);
    }
    return std::nullopt;
  };
  std::optional<Advice> advice = first_in(request, "");
  const bool shrinks =
      most_devices_of(request) > 1 || std::ranges::any_of(request.containers, can_shrink);
  if (advice || profiles.empty() || !shrinks) return advice;
  const std::optional<model::GpuRequest> smallest = scaled(request, 1, 1);
  return smallest ? first_in(*smallest, "a smaller request with ") : std::nullopt;
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
  if (advice.empty()) {
    if (auto other = other_profile(snapshot, incoming, slots)) advice.push_back(*std::move(other));
  }
  return advice;
}

std::vector<Advice> other_preferences(const model::Snapshot& snapshot,
                                      const plan::IncomingPod& incoming,
                                      std::span<const Slot> slots) {
  std::vector<Advice> advice;
  const auto try_one = [&](std::optional<model::GpuRequest> changed, AdviceKind kind,
                           const std::string& sentence, const auto& place_of) {
    if (!changed) return;
    Candidate candidate(snapshot, incoming, *std::move(changed));
    const auto taker =
        std::ranges::find_if(slots, [&](Slot slot) { return candidate.trial.takes(slot); });
    if (taker == slots.end()) return;
    advice.push_back({.kind = kind,
                      .sentence = sentence,
                      .place = place_of(*snapshot.nodes[*taker]),
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
  try_one(with_any_model(incoming.request), AdviceKind::kModel,
          "without gpu-model the pod would fit now", [&](const model::NodeState& node) {
            return ", on node " + node.name() + " (" + models_text(node) + ")";
          });
  // A request that accepts any isolation fits wherever one that demands an isolation does.
  if (accepts_any_isolation(incoming.request)) return advice;
  for (const model::Isolation isolation : {model::Isolation::kAny, model::Isolation::kTimeSlicing,
                                           model::Isolation::kMps, model::Isolation::kMig}) {
    try_one(with_isolation(incoming.request, isolation), AdviceKind::kIsolation,
            "with gpu-isolation " + std::string(model::kIsolationNames[isolation]) +
                " the pod would fit now",
            [](const model::NodeState& node) { return ", on node " + node.name(); });
    if (!advice.empty() && advice.back().kind == AdviceKind::kIsolation) break;
  }
  return advice;
}

}  // namespace snug::explain
