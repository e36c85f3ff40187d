// The functions of the stand-in about MIG. They refuse as the library does: an occupied placement
// has insufficient resources, and a GPU instance with compute instances, or a compute instance with
// processes, is in use.
#include <algorithm>
#include <cstdio>

#include "standin/nvml/state.hpp"

namespace standin {
namespace {

constexpr unsigned kMultiprocessors = 14;  // of a compute slice
constexpr unsigned kMediaEngines = 4;
constexpr unsigned kComputeSlices[] = {1, 2, 3, 4, 7, 8, 6, 1, 7};

const Profile* profile_with_id(const Json& card, unsigned id) {
  const auto& profiles = profiles_of(card);
  const auto found = std::ranges::find(profiles, id, &Profile::id);
  return found == profiles.end() ? nullptr : &*found;
}

Json* find_by_id(Json& list, int id) {
  const auto found = std::ranges::find_if(list, [&](const Json& item) { return item["id"] == id; });
  return found == list.end() ? nullptr : &*found;
}

/// The smallest id from `first` on that no item of the list has.
int free_id(Json& list, int first) {
  int id = first;
  while (find_by_id(list, id) != nullptr) ++id;
  return id;
}

/// Calls `body` if MIG mode is on.
Status with_mig(const void* handle, Access access,
                const std::function<Status(Json& card, const Described&)>& body) {
  return with_card(handle, access, [&](Json& card, const Described& described) {
    return card.value("mig", false) ? body(card, described) : Status::kNotSupported;
  });
}

/// Calls `body` with the GPU instance that `handle` is, or is in.
Status with_instance(
    const void* handle, Access access,
    const std::function<Status(Json& card, Json& instance, const Described&)>& body) {
  return with_mig(handle, access, [&](Json& card, const Described& described) {
    Json* instance = find_by_id(card["instances"], described.gpu_instance);
    return instance == nullptr ? Status::kNotFound : body(card, *instance, described);
  });
}

/// A text with the digits of the GPU's uuid and of the instances' ids: as with the library, equal
/// instances have equal uuids.
std::string mig_uuid(const std::string& gpu_uuid, int gpu_instance, int compute_instance) {
  char end[16];
  std::snprintf(end, sizeof end, "%02x%02x", static_cast<unsigned>(gpu_instance) & 0xFFU,
                static_cast<unsigned>(compute_instance) & 0xFFU);
  return "MIG-" + gpu_uuid.substr(4, gpu_uuid.size() - 8) + end;
}

bool uses(const Json& card, const std::function<bool(const Json& process)>& is_there) {
  const Json processes = card.value("processes", Json::array());
  return std::ranges::any_of(processes, is_there);
}

template <typename Info>
void fill_profile(const Profile& profile, Info& info) {
  info.id = profile.id;
  info.slices = profile.slices;
  info.instances = profile.instances;
  info.multiprocessors = kMultiprocessors * profile.slices;
  info.copy_engines = profile.slices;
  info.memory_mib = profile.memory_mib;
}

Status find_profile(abi::Device device, unsigned number,
                    const std::function<void(const Profile&)>& body) {
  return with_card(device, Access::kRead, [&](const Json& card, const Described&) {
    for (const Profile& profile : profiles_of(card)) {
      if (profile.number != static_cast<abi::GpuProfile>(number)) continue;
      body(profile);
      return Status::kSuccess;
    }
    return number < abi::kGpuProfiles ? Status::kNotSupported : Status::kInvalidArgument;
  });
}

/// Whether the GPU has room for another instance of the profile.
bool has_room(Json& card, const Profile& profile, unsigned start) {
  unsigned equal = 0;
  unsigned slices = profile.slices;
  unsigned media = profile.media;
  for (const Json& other : card["instances"]) {
    const unsigned other_start = number_at(other, "start");
    if (start < other_start + number_at(other, "size") && other_start < start + profile.size)
      return false;
    const Profile* other_profile = profile_with_id(card, number_at(other, "profile"));
    if (other_profile == nullptr) continue;
    equal += other_profile == &profile ? 1 : 0;
    slices += other_profile->slices;
    media += other_profile->media;
    if (has_optical_flow(*other_profile) && has_optical_flow(profile)) return false;
  }
  return equal < profile.instances && slices <= profiles_of(card).back().slices &&
         media <= kMediaEngines;
}

Status create(Json& card, const Described& gpu, const Profile& profile, unsigned start,
              abi::GpuInstance& created) {
  if (card.value("fail_create", false) || !has_room(card, profile, start))
    return Status::kInsufficientResources;
  const int id = free_id(card["instances"], profile.slices == 7 ? 0 : 1);
  card["instances"].push_back({{"id", id},
                               {"profile", profile.id},
                               {"start", start},
                               {"size", profile.size},
                               {"compute", Json::array()}});
  created = static_cast<abi::GpuInstance>(handle_of({gpu.uuid, id}));
  return Status::kSuccess;
}

template <typename Info>
Status fill_compute_profile(const void* handle, unsigned number, Info& info) {
  if (number >= std::size(kComputeSlices)) return Status::kInvalidArgument;
  return with_instance(handle, Access::kRead, [&](Json& card, Json& instance, const Described&) {
    const Profile* profile = profile_with_id(card, number_at(instance, "profile"));
    if (profile == nullptr) return Status::kNotSupported;
    // The numbers beyond the fifth are of other cards.
    if (number > 4 || kComputeSlices[number] > profile->slices) return Status::kNotSupported;
    info.id = number;
    info.slices = kComputeSlices[number];
    info.instances = profile->slices / kComputeSlices[number];
    info.multiprocessors = kMultiprocessors * info.slices;
    return Status::kSuccess;
  });
}

}  // namespace
}  // namespace standin

