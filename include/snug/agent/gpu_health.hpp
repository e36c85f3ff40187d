// Which GPUs of the node are healthy, from the driver's errors (XIDs) and reports.
//
//              an XID of class kDevice or kPassing
//    healthy ----------------------------------------> sick
//       ^                                               |
//       +-----------------------------------------------+
//         - the driver says that the GPU needs no recovery, recovery_settle_ms after its last XID;
//         or
//         - the driver does not say, and the GPU was away (lost, or the driver was restarted) and
//           is back; or
//         - the driver does not say, and all XIDs since it was healthy were kPassing, the last of
//           them xid_quiet_ms ago, and the GPU answered at each report since.
//
// A GPU is also unhealthy while the driver does not reach it, or says that it needs recovery. GPUs
// are known by uuid. Pure: the caller passes the time. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "snug/agent/device_report.hpp"
#include "snug/base/clock.hpp"

namespace snug::agent {

enum class XidClass : std::uint8_t {
  kApplication,  // the program that used the GPU failed, not the GPU
  kPassing,      // the GPU goes on, after an error that it has handled itself
  kDevice,       // the GPU or its driver must be expected to fail
};

/// The class of an XID. One that is in no table is of class kDevice.
[[nodiscard]] XidClass class_of_xid(std::uint64_t xid);
/// `XID 79: the GPU has fallen off the bus`
[[nodiscard]] std::string xid_sentence(std::uint64_t xid);

class GpuHealth {
 public:
  /// The driver has reported the XID. An empty uuid means all GPUs of the last report.
  void note_xid(std::string_view uuid, std::uint64_t xid, base::TimePoint now);

  /// Takes in a report of the driver, and sets `healthy` and `ailment` of its GPUs. Call it for
  /// each report; with an empty one if the driver did not answer.
  void apply(NodeDevices& devices, base::TimePoint now);

 private:
  struct Sickness {
    std::uint64_t xid = 0;  // the last one
    base::TimePoint last_xid;
    base::TimePoint answers_since;  // from when on the GPU has answered without a gap
    bool passing = true;            // all XIDs were kPassing
    bool was_away = false;

    friend bool operator==(const Sickness&, const Sickness&) = default;
  };

  void make_sick(const std::string& uuid, std::uint64_t xid, base::TimePoint now);
  [[nodiscard]] static bool has_recovered(const Sickness& sickness, const DeviceReport& gpu,
                                          base::TimePoint now);
  void judge(DeviceReport& gpu, base::TimePoint now);

  std::map<std::string, Sickness, std::less<>> sick_;  // by uuid
  std::set<std::string, std::less<>> reported_;        // the GPUs of the last report
};

}  // namespace snug::agent
