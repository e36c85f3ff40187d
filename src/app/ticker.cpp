#include "app/ticker.hpp"

#include <pthread.h>

#include <exception>
#include <utility>

namespace snug {
namespace {

constexpr std::size_t kMostNameBytes = 15;  // of a thread, on Linux

}  // namespace

Ticker::Ticker(std::string name, std::chrono::milliseconds every, Log& log,
               std::function<void()> what)
    : name_(std::move(name)), every_(every), log_(log), what_(std::move(what)), thread_([this] {
        run();
      }) {
  pthread_setname_np(thread_.native_handle(), ("snug-" + name_).substr(0, kMostNameBytes).c_str());
}

Ticker::~Ticker() { stop(); }

void Ticker::run() {
  MutexLock lock(mutex_);
  const auto stopping = [this]() SNUG_REQUIRES(mutex_) { return stopping_; };
  while (!wake_.wait_for(mutex_, every_, stopping)) {
    lock.unlock();
    tick();
    lock.lock();
  }
}

void Ticker::tick() {
  std::string problem;
  try {
    return what_();
  } catch (const std::exception& thrown) {
    problem = thrown.what();
  } catch (...) {
    problem = "an unknown exception";
  }
  log_.write(LogLevel::kError, "a tick of the " + name_ + " failed: " + problem);
}

void Ticker::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace snug