using namespace standin;          // NOLINT(google-build-using-namespace)
using namespace snug::nvml::abi;  // NOLINT(google-build-using-namespace)

extern "C" {

Status nvmlDeviceGetUUID(Device device, char* out, unsigned size) {
  return with_card(device, Access::kRead, [&](Json& card, const Described& described) {
    if (described.gpu_instance < 0) return copy_text(described.uuid, out, size);
    Json* instance = find_by_id(card["instances"], described.gpu_instance);
    Json* compute = instance == nullptr
                        ? nullptr
                        : find_by_id((*instance)["compute"], described.compute_instance);
    if (compute == nullptr) return Status::kInvalidArgument;
    return copy_text(mig_uuid(described.uuid, described.gpu_instance, described.compute_instance),
                     out, size);
  });
}

Status nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  return with_card(device, Access::kRead, [&](const Json& card, const Described&) {
    if (profiles_of(card).empty()) return Status::kNotSupported;
    *current = *pending = card.value("mig", false) ? kMigModeOn : 0;
    return Status::kSuccess;
  });
}

Status nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned* count) {
  return with_card(device, Access::kRead, [&](const Json& card, const Described&) {
    const auto& profiles = profiles_of(card);
    *count = profiles.empty() ? 0 : profiles.back().slices;
    return Status::kSuccess;
  });
}

Status nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device* mig) {
  return with_mig(device, Access::kRead, [&](Json& card, const Described& gpu) {
    for (const Json& instance : card["instances"]) {
      for (const Json& compute : instance["compute"]) {
        if (index-- != 0) continue;
        *mig = static_cast<Device>(handle_of({gpu.uuid, id_of(instance), id_of(compute)}));
        return Status::kSuccess;
      }
    }
    return Status::kNotFound;
  });
}

Status nvmlDeviceGetGpuInstanceId(Device mig, unsigned* id) {
  const Described* described = described_by(mig);
  if (described == nullptr || described->gpu_instance < 0) return Status::kInvalidArgument;
  *id = static_cast<unsigned>(described->gpu_instance);
  return Status::kSuccess;
}

Status nvmlDeviceGetComputeInstanceId(Device mig, unsigned* id) {
  const Described* described = described_by(mig);
  if (described == nullptr || described->compute_instance < 0) return Status::kInvalidArgument;
  *id = static_cast<unsigned>(described->compute_instance);
  return Status::kSuccess;
}

Status nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device mig, Device* device) {
  const Described* described = described_by(mig);
  if (described == nullptr) return Status::kInvalidArgument;
  *device = static_cast<Device>(handle_of({described->uuid}));
  return Status::kSuccess;
}

Status nvmlDeviceGetAttributes_v2(Device mig, DeviceAttributes* attributes) {
  return with_instance(mig, Access::kRead, [&](Json& card, Json& instance, const Described& it) {
    const Profile* profile = profile_with_id(card, number_at(instance, "profile"));
    const Json* compute = find_by_id(instance["compute"], it.compute_instance);
    if (compute == nullptr) return Status::kInvalidArgument;
    *attributes = {};
    attributes->gpu_slices = profile == nullptr ? number_at(instance, "size") : profile->slices;
    attributes->compute_slices = number_at(*compute, "size");
    attributes->memory_mib = profile == nullptr ? 0 : profile->memory_mib;
    return Status::kSuccess;
  });
}

Status nvmlDeviceGetGpuInstanceProfileInfo(Device device, unsigned number, GpuProfileInfo* info) {
  return find_profile(device, number, [&](const Profile& profile) {
    *info = {};
    fill_profile(profile, *info);
  });
}

