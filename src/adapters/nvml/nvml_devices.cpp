#include "snug/adapters/nvml/nvml_devices.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "adapters/nvml/device_reader.hpp"
#include "adapters/nvml/memory_limiter.hpp"
#include "adapters/nvml/nvml_library.hpp"
#include "adapters/nvml/slice_maker.hpp"
#include "snug/base/mutex.hpp"

namespace snug::nvml {
namespace {

using abi::Status;
using agent_service::DeviceEvent;
using agent_service::DeviceUsage;
using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestWait{base::agent_limits::driver_wait_ms};

std::unexpected<base::Error> not_open() {
  return base::fail(base::ErrorCode::kUnavailable, "the driver does not answer");
}

bool is_no_driver(Status status) {
  return status == Status::kLibraryNotFound || status == Status::kDriverNotLoaded ||
         status == Status::kGpuNotFound;
}

/// Where a wait for events looks: a copy for the waiting thread. Valid while it is counted in
/// State::waiting_.
struct EventSource {
  abi::EventSet set = nullptr;
  const abi::Functions* nvml = nullptr;
};

}  // namespace

class NvmlDevices::State {
 public:
  explicit State(NvmlOptions options) : options_(std::move(options)) {}
  ~State() { close(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  base::Result<agent::NodeDevices> read();
  base::Result<std::optional<DeviceEvent>> wait_for_event(std::chrono::milliseconds timeout);
  /// Null: the driver does not answer. For the reading thread.
  [[nodiscard]] const NvmlLibrary* library() const { return library_.get(); }
  bool can_limit();
  std::uint64_t openings();
  base::Result<void> limit_memory(std::string_view gpu_uuid, std::string_view cgroup_path,
                                  base::MebiBytes limit);
  base::Result<std::vector<DeviceUsage>> read_usage();

 private:
  /// The devices of one read, by index; null where the driver has no handle.
  using Handles = std::map<unsigned, abi::Device>;

  [[nodiscard]] bool reopening_is_due();
  [[nodiscard]] Status open();
  void close();
  void open_events(const Handles& handles);
  /// Reads the GPU, or says what was known of it before.
  [[nodiscard]] std::expected<std::optional<agent::DeviceReport>, Status> read_gpu(
      unsigned index, Handles& handles);
  [[nodiscard]] std::expected<agent::NodeDevices, Status> read_all();
  /// A stale event set would fail at once each time.
  [[nodiscard]] bool can_wait() const SNUG_REQUIRES(mutex_) {
    return events_.set != nullptr && !stale_;
  }
  void note_lost(bool first_read, bool has_gpus);

  // Used by the reading thread only.
  const NvmlOptions options_;
  std::unique_ptr<NvmlLibrary> library_;
  std::map<unsigned, agent::DeviceReport> last_;  // the last report of each GPU, by index
  std::set<unsigned> lost_;                       // by index, at this read
  std::set<unsigned> lost_at_open_;
  Steady::time_point reopen_at_ = Steady::time_point::max();
  bool has_read_ = false;  // since the library was opened

  base::Mutex mutex_;
  base::Condition changed_;
  EventSource events_ SNUG_GUARDED_BY(mutex_);
  std::map<abi::Device, std::string> uuids_ SNUG_GUARDED_BY(mutex_);  // of the handles in events
  bool waiting_ SNUG_GUARDED_BY(mutex_) = false;                      // a thread uses `events_`
  /// For threads that limit memory; null: not open. Not closed while `limiting_` threads use it.
  const NvmlLibrary* limiter_ SNUG_GUARDED_BY(mutex_) = nullptr;
  int limiting_ SNUG_GUARDED_BY(mutex_) = 0;
  bool can_limit_ SNUG_GUARDED_BY(mutex_) = false;  // the library that was opened last
  std::uint64_t openings_ SNUG_GUARDED_BY(mutex_) = 0;
  bool stale_ SNUG_GUARDED_BY(mutex_) = false;  // the library must be opened anew
};

bool NvmlDevices::State::reopening_is_due() {
  const base::MutexLock lock(mutex_);
  return stale_ || Steady::now() >= reopen_at_;
}

Status NvmlDevices::State::open() {
  Status status = Status::kLibraryNotFound;
  for (const std::string& path : options_.libraries) {
    auto library = NvmlLibrary::open(path);
    if (library) {
      library_ = std::make_unique<NvmlLibrary>(std::move(*library));
      const base::MutexLock lock(mutex_);
      limiter_ = library_.get();
      can_limit_ = can_limit_memory(*library_);
      ++openings_;
      return Status::kSuccess;
    }
    status = library.error();
    if (status != Status::kLibraryNotFound) break;
  }
  return status;
}

void NvmlDevices::State::close() {
  if (!library_) return;
  base::MutexLock lock(mutex_);
  const EventSource old = std::exchange(events_, {});
  limiter_ = nullptr;
  changed_.wait(mutex_, [this]() SNUG_REQUIRES(mutex_) { return !waiting_ && limiting_ == 0; });
  uuids_.clear();
  stale_ = false;
  lock.unlock();
  if (old.set != nullptr) (void)abi::call(old.nvml->nvmlEventSetFree, old.set);
  library_.reset();
  has_read_ = false;
  reopen_at_ = Steady::time_point::max();
}

/// Without the function or a GPU that has XIDs there is no event set, and waits time out.
void NvmlDevices::State::open_events(const Handles& handles) {
  const abi::Functions& nvml = library_->functions();
  EventSource source{.nvml = &nvml};
  if (nvml.nvmlEventSetWait_v2 == nullptr ||
      abi::call(nvml.nvmlEventSetCreate, &source.set) != Status::kSuccess)
    return;
  std::map<abi::Device, std::string> uuids;
  for (const auto& [index, device] : handles) {
    unsigned long long types = 0;
    if (device == nullptr || lost_.contains(index)) continue;
    if (abi::call(nvml.nvmlDeviceGetSupportedEventTypes, device, &types) != Status::kSuccess ||
        (types & abi::kXidEvent) == 0)
      continue;
    if (abi::call(nvml.nvmlDeviceRegisterEvents, device, abi::kXidEvent, source.set) ==
        Status::kSuccess)
      uuids[device] = last_[index].uuid;
  }
  const base::MutexLock lock(mutex_);
  uuids_ = std::move(uuids);
  events_ = source;
  changed_.notify_all();
}

std::expected<std::optional<agent::DeviceReport>, Status> NvmlDevices::State::read_gpu(
    unsigned index, Handles& handles) {
  const abi::Functions& nvml = library_->functions();
  abi::Device device = nullptr;
  Status status = abi::call(nvml.nvmlDeviceGetHandleByIndex_v2, index, &device);
  if (status == Status::kSuccess) {
    auto report = read_device(nvml, device, options_.pci_devices);
    if (report) {
      report->index = static_cast<int>(index);
      handles[index] = device;
      last_[index] = *report;
      return *report;
    }
    status = report.error();
  }
  if (is_driver_gone(status)) return std::unexpected(status);
  lost_.insert(index);
  handles[index] = nullptr;
  const auto known = last_.find(index);
  if (known == last_.end()) return std::nullopt;
  agent::DeviceReport report = known->second;
  report.healthy = false;
  report.recovery = agent::Recovery::kUnknown;
  report.ailment = "the driver does not reach the GPU: " + library_->text_of(status);
  return report;
}

std::expected<agent::NodeDevices, Status> NvmlDevices::State::read_all() {
  const abi::Functions& nvml = library_->functions();
  agent::NodeDevices devices;
  std::array<char, abi::kDriverVersionBytes> version{};
  Status status =
      abi::call(nvml.nvmlSystemGetDriverVersion, version.data(), abi::kDriverVersionBytes);
  if (status != Status::kSuccess) return std::unexpected(status);
  version.back() = '\0';
  devices.driver_version = version.data();
  unsigned count = 0;
  status = abi::call(nvml.nvmlDeviceGetCount_v2, &count);
  if (status != Status::kSuccess) return std::unexpected(status);

  lost_.clear();
  Handles handles;
  std::set<std::string> answering;
  std::vector<agent::DeviceReport> reports;
  for (unsigned index = 0; index < count; ++index) {
    auto report = read_gpu(index, handles);
    if (!report) return std::unexpected(report.error());
    std::optional<agent::DeviceReport>& known = *report;
    if (!known) continue;
    if (known->healthy) answering.insert(known->uuid);
    reports.push_back(std::move(*known));
  }
  std::vector<LinkedGpu> linked;
  for (agent::DeviceReport& report : reports) {
    // What was known of a lost GPU may be of one that has another index now.
    if (!report.healthy && answering.contains(report.uuid)) continue;
    linked.push_back({handles[static_cast<unsigned>(report.index)], report.pci_bus});
    devices.gpus.push_back(std::move(report));
  }
  devices.nvlinks = read_nvlinks(nvml, linked);
  const bool first_read = !std::exchange(has_read_, true);
  if (first_read) open_events(handles);
  note_lost(first_read, count > 0);
  return devices;
}

void NvmlDevices::State::note_lost(bool first_read, bool has_gpus) {
  if (first_read) {
    lost_at_open_ = lost_;
    if (!lost_.empty() || !has_gpus) reopen_at_ = Steady::now() + options_.reopen_after;
  }
  if (std::ranges::includes(lost_at_open_, lost_)) return;
  const base::MutexLock lock(mutex_);
  stale_ = true;
}

base::Result<agent::NodeDevices> NvmlDevices::State::read() {
  if (library_ && reopening_is_due()) close();
  if (!library_) {
    const Status status = open();
    if (is_no_driver(status)) return agent::NodeDevices{};
    if (status != Status::kSuccess) {
      return base::fail(
          base::ErrorCode::kUnavailable,
          "NVML cannot be initialised: error " + std::to_string(static_cast<unsigned>(status)));
    }
  }
  auto devices = read_all();
  if (devices) return std::move(*devices);
  const std::string message = library_->text_of(devices.error());
  close();
  return base::fail(base::ErrorCode::kUnavailable, message);
}

base::Result<std::vector<DeviceUsage>> NvmlDevices::State::read_usage() {
  std::vector<DeviceUsage> usage;
  if (!library_) return usage;
  const abi::Functions& nvml = library_->functions();
  unsigned count = 0;
  const Status status = abi::call(nvml.nvmlDeviceGetCount_v2, &count);
  if (status != Status::kSuccess)
    return base::fail(base::ErrorCode::kUnavailable, library_->text_of(status));
  for (unsigned index = 0; index < count; ++index) {
    abi::Device device = nullptr;
    if (abi::call(nvml.nvmlDeviceGetHandleByIndex_v2, index, &device) != Status::kSuccess) continue;
    auto uuid = read_uuid(nvml, device);
    const auto gpu_usage = nvml::read_usage(nvml, device);
    if (!uuid || !gpu_usage) continue;
    usage.push_back({.uuid = *std::move(uuid),
                     .memory_percent = gpu_usage->memory_percent,
                     .compute_percent = gpu_usage->compute_percent});
  }
  return usage;
}

base::Result<std::optional<DeviceEvent>> NvmlDevices::State::wait_for_event(
    std::chrono::milliseconds timeout) {
  const auto deadline = Steady::now() + timeout;
  base::MutexLock lock(mutex_);
  while (true) {
    changed_.wait_until(mutex_, deadline, [this]() SNUG_REQUIRES(mutex_) { return can_wait(); });
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now());
    if (!can_wait() || left.count() <= 0) return std::nullopt;
    const EventSource source = events_;
    waiting_ = true;
    lock.unlock();
    abi::EventData data{};
    const Status status = abi::call(source.nvml->nvmlEventSetWait_v2, source.set, &data,
                                    static_cast<unsigned>(std::min(left, kLongestWait).count()));
    lock.lock();
    waiting_ = false;
    changed_.notify_all();
    if (status == Status::kTimeout) continue;
    if (status != Status::kSuccess) {
      stale_ = true;
      return DeviceEvent{};
    }
    const auto uuid = uuids_.find(data.device);
    return DeviceEvent{.uuid = uuid == uuids_.end() ? "" : uuid->second, .xid = data.data};
  }
}

bool NvmlDevices::State::can_limit() {
  const base::MutexLock lock(mutex_);
  return can_limit_;
}

std::uint64_t NvmlDevices::State::openings() {
  const base::MutexLock lock(mutex_);
  return openings_;
}

base::Result<void> NvmlDevices::State::limit_memory(std::string_view gpu_uuid,
                                                    std::string_view cgroup_path,
                                                    base::MebiBytes limit) {
  base::MutexLock lock(mutex_);
  const NvmlLibrary* library = limiter_;
  if (library == nullptr) return not_open();
  ++limiting_;
  lock.unlock();
  auto limited = limit_cgroup(*library, gpu_uuid, cgroup_path, limit);
  lock.lock();
  --limiting_;
  changed_.notify_all();
  return limited;
}

NvmlDevices::NvmlDevices(NvmlOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}
NvmlDevices::~NvmlDevices() = default;

base::Result<agent::NodeDevices> NvmlDevices::read() { return state_->read(); }

base::Result<std::vector<DeviceUsage>> NvmlDevices::read_usage() { return state_->read_usage(); }

base::Result<std::optional<DeviceEvent>> NvmlDevices::wait_for_event(
    std::chrono::milliseconds timeout) {
  return state_->wait_for_event(timeout);
}

base::Result<void> NvmlDevices::create_slice(std::string_view gpu_uuid, std::string_view profile,
                                             int start) {
  const NvmlLibrary* library = state_->library();
  if (library == nullptr) return not_open();
  return make_slice(*library, gpu_uuid, profile, start);
}

base::Result<void> NvmlDevices::destroy_instance(std::string_view gpu_uuid, int gpu_instance) {
  const NvmlLibrary* library = state_->library();
  if (library == nullptr) return not_open();
  return destroy_slice(*library, gpu_uuid, gpu_instance);
}

bool NvmlDevices::can_limit() { return state_->can_limit(); }

std::uint64_t NvmlDevices::openings() { return state_->openings(); }

base::Result<void> NvmlDevices::limit_memory(std::string_view gpu_uuid,
                                             std::string_view cgroup_path, base::MebiBytes limit) {
  return state_->limit_memory(gpu_uuid, cgroup_path, limit);
}

}  // namespace snug::nvml
