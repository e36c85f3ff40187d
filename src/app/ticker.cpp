#include "app/ticker.hpp"

#include <pthread.h>

#include <exception>
#include <utility>

namespace snug::app {
namespace {

constexpr std::size_t kMaxNameBytes = 15;  // maximum length of a thread's name on Linux

}  // namespace

Ticker::Ticker(std::string name, std::chrono::milliseconds every, service::Log& log,
               std::function<void()> what)
    : name_(std::move(name)),
      interval_(every),
      log_(log),
      function_(std::move(what)),
      thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), ("snug-" + name_).substr(0, kMaxNameBytes).c_str());
}

Ticker::~Ticker() { stop(); }

void Ticker::run() {
  base::MutexLock lock(mutex_);
  const auto stopping = [this]() SNUG_REQUIRES(mutex_) { return stopping_; };
  while (!wake_.wait_for(mutex_, interval_, stopping)) {
    lock.unlock();
    tick();
    lock.lock();
  }
}

void Ticker::tick() {
  std::string problem;
  try {
    return function_();
  } catch (const std::exception& thrown) {
    problem = thrown.what();
  } catch (...) {
    problem = "an unknown exception";
  }
  log_.write(service::LogLevel::kError, "a tick of the " + name_ + " failed: " + problem);
}

void Ticker::stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace snug::app
