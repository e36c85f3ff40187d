// Buffers for request bodies, each lent to one request. A body costs many times its size while it
// is parsed, so that what all of them may hold at once is bounded: a body that finds no room waits
// a little, and is then refused before any of it is read. A lone body always has room, and a small
// one neither waits nor counts, so that binds pass while large bodies come in.
//
// Thread-safe. Outlives what it lends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "snug/base/limits.hpp"

namespace snug {

class BodyBuffers {
 public:
  /// Up to here a body is small. All connections together have a few MiB of them.
  static constexpr std::size_t kSmallBody = 16'384;

  explicit BodyBuffers(const Limits& limits);

  class Lent {
   public:
    Lent(BodyBuffers& owner, std::size_t size) : owner_(owner), size_(size) {}
    ~Lent();
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    /// Empty at first, with room for the body and for the parser's padding.
    std::string& text() { return text_; }

   private:
    BodyBuffers& owner_;
    std::size_t size_;
    std::string text_;
  };

  /// For a body of so many bytes. Null: there was no room in time.
  [[nodiscard]] std::shared_ptr<Lent> lend(std::size_t size);
  /// Who waits is refused at once, and so is whoever would have to wait from now on.
  void close();
  /// How many wait for room.
  [[nodiscard]] std::size_t waiting() const;

 private:
  [[nodiscard]] bool wait_for_room(std::unique_lock<std::mutex>& lock, std::size_t size);
  void give_back(std::size_t size, std::string buffer);

  const std::size_t most_;
  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::condition_variable room_came_;
  std::size_t lent_ = 0;           // guarded by mutex_: bytes
  std::size_t waiting_ = 0;        // guarded by mutex_
  bool closed_ = false;            // guarded by mutex_
  std::vector<std::string> idle_;  // guarded by mutex_
};

}  // namespace snug
