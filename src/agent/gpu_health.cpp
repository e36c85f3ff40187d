#include "snug/agent/gpu_health.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>

#include "snug/base/agent_limits.hpp"

namespace snug::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSettleTime{base::agent_limits::recovery_settle_ms};
constexpr milliseconds kQuietTime{base::agent_limits::xid_quiet_ms};

struct XidRow {
  std::uint64_t xid;
  XidClass xid_class;
  std::string_view meaning;
};

// kApplication: what NVIDIA's device plug-in ignores (k8s-device-plugin, internal/rm/health.go).
// kPassing and meanings: NVIDIA's "XID Errors", where it names no action, or to restart programs.
constexpr std::array kXids{
    XidRow{13, XidClass::kApplication, "graphics engine exception"},
    XidRow{31, XidClass::kApplication, "GPU memory page fault"},
    XidRow{43, XidClass::kApplication, "GPU stopped processing"},
    XidRow{45, XidClass::kApplication, "preemptive cleanup"},
    XidRow{68, XidClass::kApplication, "video processor exception"},
    XidRow{109, XidClass::kApplication, "context switch timeout"},
    XidRow{63, XidClass::kPassing, "a row of memory was recorded for remapping"},
    XidRow{92, XidClass::kPassing, "high rate of corrected memory errors"},
    XidRow{94, XidClass::kPassing, "contained memory error"},
    XidRow{48, XidClass::kDevice, "double-bit memory error"},
    XidRow{64, XidClass::kDevice, "a row of memory could not be recorded for remapping"},
    XidRow{74, XidClass::kDevice, "NVLink error"},
    XidRow{79, XidClass::kDevice, "the GPU has fallen off the bus"},
    XidRow{95, XidClass::kDevice, "uncontained memory error"},
    XidRow{119, XidClass::kDevice, "the GPU's system processor does not answer"},
};

const XidRow* row_of(std::uint64_t xid) {
  const auto row = std::ranges::find(kXids, xid, &XidRow::xid);
  return row == kXids.end() ? nullptr : &*row;
}

/// Empty: the GPU needs none, or the driver does not say.
std::string_view needed_recovery(Recovery recovery) {
  switch (recovery) {
    case Recovery::kUnknown:
    case Recovery::kNone:
      return "";
    case Recovery::kResetGpu:
      return "the driver asks to reset the GPU";
    case Recovery::kDrainAndReset:
      return "the driver asks to drain the GPU and to reset it";
    case Recovery::kDrainPeers:
      return "the driver asks to end the use of the GPU by its peers";
    case Recovery::kRebootNode:
      return "the driver asks to reboot the node";
    case Recovery::kOther:
      return "the driver says that the GPU needs recovery";
  }
  return "";
}

}  // namespace

XidClass class_of_xid(std::uint64_t xid) {
  const XidRow* row = row_of(xid);
  return row == nullptr ? XidClass::kDevice : row->xid_class;
}

std::string xid_sentence(std::uint64_t xid) {
  const XidRow* row = row_of(xid);
  return "XID " + std::to_string(xid) + ": " +
         std::string(row == nullptr ? "an error of the GPU or its driver" : row->meaning);
}

void GpuHealth::note_xid(std::string_view uuid, std::uint64_t xid, base::TimePoint now) {
  if (xid == 0 || class_of_xid(xid) == XidClass::kApplication) return;
  if (!uuid.empty()) return make_sick(std::string(uuid), xid, now);
  for (const std::string& each : reported_) make_sick(each, xid, now);
}

void GpuHealth::make_sick(const std::string& uuid, std::uint64_t xid, base::TimePoint now) {
  if (std::ssize(sick_) >= base::agent_limits::max_sick_gpus && !sick_.contains(uuid)) {
    const auto vanished = std::ranges::find_if(
        sick_, [this](const auto& entry) { return !reported_.contains(entry.first); });
    sick_.erase(vanished == sick_.end() ? sick_.begin() : vanished);
  }
  const auto [entry, is_new] = sick_.try_emplace(uuid, Sickness{.answers_since = now});
  Sickness& sickness = entry->second;
  sickness.xid = xid;
  sickness.last_xid = now;
  sickness.passing = sickness.passing && class_of_xid(xid) == XidClass::kPassing;
  sickness.was_away = false;
}

bool GpuHealth::has_recovered(const Sickness& sickness, const DeviceReport& gpu,
                              base::TimePoint now) {
  if (gpu.recovery == Recovery::kNone) return now - sickness.last_xid >= kSettleTime;
  if (gpu.recovery != Recovery::kUnknown) return false;
  if (sickness.was_away) return true;
  const base::TimePoint quiet_since = std::max(sickness.last_xid, sickness.answers_since);
  return sickness.passing && now - quiet_since >= kQuietTime;
}

void GpuHealth::judge(DeviceReport& gpu, base::TimePoint now) {
  auto sick = sick_.find(gpu.uuid);
  if (sick != sick_.end() && gpu.healthy && has_recovered(sick->second, gpu, now)) {
    sick_.erase(sick);
    sick = sick_.end();
  }
  if (sick != sick_.end()) {
    gpu.ailment = gpu.ailment.empty() ? xid_sentence(sick->second.xid)
                                      : xid_sentence(sick->second.xid) + "; " + gpu.ailment;
  } else if (const std::string_view recovery = needed_recovery(gpu.recovery); !recovery.empty()) {
    gpu.ailment = recovery;
  }
  gpu.healthy = gpu.ailment.empty();
}

void GpuHealth::apply(NodeDevices& devices, base::TimePoint now) {
  std::set<std::string, std::less<>> answering;
  reported_.clear();
  for (const DeviceReport& gpu : devices.gpus) {
    reported_.insert(gpu.uuid);
    if (gpu.healthy) answering.insert(gpu.uuid);
  }
  for (auto& [uuid, sickness] : sick_) {
    if (answering.contains(uuid)) continue;
    sickness.was_away = true;
    sickness.answers_since = now;
  }
  for (DeviceReport& gpu : devices.gpus) judge(gpu, now);
}

}  // namespace snug::agent
