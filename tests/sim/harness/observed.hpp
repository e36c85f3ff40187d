// The state of a running Snug as plain values. The naive model compares them with its own sums.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "snug/model/reservation.hpp"

namespace snug {

struct Device {
  std::string container;
  model::ReservedDevice given;
  friend bool operator==(const Device&, const Device&) = default;
  friend bool operator<(const Device& a, const Device& b) {
    return std::tie(a.container, a.given.index, a.given.uuid) <
           std::tie(b.container, b.given.index, b.given.uuid);
  }
};

/// What one pod holds.
struct Held {
  std::vector<Device> devices;                // in order
  std::map<std::string, std::int64_t> units;  // that the kubelet assigns, by resource
  bool unplaced = false;

  [[nodiscard]] bool anything() const { return !devices.empty() || !units.empty() || unplaced; }
  friend bool operator==(const Held&, const Held&) = default;
};

struct Observed {
  struct Pod {
    std::string node;
    Held held;
    bool bound = false;  // false: reserved or unsettled
    bool terminating = false;
  };
  struct Gpu {
    int index = 0;
    std::string uuid;
    std::int64_t used_memory = 0;
    std::int64_t used_compute = 0;
    std::uint64_t taken = 0;  // bit mask of memory slices
    bool vanished = false;    // reservations name it, but the inventory does not
  };
  struct Node {
    std::vector<Gpu> gpus;
    std::map<std::string, std::int64_t> units;
    std::int64_t host_cpu = 0;     // thousandths
    std::int64_t host_memory = 0;  // bytes
    std::int64_t pods = 0;
  };

  /// An intent: a placement that filter or prioritize has named for a pod.
  struct Promise {
    std::string uid;
    std::string node;
    Held held;
  };

  bool ready = false;
  std::map<std::string, Pod> pods;  // by uid; pods that hold or request GPUs
  std::map<std::string, Node> nodes;
  std::set<std::string> pending;                              // uids of pods that wait
  std::set<std::pair<std::string, std::string>> nominations;  // (uid, node)
  std::vector<Promise> promises;  // those on one node are in the order of their creation
};

}  // namespace snug
