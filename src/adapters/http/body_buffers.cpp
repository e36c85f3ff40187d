#include "adapters/http/body_buffers.hpp"

#include <utility>

namespace snug {
namespace {

/// Spare capacity, so that the parser need not copy the body.
constexpr std::size_t kSpare = 64;

/// How much of maxBodyBytesAtOnce a body of this size takes.
std::size_t counted(std::size_t size) { return size > BodyBuffers::kSmallBody ? size : 0; }

}  // namespace

BodyBuffers::Lent::~Lent() { owner_.give_back(size_, std::move(text_)); }

BodyBuffers::BodyBuffers(const Limits& limits, std::function<void()> on_wait)
    : most_(static_cast<std::size_t>(limits.max_body_bytes_at_once)),
      patience_(limits.body_wait_ms),
      on_wait_(std::move(on_wait)) {}

std::shared_ptr<BodyBuffers::Lent> BodyBuffers::lend(std::size_t size) {
  std::shared_ptr<Lent> lent;
  {
    const MutexLock lock(mutex_);
    if (!wait_for_room(size)) return nullptr;
    lent = std::make_shared<Lent>(*this, size);
    lent_ += counted(size);
    if (!idle_.empty()) {
      lent->text() = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  lent->text().clear();
  lent->text().reserve(size + kSpare);
  return lent;
}

bool BodyBuffers::has_room(std::size_t size) const { return lent_ == 0 || lent_ + size <= most_; }

bool BodyBuffers::wait_for_room(std::size_t size) {
  if (counted(size) == 0 || has_room(size)) return true;
  ++waiting_;
  on_wait_();
  room_came_.wait_for(mutex_, patience_,
                      [this, size]() SNUG_REQUIRES(mutex_) { return closed_ || has_room(size); });
  --waiting_;
  return has_room(size);
}

void BodyBuffers::give_back(std::size_t size, std::string buffer) {
  const MutexLock lock(mutex_);
  lent_ -= counted(size);
  if (buffer.capacity() <= kKeptBytes && idle_.size() < kKeptBuffers) {
    idle_.push_back(std::move(buffer));
  }
  room_came_.notify_all();
}

void BodyBuffers::close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  room_came_.notify_all();
}

std::size_t BodyBuffers::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_;
}

}  // namespace snug
