// A pool of parsers, each with its buffer. Each parser serves one call at a time. The pool keeps at
// most kMaxPooledBuffers idle parsers, and trims their buffers. Thread-safe.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "snug/base/mutex.hpp"
#include "snug/codec/extender_codec.hpp"
#include "snug/service/extender_service.hpp"

namespace snug::service {

class ExtenderService::Readers {
 public:
  explicit Readers(const base::Limits& limits) : limits_(limits) {}

  class Lent {
   public:
    explicit Lent(Readers& owner) : owner_(owner), reader_(owner.take()) {}
    ~Lent() { owner_.give_back(std::move(reader_)); }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    codec::ExtenderReader* operator->() { return reader_.get(); }

   private:
    Readers& owner_;
    std::unique_ptr<codec::ExtenderReader> reader_;
  };

 private:
  std::unique_ptr<codec::ExtenderReader> take() {
    const base::MutexLock lock(mutex_);
    if (idle_.empty()) return std::make_unique<codec::ExtenderReader>(limits_);
    auto reader = std::move(idle_.back());
    idle_.pop_back();
    return reader;
  }
  void give_back(std::unique_ptr<codec::ExtenderReader> reader) {
    reader->trim();
    const base::MutexLock lock(mutex_);
    if (idle_.size() < base::kMaxPooledBuffers) idle_.push_back(std::move(reader));
  }

  const base::Limits limits_;
  base::Mutex mutex_;
  std::vector<std::unique_ptr<codec::ExtenderReader>> idle_ SNUG_GUARDED_BY(mutex_);
};

/// The HTTP status for a body that could not be read.
inline int status_of(const base::Error& error) {
  return error.code == base::ErrorCode::kTooLarge ? 413 : 400;
}

}  // namespace snug::service
