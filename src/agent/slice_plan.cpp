#include "snug/agent/slice_plan.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "snug/base/text.hpp"
#include "snug/mig/card_catalog.hpp"
#include "snug/model/mig.hpp"

namespace snug::agent {
namespace {

using base::in_quotes;

struct Range {
  int start = 0;
  int size = 0;

  [[nodiscard]] bool overlaps(Range other) const {
    return start < other.start + other.size && other.start < start + size;
  }
};

bool names_instance(const ReservedSlice& reserved, const GpuInstance& instance,
                    const DeviceReport& gpu) {
  return reserved.start == instance.start && !instance.profile.empty() &&
         (reserved.gpu_uuid.empty() ? reserved.gpu_index == gpu.index
                                    : reserved.gpu_uuid == gpu.uuid) &&
         is_same_profile(gpu, reserved.profile, instance.profile);
}

/// The table of the card, for the engines of its profiles; null if the driver's report does not
/// make one.
model::MigTablePtr engine_table(const DeviceReport& gpu) {
  std::vector<model::MigProfile> profiles;
  profiles.reserve(gpu.mig_profiles.size());
  for (const MigProfileReport& profile : gpu.mig_profiles) {
    profiles.push_back({.name = profile.name,
                        .size = profile.size,
                        .memory = profile.memory,
                        .starts = profile.starts});
  }
  return mig::build_mig_table(std::move(profiles));
}

/// Plans the slices of one GPU.
class GpuPlanner {
 public:
  GpuPlanner(const DeviceReport& gpu, const SlicePlanInput& input, SlicePlan& plan)
      : gpu_(gpu), input_(input), plan_(plan), table_(engine_table(gpu)) {
    if (gpu.healthy && gpu.mig_enabled) find_instances();
  }

  void run() {
    grant_places();
    for (Want& want : wants_) {
      if (find_overlaps(want)) plan_task(want);
    }
    for (const Instance& instance : instances_) {
      if (!instance.is_idle) continue;
      plan_.idle.push_back(instance.what);
      const bool is_expired =
          std::ranges::find(input_.expired, instance.what) != input_.expired.end();
      if (is_expired && !instance.is_planned) plan_.expired.push_back(instance.what);
    }
  }

 private:
  struct Instance {
    GpuInstance what;
    model::MigEngines engines;
    bool is_idle = false;
    bool is_planned = false;  // destroyed by a task
    bool is_foreign = false;  // something else has made compute instances in it

    [[nodiscard]] Range range() const { return {what.start, what.size}; }
  };
  /// A reserved slice that does not exist.
  struct Want {
    const ReservedSlice* reserved = nullptr;
    const MigProfileReport* profile = nullptr;
    model::MigEngines engines;
    std::vector<Instance*> in_the_way;

    [[nodiscard]] Range range() const { return {reserved->start, profile->size}; }
  };
  /// A place that a reservation has.
  struct Granted {
    const ReservedSlice* reserved = nullptr;
    Range range;
  };

  [[nodiscard]] model::MigEngines engines_of(std::string_view profile) const {
    const auto found = table_ ? table_->find_profile(profile) : std::nullopt;
    return found ? table_->profiles[*found].engines : model::MigEngines{};
  }

  void find_instances() {
    const bool may_destroy = input_.no_destroying.empty();
    for (const MigSliceReport& slice : gpu_.mig_slices) {
      const GpuInstance what{gpu_.uuid, slice.gpu_instance, slice.start, slice.size, slice.profile};
      instances_.push_back({.what = what,
                            .engines = engines_of(slice.profile),
                            .is_idle = may_destroy && !is_in_use(what, input_)});
    }
    for (const MigInstanceReport& instance : gpu_.mig_unfinished) {
      instances_.push_back(
          {.what = {gpu_.uuid, instance.gpu_instance, instance.start, instance.size, {}},
           .is_idle = may_destroy && !instance.has_compute_instances,
           .is_foreign = instance.has_compute_instances});
    }
    std::ranges::sort(instances_, {}, [](const Instance& one) { return one.what.start; });
  }

