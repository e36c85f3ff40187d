// A mutex that a thread cannot take again while another thread waits for it. A thread that does
// long work in parts, and unlocks only between them, would keep all others out of an ordinary
// mutex.
#pragma once

#include <mutex>

namespace snug {

class FairMutex {
 public:
  void lock() {
    const std::lock_guard turn(next_);
    held_.lock();
  }
  void unlock() { held_.unlock(); }

 private:
  std::mutex next_;  // of whoever gets `held_` next
  std::mutex held_;
};

}  // namespace snug
