// A Lease in the simulated API server, and the client through which a replica reads and writes it.
// Calls of the client fail as real calls do: the server is unreachable, a write is executed and its
// reply is lost, or it is executed after the client has given up. Deterministic; not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "snug/base/clock.hpp"
#include "snug/service/ports.hpp"
#include "support/random.hpp"

namespace snug {

class LeaseStore {
 public:
  explicit LeaseStore(const base::Clock& clock) : clock_(clock) {}

  [[nodiscard]] const std::optional<leader::Lease>& read();
  base::Result<leader::Lease> write(const leader::LeaseRecord& record,
                                    const std::optional<leader::Lease>& over);
  /// Executes the write at `due`, if the Lease has not changed since `over` was read.
  void write_late(const leader::LeaseRecord& record, const std::optional<leader::Lease>& over,
                  base::TimePoint due);
  /// Makes `holder` the holder of the Lease, whatever its current state is.
  void put(const std::string& holder);
  void remove();

 private:
  struct Late {
    leader::LeaseRecord record;
    std::optional<leader::Lease> over;
    base::TimePoint due;
  };

  base::Result<leader::Lease> carry_out(const leader::LeaseRecord& record,
                                        const std::optional<leader::Lease>& over,
                                        base::TimePoint now);
  void catch_up();

  const base::Clock& clock_;
  std::optional<leader::Lease> lease_;
  int version_ = 0;
  std::vector<Late> late_;
};

/// The network of one replica, which its clients of the two Leases and of the API share.
struct Wire {
  Random& random;
  std::function<void()> meanwhile;  // called during each call
  bool faults = true;
  bool cut = false;  // every call fails
  int failed = 0;    // number of failed calls
};

class SimLease final : public service::LeasePort {
 public:
  SimLease(LeaseStore& store, Wire& wire, const base::Clock& clock)
      : store_(store), wire_(wire), clock_(clock) {}

  base::Result<std::optional<leader::Lease>> read() override;
  base::Result<leader::Lease> write(const leader::LeaseRecord& record,
                                    const leader::Lease* over) override;

 private:
  LeaseStore& store_;
  Wire& wire_;
  const base::Clock& clock_;
};

}  // namespace snug
