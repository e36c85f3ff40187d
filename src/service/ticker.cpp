#include "snug/service/ticker.hpp"

#include <pthread.h>

#include <exception>
#include <utility>

namespace snug::service {
namespace {

constexpr std::size_t kMaxThreadNameBytes = 15;  // maximum length of a thread's name on Linux

}  // namespace

Ticker::Ticker(std::string name, std::chrono::milliseconds interval, Log& log,
               std::function<void()> tick_function)
    : name_(std::move(name)),
      interval_(interval),
      log_(log),
      tick_function_(std::move(tick_function)),
      thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(),
                     ("snug-" + name_).substr(0, kMaxThreadNameBytes).c_str());
}

Ticker::~Ticker() { stop(); }

void Ticker::run() {
  base::MutexLock lock(mutex_);
  const auto is_stopping = [this]() SNUG_REQUIRES(mutex_) { return stopping_; };
  while (!stopping_changed_.wait_for(mutex_, interval_, is_stopping)) {
    lock.unlock();
    tick();
    lock.lock();
  }
}

void Ticker::tick() {
  std::string exception_text;
  try {
    return tick_function_();
  } catch (const std::exception& exception) {
    exception_text = exception.what();
  } catch (...) {
    exception_text = "an unknown exception";
  }
  log_.write(LogLevel::kError, "a tick of the " + name_ + " failed: " + exception_text);
}

void Ticker::stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  stopping_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace snug::service
