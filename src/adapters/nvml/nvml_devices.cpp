#include "snug/adapters/nvml/nvml_devices.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "adapters/nvml/device_reader.hpp"
#include "adapters/nvml/nvml_library.hpp"
#include "snug/base/mutex.hpp"

namespace snug::nvml {
namespace {

using abi::Status;
using agent_service::DeviceEvent;
using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestWait{base::agent_limits::driver_wait_ms};

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
  changed_.wait(mutex_, [this]() SNUG_REQUIRES(mutex_) { return !waiting_; });
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
  const base::MutexLock lock(mutex_);
  for (const auto& [index, device] : handles) {
    unsigned long long types = 0;
    if (device == nullptr || lost_.contains(index)) continue;
    if (abi::call(nvml.nvmlDeviceGetSupportedEventTypes, device, &types) != Status::kSuccess ||
        (types & abi::kXidEvent) == 0)
      continue;
    if (abi::call(nvml.nvmlDeviceRegisterEvents, device, abi::kXidEvent, source.set) ==
        Status::kSuccess)
      uuids_[device] = last_[index].uuid;
  }
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

NvmlDevices::NvmlDevices(NvmlOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}
NvmlDevices::~NvmlDevices() = default;

base::Result<agent::NodeDevices> NvmlDevices::read() { return state_->read(); }

base::Result<std::optional<DeviceEvent>> NvmlDevices::wait_for_event(
    std::chrono::milliseconds timeout) {
  return state_->wait_for_event(timeout);
}

}  // namespace snug::nvml
