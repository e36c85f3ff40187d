#include "adapters/http/body_buffers.hpp"

#include <utility>

namespace snug::http {
namespace {

/// Spare capacity after a body, in bytes. The JSON parser needs it to parse the body without a
/// copy.
constexpr std::size_t kParserPadding = 64;

/// Returns by how many bytes a body of `body_size` bytes counts towards maxBodyBytesAtOnce.
std::size_t counted_bytes(std::size_t body_size) {
  return body_size > BodyBuffers::kSmallBody ? body_size : 0;
}

}  // namespace

BodyBuffers::Buffer::~Buffer() { owner_.release(body_size_, std::move(text_)); }

BodyBuffers::BodyBuffers(const base::Limits& limits, std::function<void()> on_wait)
    : max_bytes_(static_cast<std::size_t>(limits.max_body_bytes_at_once)),
      max_wait_(limits.body_wait_ms),
      on_wait_(std::move(on_wait)) {}

std::shared_ptr<BodyBuffers::Buffer> BodyBuffers::acquire(std::size_t body_size) {
  std::shared_ptr<Buffer> lent_buffer;
  {
    const base::MutexLock lock(mutex_);
    if (!wait_for_memory(body_size)) return nullptr;
    lent_buffer = std::make_shared<Buffer>(*this, body_size);
    acquired_bytes_ += counted_bytes(body_size);
    if (!idle_buffers_.empty()) {
      lent_buffer->text() = std::move(idle_buffers_.back());
      idle_buffers_.pop_back();
    }
  }
  lent_buffer->text().clear();
  lent_buffer->text().reserve(body_size + kParserPadding);
  return lent_buffer;
}

bool BodyBuffers::has_room(std::size_t body_size) const {
  return acquired_bytes_ == 0 || acquired_bytes_ + body_size <= max_bytes_;
}

bool BodyBuffers::wait_for_memory(std::size_t body_size) {
  if (counted_bytes(body_size) == 0 || has_room(body_size)) return true;
  ++waiting_bodies_;
  on_wait_();
  memory_freed_.wait_for(mutex_, max_wait_, [this, body_size]() SNUG_REQUIRES(mutex_) {
    return closed_ || has_room(body_size);
  });
  --waiting_bodies_;
  return has_room(body_size);
}

void BodyBuffers::release(std::size_t body_size, std::string buffer) {
  const base::MutexLock lock(mutex_);
  acquired_bytes_ -= counted_bytes(body_size);
  if (buffer.capacity() <= base::kMaxPooledBufferBytes &&
      idle_buffers_.size() < base::kMaxPooledBuffers) {
    idle_buffers_.push_back(std::move(buffer));
  }
  memory_freed_.notify_all();
}

void BodyBuffers::close() {
  const base::MutexLock lock(mutex_);
  closed_ = true;
  memory_freed_.notify_all();
}

std::size_t BodyBuffers::waiting() const {
  const base::MutexLock lock(mutex_);
  return waiting_bodies_;
}

}  // namespace snug::http
