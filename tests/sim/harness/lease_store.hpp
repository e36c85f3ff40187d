// A Lease in the simulated API server, and a Snug's way to it, which fails as any call does:
// unreachable, done without an answer, done later than the client has given up. Deterministic; not
// thread-safe.
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
  /// Carried out at `due`, if the Lease is still `over`.
  void write_late(const leader::LeaseRecord& record, const std::optional<leader::Lease>& over,
                  base::TimePoint due);
  /// Somebody writes it, whatever it says.
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

/// What both Leases and the API of one Snug have in common.
struct Wire {
  Random& random;
  std::function<void()> meanwhile;  // a call is under way
  bool faults = true;
  bool cut = false;  // no call comes through
  int failed = 0;    // calls that did not end as they should
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
