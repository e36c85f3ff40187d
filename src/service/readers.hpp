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
    explicit Lent(Readers& readers) : readers_(readers), reader_(readers.take_reader()) {}
    ~Lent() { readers_.give_back_reader(std::move(reader_)); }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    codec::ExtenderReader* operator->() { return reader_.get(); }

   private:
    Readers& readers_;
    std::unique_ptr<codec::ExtenderReader> reader_;
  };

 private:
  std::unique_ptr<codec::ExtenderReader> take_reader() {
    const base::MutexLock lock(mutex_);
    if (idle_readers_.empty()) return std::make_unique<codec::ExtenderReader>(limits_);
    auto reader = std::move(idle_readers_.back());
    idle_readers_.pop_back();
    return reader;
  }
  void give_back_reader(std::unique_ptr<codec::ExtenderReader> reader) {
    reader->trim();
    const base::MutexLock lock(mutex_);
    if (idle_readers_.size() < base::kMaxPooledBuffers) idle_readers_.push_back(std::move(reader));
  }

  const base::Limits limits_;
  base::Mutex mutex_;
  std::vector<std::unique_ptr<codec::ExtenderReader>> idle_readers_ SNUG_GUARDED_BY(mutex_);
};

/// The HTTP status for a body that could not be read.
inline int status_of(const base::Error& error) {
  return error.code == base::ErrorCode::kTooLarge ? 413 : 400;
}

}  // namespace snug::service
