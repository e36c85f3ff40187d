#include "app/ticker.hpp"

#include <pthread.h>

#include <utility>

namespace snug {

Ticker::Ticker(std::chrono::milliseconds every, std::function<void()> what)
    : every_(every), what_(std::move(what)), thread_([this] {
        std::unique_lock lock(mutex_);
        while (!wake_.wait_for(lock, every_, [this] { return stopping_; })) {
          lock.unlock();
          what_();
          lock.lock();
        }
      }) {
  pthread_setname_np(thread_.native_handle(), "snug-ticker");
}

Ticker::~Ticker() { stop(); }

void Ticker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace snug
