// A thread that calls one function again and again until it is stopped. An exception of the
// function is logged, and the function is called again when it is due.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "snug/base/mutex.hpp"
#include "snug/service/ports.hpp"

namespace snug {

class Ticker {
 public:
  /// `name` is what the log calls the ticks; the log outlives stop().
  Ticker(std::string name, std::chrono::milliseconds every, Log& log, std::function<void()> what);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  /// Returns when the function runs no more.
  void stop();

 private:
  void run();
  void tick();

  const std::string name_;
  const std::chrono::milliseconds every_;
  Log& log_;
  const std::function<void()> what_;
  Mutex mutex_;
  Condition wake_;
  bool stopping_ SNUG_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace snug