  /// The profile as the driver spells it; null if the GPU does not offer it.
  [[nodiscard]] const MigProfileReport* offered(std::string_view name) const {
    const auto profile = std::ranges::find_if(
        gpu_.mig_profiles,
        [&](const MigProfileReport& report) { return is_same_profile(gpu_, report.name, name); });
    return profile == gpu_.mig_profiles.end() ? nullptr : &*profile;
  }

  void refuse(std::vector<SliceFailure>& list, const ReservedSlice& reserved,
              std::string sentence) const {
    const MigProfileReport* profile = offered(reserved.profile);
    list.push_back({.gpu_uuid = gpu_.uuid,
                    .profile = profile != nullptr ? profile->name : reserved.profile,
                    .start = reserved.start,
                    .pod_uid = reserved.pod_uid,
                    .sentence = std::move(sentence)});
  }

  /// The reserved slices of this GPU: first those that exist, because containers may have them,
  /// then by pod.
  [[nodiscard]] std::vector<const ReservedSlice*> reserved_here() const {
    std::vector<const ReservedSlice*> reserved;
    for (const ReservedSlice& slice : input_.wanted) {
      if (reserved_gpu(input_.devices, slice.gpu_index, slice.gpu_uuid) == &gpu_)
        reserved.push_back(&slice);
    }
    std::ranges::sort(reserved, {}, [this](const ReservedSlice* slice) {
      return std::tuple(slice_at(gpu_, slice->profile, slice->start) == nullptr, slice->pod_uid,
                        slice->start, slice->profile);
    });
    return reserved;
  }

  void grant_places() {
    std::vector<Granted> granted;
    for (const ReservedSlice* reserved : reserved_here()) {
      const MigSliceReport* existing = slice_at(gpu_, reserved->profile, reserved->start);
      const MigProfileReport* profile = nullptr;
      if (existing == nullptr) {
        profile = possible_profile(*reserved);
        if (profile == nullptr) continue;
      }
      const Range range{reserved->start, existing != nullptr ? existing->size : profile->size};
      const auto other = std::ranges::find_if(
          granted, [&](const Granted& one) { return one.range.overlaps(range); });
      if (other == granted.end()) {
        granted.push_back({reserved, range});
        if (existing == nullptr)
          wants_.push_back({reserved, profile, engines_of(profile->name), {}});
      } else if (!is_same_slice(*other->reserved, *reserved)) {
        refuse(plan_.failures, *reserved,
               "its place overlaps that of the slice " + in_quotes(other->reserved->profile) +
                   " at " + std::to_string(other->reserved->start) +
                   ", which is reserved for the pod with the uid " +
                   in_quotes(other->reserved->pod_uid));
      }
    }
  }

  /// Whether two containers of one pod name the slice.
  [[nodiscard]] bool is_same_slice(const ReservedSlice& one, const ReservedSlice& other) const {
    return one.pod_uid == other.pod_uid && one.start == other.start &&
           is_same_profile(gpu_, one.profile, other.profile);
  }

  /// Null, with a sentence in the plan, if the slice cannot be made now.
  const MigProfileReport* possible_profile(const ReservedSlice& reserved) const {
    if (!gpu_.healthy) {
      refuse(plan_.blocked, reserved, "the GPU is not healthy: " + gpu_.ailment);
      return nullptr;
    }
    if (!gpu_.mig_enabled) {
      refuse(plan_.blocked, reserved, "the GPU is not in MIG mode");
      return nullptr;
    }
    const MigProfileReport* profile = offered(reserved.profile);
    if (profile == nullptr) {
      refuse(plan_.failures, reserved,
             "the GPU does not offer the profile " + in_quotes(reserved.profile));
      return nullptr;
    }
    if (std::ranges::find(profile->starts, reserved.start) == profile->starts.end()) {
      refuse(plan_.failures, reserved,
             "a slice of this profile cannot start at " + std::to_string(reserved.start));
      return nullptr;
    }
    return profile;
  }

