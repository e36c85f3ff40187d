// Ready means: both lists are in and the ledger is rebuilt from them. Thread-safe.
#pragma once

#include <atomic>

namespace snug {

class Readiness {
 public:
  void nodes_are_in() { nodes_ = true; }
  void pods_are_in() { pods_ = true; }
  [[nodiscard]] bool ready() const { return nodes_ && pods_; }

 private:
  std::atomic<bool> nodes_{false};
  std::atomic<bool> pods_{false};
};

}  // namespace snug
