// A thread that calls one function periodically until it is stopped. If the function throws, the
// thread logs the exception and continues.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "snug/base/mutex.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

class Ticker {
 public:
  /// Starts the thread. In a loop, the thread waits for the time `interval` and then calls
  /// `tick_function`. `name` appears in the thread's name and in log messages. `log` must outlive
  /// the Ticker.
  Ticker(std::string name, std::chrono::milliseconds interval, Log& log,
         std::function<void()> tick_function);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  /// Stops the thread. Returns after the last call of the function has ended.
  void stop();

 private:
  void run();
  void tick();

  const std::string name_;
  const std::chrono::milliseconds interval_;
  Log& log_;
  const std::function<void()> tick_function_;
  base::Mutex mutex_;
  base::Condition stopping_changed_;
  bool stopping_ SNUG_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace snug::service