  /// Returns false, with a sentence in the plan, if something is in the way that is not idle.
  [[nodiscard]] bool find_overlaps(Want& want) {
    for (Instance& instance : instances_) {
      if (instance.is_planned || !instance.range().overlaps(want.range())) continue;
      if (!instance.is_idle) {
        block(want, instance);
        return false;
      }
      want.in_the_way.push_back(&instance);
    }
    return true;
  }

  void block(const Want& want, const Instance& by) const {
    const std::string there =
        by.what.profile.empty()
            ? "a GPU instance at " + std::to_string(by.what.start)
            : "the slice " + in_quotes(by.what.profile) + " at " + std::to_string(by.what.start);
    std::string why = ", which a pod that has ended or is ending still has";
    if (by.is_foreign) why = ", whose compute instances something else has made";
    if (!input_.no_destroying.empty() && !is_in_use(by.what, input_) && !by.is_foreign)
      why = ", and nothing may be destroyed: " + std::string(input_.no_destroying);
    refuse(plan_.blocked, *want.reserved, there + " is in the way" + why);
  }

  void plan_task(Want& want) {
    if (!free_engines(want)) {
      refuse(plan_.blocked, *want.reserved,
             "other slices use the media engines of the GPU that this profile needs");
      return;
    }
    SliceTask task{.gpu_uuid = gpu_.uuid,
                   .profile = want.profile->name,
                   .start = want.reserved->start,
                   .size = want.profile->size,
                   .pod_uid = want.reserved->pod_uid};
    planned_engines_ = planned_engines_ + want.engines;
    for (Instance* instance : want.in_the_way) {
      instance->is_planned = true;
      task.in_the_way.push_back(instance->what);
    }
    std::ranges::sort(task.in_the_way, {}, &GpuInstance::start);
    plan_.tasks.push_back(std::move(task));
  }

  /// Adds idle instances that use engines which the slice needs to what is in its way. Returns
  /// false if that does not suffice.
  [[nodiscard]] bool free_engines(Want& want) {
    if (!table_) return true;
    while (true) {
      model::MigEngines used = planned_engines_ + want.engines;
      for (const Instance& instance : instances_) {
        if (!is_destroyed_for(want, instance)) used = used + instance.engines;
      }
      if (used.fits_in(table_->engines)) return true;
      // A card has one set of extensions, and one slice that uses it. Media engines are lacking
      // only if the slice or one other uses all of them (`+me.all`). So there is no choice.
      const auto lacking = used.extension > table_->engines.extension
                               ? &model::MigEngines::extension
                               : &model::MigEngines::media;
      const auto user = std::ranges::find_if(instances_, [&](const Instance& instance) {
        return instance.is_idle && instance.engines.*lacking > 0 &&
               !is_destroyed_for(want, instance);
      });
      if (user == instances_.end()) return false;
      want.in_the_way.push_back(&*user);
    }
  }

  [[nodiscard]] static bool is_destroyed_for(const Want& want, const Instance& instance) {
    return instance.is_planned ||
           std::ranges::find(want.in_the_way, &instance) != want.in_the_way.end();
  }

  const DeviceReport& gpu_;
  const SlicePlanInput& input_;
  SlicePlan& plan_;
  const model::MigTablePtr table_;
  std::vector<Instance> instances_;
  std::vector<Want> wants_;
  model::MigEngines planned_engines_;  // of the slices that tasks make
};

}  // namespace

bool is_in_use(const GpuInstance& instance, const SlicePlanInput& input) {
  const auto gpu = std::ranges::find(input.devices.gpus, instance.gpu_uuid, &DeviceReport::uuid);
  if (gpu == input.devices.gpus.end()) return false;
  const auto names = [&](const ReservedSlice& slice) {
    return names_instance(slice, instance, *gpu);
  };
  return std::ranges::any_of(input.wanted, names) || std::ranges::any_of(input.held, names);
}

SlicePlan plan_slices(const SlicePlanInput& input) {
  SlicePlan plan;
  for (const DeviceReport& gpu : input.devices.gpus) GpuPlanner(gpu, input, plan).run();
  return plan;
}

}  // namespace snug::agent
