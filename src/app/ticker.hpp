// A thread that calls one function periodically until it is stopped. An exception of the function
// is logged and does not end the thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "snug/base/mutex.hpp"
#include "snug/service/ports.hpp"

namespace snug::app {

class Ticker {
 public:
  /// `name` is what the log calls the ticks; the log outlives stop().
  Ticker(std::string name, std::chrono::milliseconds every, service::Log& log,
         std::function<void()> what);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  /// Stops the thread; returns after the last call of the function.
  void stop();

 private:
  void run();
  void tick();

  const std::string name_;
  const std::chrono::milliseconds interval_;
  service::Log& log_;
  const std::function<void()> function_;
  base::Mutex mutex_;
  base::Condition wake_;
  bool stopping_ SNUG_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace snug::app
