// A thread that calls one function again and again until it is stopped.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace snug {

class Ticker {
 public:
  Ticker(std::chrono::milliseconds every, std::function<void()> what);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  /// Returns when the function runs no more.
  void stop();

 private:
  std::chrono::milliseconds every_;
  std::function<void()> what_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace snug
