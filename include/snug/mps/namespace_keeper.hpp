// Brings the namespaces of one MPS daemon with the protocol 3 to what is wanted: a state machine
// without I/O. Its owner tells it what the daemon lists, does what next() returns, one step at a
// time, and tells how that went.
//
// Invariant: a namespace counts as there only when its limits have been set since the daemon was
// started or adopted. A step that failed is tried again after the next list. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "snug/mps/mps_files.hpp"

namespace snug::mps {

enum class NamespaceAction : std::uint8_t { kCreate, kSetLimits, kDelete };

struct NamespaceStep {
  NamespaceAction action = NamespaceAction::kCreate;
  std::string name;
  NamespaceLimits limits;  // only with kSetLimits

  friend bool operator==(const NamespaceStep&, const NamespaceStep&) = default;
};

class NamespaceKeeper {
 public:
  using Names = std::set<std::string, std::less<>>;

  /// There is another daemon, or none.
  void forget();
  /// The daemon has these namespaces.
  void listed(const Names& names, const Namespaces& wanted);
  /// What is to be done next; nullopt: nothing, until the daemon has listed its namespaces again.
  [[nodiscard]] std::optional<NamespaceStep> next(const Namespaces& wanted) const;
  /// The step is being done: a namespace that is being removed is there no more.
  void begun(const NamespaceStep& step);
  /// The step has been done. `failure`: why it failed; empty: it did not. Returns whether this is
  /// news: not the same as the last failure of the namespace.
  bool done(const NamespaceStep& step, std::string failure);
  /// As in DaemonState::namespaces.
  [[nodiscard]] NamespaceStates states(const Namespaces& wanted) const;

 private:
  struct Known {
    bool exists = false;
    bool has_failed = false;                // since the last list
    std::optional<NamespaceLimits> limits;  // that were set
    std::string failure;
  };

  [[nodiscard]] static bool is_ready(const Known& known,
                                     const std::optional<NamespaceLimits>& wanted);

  bool has_list_ = false;
  std::map<std::string, Known, std::less<>> known_;
};

}  // namespace snug::mps
