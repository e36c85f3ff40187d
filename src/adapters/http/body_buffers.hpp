// A pool of buffers for request bodies; each buffer is lent to one request. The memory for parsing
// a body is many times its size, so the total size of the bodies in use is limited
// (maxBodyBytesAtOnce). A body that would exceed the limit waits up to body_wait_ms. If there is
// still no room, it is refused without having been read. Small bodies neither wait nor count
// towards the limit, so that large bodies do not delay binds. If no other large body is in use, a
// large body of any size is admitted.
//
// Thread-safe. The pool must outlive the buffers that it lends.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"

namespace snug::http {

class BodyBuffers {
 public:
  /// Largest size of a small body, in bytes. If each thread of the extender port holds one small
  /// body, they take 6 MiB in all with the default limits.
  static constexpr std::size_t kSmallBody = 16'384;

  /// acquire() calls `on_wait` each time before it waits for room.
  explicit BodyBuffers(const base::Limits& limits, std::function<void()> on_wait = [] {});

  class Buffer {
   public:
    Buffer(BodyBuffers& owner, std::size_t body_size) : owner_(owner), body_size_(body_size) {}
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    /// The buffer: initially empty, with capacity for the body and for the parser's padding.
    std::string& text() { return text_; }

   private:
    BodyBuffers& owner_;
    std::size_t body_size_;
    std::string text_;
  };

  /// Lends a buffer for a body of `body_size` bytes. May wait up to body_wait_ms. Null: the body is
  /// refused.
  [[nodiscard]] std::shared_ptr<Buffer> acquire(std::size_t body_size);
  /// Refuses all waiting bodies and, from now on, each body that would have to wait.
  void close();
  /// Returns the number of bodies that wait for room.
  [[nodiscard]] std::size_t waiting() const;

 private:
  [[nodiscard]] bool has_room(std::size_t body_size) const SNUG_REQUIRES(mutex_);
  [[nodiscard]] bool wait_for_memory(std::size_t body_size) SNUG_REQUIRES(mutex_);
  void release(std::size_t body_size, std::string buffer);

  const std::size_t max_bytes_;
  const std::chrono::milliseconds max_wait_;
  const std::function<void()> on_wait_;
  mutable base::Mutex mutex_;
  base::Condition memory_freed_;
  std::size_t acquired_bytes_ SNUG_GUARDED_BY(mutex_) = 0;  // total size of the large bodies
  std::size_t waiting_bodies_ SNUG_GUARDED_BY(mutex_) = 0;
  bool closed_ SNUG_GUARDED_BY(mutex_) = false;
  std::vector<std::string> idle_buffers_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::http