Status nvmlDeviceGetGpuInstanceProfileInfoV(Device device, unsigned number, GpuProfileInfo2* info) {
  if (const Status absent = present(__func__); absent != Status::kSuccess) return absent;
  if (info->version != struct_version<GpuProfileInfo2>(2)) return Status::kArgumentVersionMismatch;
  return find_profile(device, number, [&](const Profile& profile) {
    *info = {.version = info->version};
    fill_profile(profile, *info);
    (void)copy_text(profile.name, info->name, sizeof info->name);
  });
}

Status nvmlDeviceGetGpuInstancePossiblePlacements_v2(Device device, unsigned id,
                                                     SlicePlacement* placements, unsigned* count) {
  return with_card(device, Access::kRead, [&](const Json& card, const Described&) {
    const Profile* profile = profile_with_id(card, id);
    if (profile == nullptr) return Status::kInvalidArgument;
    *count = static_cast<unsigned>(profile->starts.size());
    for (std::size_t i = 0; placements != nullptr && i < profile->starts.size(); ++i) {
      placements[i] = {profile->starts[i], profile->size};
    }
    return Status::kSuccess;
  });
}

Status nvmlDeviceCreateGpuInstanceWithPlacement(Device device, unsigned id,
                                                const SlicePlacement* placement,
                                                GpuInstance* created) {
  wait_as_slow(device);
  return with_mig(device, Access::kWrite, [&](Json& card, const Described& gpu) {
    const Profile* profile = profile_with_id(card, id);
    if (const Status status = refused(card, "nvmlDeviceCreateGpuInstanceWithPlacement");
        status != Status::kSuccess)
      return status;
    if (profile == nullptr || placement->size != profile->size ||
        std::ranges::find(profile->starts, placement->start) == profile->starts.end())
      return Status::kInvalidArgument;
    return create(card, gpu, *profile, placement->start, *created);
  });
}

Status nvmlDeviceCreateGpuInstance(Device device, unsigned id, GpuInstance* created) {
  return with_mig(device, Access::kWrite, [&](Json& card, const Described& gpu) {
    const Profile* profile = profile_with_id(card, id);
    if (profile == nullptr) return Status::kInvalidArgument;
    for (const unsigned start : profile->starts) {
      if (create(card, gpu, *profile, start, *created) == Status::kSuccess) return Status::kSuccess;
    }
    return Status::kInsufficientResources;
  });
}

Status nvmlDeviceGetGpuInstances(Device device, unsigned id, GpuInstance* instances,
                                 unsigned* count) {
  return with_mig(device, Access::kRead, [&](const Json& card, const Described& gpu) {
    *count = 0;
    for (const Json& instance : card["instances"]) {
      if (number_at(instance, "profile") != id) continue;
      instances[(*count)++] = static_cast<GpuInstance>(handle_of({gpu.uuid, id_of(instance)}));
    }
    return Status::kSuccess;
  });
}

Status nvmlDeviceGetGpuInstanceById(Device device, unsigned id, GpuInstance* found) {
  return with_mig(device, Access::kRead, [&](Json& card, const Described& gpu) {
    if (find_by_id(card["instances"], static_cast<int>(id)) == nullptr) return Status::kNotFound;
    *found = static_cast<GpuInstance>(handle_of({gpu.uuid, static_cast<int>(id)}));
    return Status::kSuccess;
  });
}

Status nvmlGpuInstanceGetInfo(GpuInstance handle, GpuInstanceInfo* info) {
  return with_instance(handle, Access::kRead, [&](Json&, Json& instance, const Described& it) {
    *info = {static_cast<Device>(handle_of({it.uuid})),
             number_at(instance, "id"),
             number_at(instance, "profile"),
             {number_at(instance, "start"), number_at(instance, "size")}};
    return Status::kSuccess;
  });
}

Status nvmlGpuInstanceDestroy(GpuInstance handle) {
  return with_instance(handle, Access::kWrite,
                       [&](Json& card, Json& instance, const Described& it) {
                         if (const Status status = refused(card, "nvmlGpuInstanceDestroy");
                             status != Status::kSuccess)
                           return status;
                         const bool used = uses(card, [&](const Json& process) {
                           return process.value("gpu_instance", -1) == it.gpu_instance;
                         });
                         if (used || !instance["compute"].empty()) return Status::kInUse;
                         Json& instances = card["instances"];
                         for (std::size_t i = 0; i < instances.size(); ++i) {
                           if (instances[i]["id"] == it.gpu_instance) {
                             instances.erase(i);
                             break;
                           }
                         }
                         return Status::kSuccess;
                       });
}

Status nvmlGpuInstanceGetComputeInstanceProfileInfo(GpuInstance handle, unsigned number, unsigned,
                                                    ComputeProfileInfo* info) {
  *info = {};
  return fill_compute_profile(handle, number, *info);
}

