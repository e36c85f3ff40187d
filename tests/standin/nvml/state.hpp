// The state behind the stand-in for NVIDIA's management library: GPUs, MIG instances, events and
// ordered failures in one JSON file, which the variable SNUG_STANDIN_NVML names. tests/standin/
// nvml_state.py documents its keys. Each call reads the file under a lock (flock), so that all
// processes see one driver. Handles are pointers to descriptions that are never freed.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/nvml/nvml_abi.hpp"

namespace standin {

namespace abi = snug::nvml::abi;
using abi::Status;
using Json = nlohmann::json;

/// The member `key` of `object`, which must have it.
[[nodiscard]] inline std::string text_at(const Json& object, const char* key) {
  return object.at(key).get<std::string>();
}
[[nodiscard]] inline unsigned number_at(const Json& object, const char* key) {
  return object.at(key).get<unsigned>();
}
[[nodiscard]] inline int id_of(const Json& instance) { return instance.at("id").get<int>(); }

/// What a handle stands for: a GPU, or an instance on it.
struct Described {
  std::string uuid;       // of the GPU
  int gpu_instance = -1;  // -1: none
  int compute_instance = -1;
};
/// The handle of `described`; equal descriptions have equal handles.
[[nodiscard]] void* handle_of(const Described& described);
/// Null: not a handle that this process has got.
[[nodiscard]] const Described* described_by(const void* handle);

/// The GPUs that this process found when it initialised the library; nullopt: it did not.
[[nodiscard]] std::optional<std::vector<std::string>> known_gpus();

/// Counts initialisations, as the library does.
[[nodiscard]] Status initialise();
[[nodiscard]] Status shut_down();

enum class Access { kRead, kWrite };
/// Calls `body` with the state. kWrite stores what it changed, if it succeeds. Fails if the library
/// is not initialised, there is no driver, or it was loaded anew since.
[[nodiscard]] Status with_state(Access access, const std::function<Status(Json&)>& body);
/// The same with the card that `handle` is, or is an instance of.
[[nodiscard]] Status with_card(const void* handle, Access access,
                               const std::function<Status(Json& card, const Described&)>& body);
/// What the state says that `function` returns for the card instead of doing its work; kSuccess:
/// nothing.
[[nodiscard]] Status refused(const Json& card, const char* function);
/// Sleeps as long as the card needs to make an instance.
void wait_as_slow(const void* handle);
/// kFunctionNotFound if the state says that the driver is older than this function.
[[nodiscard]] Status present(const char* function);

/// Copies `text` with its terminating zero.
[[nodiscard]] Status copy_text(std::string_view text, char* out, unsigned size);

/// A GPU instance profile of a card.
struct Profile {
  abi::GpuProfile number;
  unsigned id;
  unsigned slices;  // of compute
  unsigned size;    // in memory slices
  unsigned long long memory_mib;
  unsigned instances;  // at most so many at once
  std::vector<unsigned> starts;
  std::string_view name;
  unsigned media = 0;  // engines, of which a card has four; only cards that share them say so
};
/// Whether the card's only engine for optical flow belongs to it.
[[nodiscard]] inline bool has_optical_flow(const Profile& profile) {
  return profile.name.ends_with("+me") || profile.name.ends_with("+me.all");
}
/// The profiles of the card's key `table`; empty: it has no MIG.
[[nodiscard]] const std::vector<Profile>& profiles_of(const Json& card);

}  // namespace standin
