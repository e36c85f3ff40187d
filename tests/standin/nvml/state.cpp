#include "standin/nvml/state.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>

namespace standin {
namespace {

std::mutex process_mutex;  // guards what follows
int initialisations = 0;
std::int64_t initialised_epoch = 0;
std::vector<std::string> gpus_at_start;
std::map<std::tuple<std::string, int, int>, std::unique_ptr<Described>> handles;

/// The state file, locked.
class StateFile {
 public:
  explicit StateFile(Access access) {
    const char* path = std::getenv("SNUG_STANDIN_NVML");
    if (path == nullptr) return;
    file_ = open(path, (access == Access::kWrite ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (file_ >= 0 && flock(file_, access == Access::kWrite ? LOCK_EX : LOCK_SH) != 0) {
      close(file_);
      file_ = -1;
    }
  }
  ~StateFile() {
    if (file_ >= 0) close(file_);
  }
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  /// Null if there is no file or it is not JSON.
  Json load() {
    std::string text;
    char part[65536];
    for (ssize_t got; file_ >= 0 && (got = read(file_, part, sizeof part)) > 0;) {
      text.append(part, static_cast<std::size_t>(got));
    }
    Json state = Json::parse(text, nullptr, false);
    return state.is_object() ? state : Json();
  }
  /// By one call, which pads the text that was there: the process may be killed between two.
  bool store(const Json& state) {
    struct stat before = {};
    if (fstat(file_, &before) != 0) return false;
    std::string text = state.dump(1) + "\n";
    text.resize(std::max(text.size(), static_cast<std::size_t>(before.st_size)), '\n');
    return pwrite(file_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  }

 private:
  int file_ = -1;
};

bool driver_loaded(const Json& state) {
  return state.is_object() && state.contains("driver") && state["driver"].is_string();
}

std::vector<std::string> uuids_in(const Json& state) {
  std::vector<std::string> uuids;
  for (const Json& card : state["cards"]) uuids.push_back(text_at(card, "uuid"));
  return uuids;
}

}  // namespace

void* handle_of(const Described& described) {
  const std::lock_guard lock(process_mutex);
  auto& slot = handles[{described.uuid, described.gpu_instance, described.compute_instance}];
  if (!slot) slot = std::make_unique<Described>(described);
  return slot.get();
}

const Described* described_by(const void* handle) {
  const std::lock_guard lock(process_mutex);
  const auto found = std::ranges::find_if(
      handles, [&](const auto& entry) { return entry.second.get() == handle; });
  return found == handles.end() ? nullptr : found->second.get();
}

std::optional<std::vector<std::string>> known_gpus() {
  const std::lock_guard lock(process_mutex);
  return initialisations > 0 ? std::optional(gpus_at_start) : std::nullopt;
}

Status initialise() {
  const Json state = StateFile(Access::kRead).load();
  if (!driver_loaded(state)) return Status::kDriverNotLoaded;
  if (const auto error = state.value("init_error", 0U); error != 0)
    return static_cast<Status>(error);
  const std::lock_guard lock(process_mutex);
  if (initialisations++ == 0) {
    initialised_epoch = state.value("epoch", std::int64_t{0});
    gpus_at_start = uuids_in(state);
  }
  return Status::kSuccess;
}

Status shut_down() {
  const std::lock_guard lock(process_mutex);
  if (initialisations == 0) return Status::kUninitialized;
  --initialisations;
  return Status::kSuccess;
}

Status with_state(Access access, const std::function<Status(Json&)>& body) {
  StateFile file(access);
  Json state = file.load();
  {
    const std::lock_guard lock(process_mutex);
    if (initialisations == 0) return Status::kUninitialized;
    if (!driver_loaded(state)) return Status::kDriverNotLoaded;
    if (state.value("epoch", std::int64_t{0}) != initialised_epoch) return Status::kUnknown;
  }
  const Status status = body(state);
  if (status == Status::kSuccess && access == Access::kWrite && !file.store(state))
    return Status::kUnknown;
  return status;
}

Status with_card(const void* handle, Access access,
                 const std::function<Status(Json&, const Described&)>& body) {
  const Described* described = described_by(handle);
  return with_state(access, [&](Json& state) {
    if (described == nullptr) return Status::kInvalidArgument;
    for (Json& card : state["cards"]) {
      if (card["uuid"] != described->uuid) continue;
      if (card.value("lost", false)) break;
      return body(card, *described);
    }
    return Status::kGpuIsLost;
  });
}

Status refused(const Json& card, const char* function) {
  return static_cast<Status>(card.value("fail", Json::object()).value(function, 0U));
}

void wait_as_slow(const void* handle) {
  unsigned wait_ms = 0;
  (void)with_card(handle, Access::kRead, [&](const Json& card, const Described&) {
    wait_ms = card.value("create_ms", 0U);
    return Status::kSuccess;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
}

Status present(const char* function) {
  return with_state(Access::kRead, [&](const Json& state) {
    for (const Json& missing : state.value("missing", Json::array())) {
      if (missing == function) return Status::kFunctionNotFound;
    }
    return Status::kSuccess;
  });
}

Status copy_text(std::string_view text, char* out, unsigned size) {
  if (out == nullptr) return Status::kInvalidArgument;
  if (size <= text.size()) return Status::kInsufficientSize;
  std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
  return Status::kSuccess;
}

}  // namespace standin