Status nvmlGpuInstanceGetComputeInstanceProfileInfoV(GpuInstance handle, unsigned number, unsigned,
                                                     ComputeProfileInfo2* info) {
  if (info->version != struct_version<ComputeProfileInfo2>(2))
    return Status::kArgumentVersionMismatch;
  *info = {.version = info->version};
  return fill_compute_profile(handle, number, *info);
}

Status nvmlGpuInstanceCreateComputeInstance(GpuInstance handle, unsigned profile_id,
                                            ComputeInstance* created) {
  if (profile_id > 4) return Status::kInvalidArgument;
  wait_as_slow(handle);
  return with_instance(
      handle, Access::kWrite, [&](Json& card, Json& instance, const Described& it) {
        if (const Status status = refused(card, "nvmlGpuInstanceCreateComputeInstance");
            status != Status::kSuccess)
          return status;
        const unsigned wanted = kComputeSlices[profile_id];
        unsigned used = 0;
        for (const Json& other : instance["compute"]) used += number_at(other, "size");
        const Profile* profile = profile_with_id(card, number_at(instance, "profile"));
        if (card.value("fail_create", false) || profile == nullptr ||
            used + wanted > profile->slices)
          return Status::kInsufficientResources;
        const int id = free_id(instance["compute"], 0);
        instance["compute"].push_back(
            {{"id", id}, {"profile", profile_id}, {"start", used}, {"size", wanted}});
        *created = static_cast<ComputeInstance>(handle_of({it.uuid, it.gpu_instance, id}));
        return Status::kSuccess;
      });
}

Status nvmlGpuInstanceGetComputeInstances(GpuInstance handle, unsigned profile_id,
                                          ComputeInstance* instances, unsigned* count) {
  return with_instance(handle, Access::kRead, [&](Json&, Json& instance, const Described& it) {
    *count = 0;
    for (const Json& compute : instance["compute"]) {
      if (number_at(compute, "profile") != profile_id) continue;
      instances[(*count)++] =
          static_cast<ComputeInstance>(handle_of({it.uuid, it.gpu_instance, id_of(compute)}));
    }
    return Status::kSuccess;
  });
}

Status nvmlGpuInstanceGetComputeInstanceById(GpuInstance handle, unsigned id,
                                             ComputeInstance* found) {
  return with_instance(handle, Access::kRead, [&](Json&, Json& instance, const Described& it) {
    if (find_by_id(instance["compute"], static_cast<int>(id)) == nullptr) return Status::kNotFound;
    *found =
        static_cast<ComputeInstance>(handle_of({it.uuid, it.gpu_instance, static_cast<int>(id)}));
    return Status::kSuccess;
  });
}

Status nvmlComputeInstanceGetInfo_v2(ComputeInstance handle, ComputeInstanceInfo* info) {
  return with_instance(handle, Access::kRead, [&](Json&, Json& instance, const Described& it) {
    const Json* compute = find_by_id(instance["compute"], it.compute_instance);
    if (compute == nullptr) return Status::kNotFound;
    *info = {static_cast<Device>(handle_of(it)),
             static_cast<GpuInstance>(handle_of({it.uuid, it.gpu_instance})),
             number_at(*compute, "id"),
             number_at(*compute, "profile"),
             {number_at(*compute, "start"), number_at(*compute, "size")}};
    return Status::kSuccess;
  });
}

Status nvmlComputeInstanceDestroy(ComputeInstance handle) {
  return with_instance(handle, Access::kWrite,
                       [&](Json& card, Json& instance, const Described& it) {
                         const bool used = uses(card, [&](const Json& process) {
                           return process.value("gpu_instance", -1) == it.gpu_instance &&
                                  process.value("compute_instance", -1) == it.compute_instance;
                         });
                         if (used) return Status::kInUse;
                         Json& compute = instance["compute"];
                         for (std::size_t i = 0; i < compute.size(); ++i) {
                           if (compute[i]["id"] == it.compute_instance) {
                             compute.erase(i);
                             return Status::kSuccess;
                           }
                         }
                         return Status::kNotFound;
                       });
}

}  // extern "C"

// Each function of the table is defined here or in devices.cpp, with the table's signature.
namespace snug::nvml::abi {
extern "C" {
#define DECLARED(symbol, result, parameters) result symbol parameters;
SNUG_NVML_FUNCTIONS(DECLARED)
#undef DECLARED
}
#define NAMED(symbol, result, parameters) symbol,
[[gnu::used]] static const Functions every_function{SNUG_NVML_FUNCTIONS(NAMED)};
#undef NAMED
}  // namespace snug::nvml::abi
