#include "adapters/http/body_buffers.hpp"

#include <utility>

namespace snug::http {
namespace {

/// Spare capacity after a body, in bytes. The JSON parser needs it to parse the body without a
/// copy.
constexpr std::size_t kParserPadding = 64;

/// Returns by how many bytes a body of `size` bytes counts towards maxBodyBytesAtOnce.
std::size_t counted_bytes(std::size_t size) { return size > BodyBuffers::kSmallBody ? size : 0; }

}  // namespace

BodyBuffers::Buffer::~Buffer() { owner_.release(size_, std::move(text_)); }

BodyBuffers::BodyBuffers(const base::Limits& limits, std::function<void()> on_wait)
    : max_bytes_(static_cast<std::size_t>(limits.max_body_bytes_at_once)),
      max_wait_(limits.body_wait_ms),
      on_wait_(std::move(on_wait)) {}

std::shared_ptr<BodyBuffers::Buffer> BodyBuffers::acquire(std::size_t size) {
  std::shared_ptr<Buffer> lent;
  {
    const base::MutexLock lock(mutex_);
    if (!wait_for_memory(size)) return nullptr;
    lent = std::make_shared<Buffer>(*this, size);
    acquired_bytes_ += counted_bytes(size);
    if (!idle_.empty()) {
      lent->text() = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  lent->text().clear();
  lent->text().reserve(size + kParserPadding);
  return lent;
}

bool BodyBuffers::has_room(std::size_t size) const {
  return acquired_bytes_ == 0 || acquired_bytes_ + size <= max_bytes_;
}

bool BodyBuffers::wait_for_memory(std::size_t size) {
  if (counted_bytes(size) == 0 || has_room(size)) return true;
  ++waiting_;
  on_wait_();
  memory_freed_.wait_for(mutex_, max_wait_, [this, size]() SNUG_REQUIRES(mutex_) {
    return closed_ || has_room(size);
  });
  --waiting_;
  return has_room(size);
}

void BodyBuffers::release(std::size_t size, std::string buffer) {
  const base::MutexLock lock(mutex_);
  acquired_bytes_ -= counted_bytes(size);
  if (buffer.capacity() <= base::kMaxPooledBufferBytes && idle_.size() < base::kMaxPooledBuffers) {
    idle_.push_back(std::move(buffer));
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
  return waiting_;
}

}  // namespace snug::http
