// Parsers with their buffers, lent to one call each. Few are kept for the next calls, and none of
// them keeps what a large body took. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "snug/codec/extender_codec.hpp"
#include "snug/service/extender_service.hpp"

namespace snug {

class ExtenderService::Readers {
 public:
  explicit Readers(const Limits& limits) : limits_(limits) {}

  class Lent {
   public:
    explicit Lent(Readers& owner) : owner_(owner), reader_(owner.take()) {}
    ~Lent() { owner_.give_back(std::move(reader_)); }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    ExtenderReader* operator->() { return reader_.get(); }

   private:
    Readers& owner_;
    std::unique_ptr<ExtenderReader> reader_;
  };

 private:
  std::unique_ptr<ExtenderReader> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<ExtenderReader>(limits_);
    auto reader = std::move(idle_.back());
    idle_.pop_back();
    return reader;
  }
  void give_back(std::unique_ptr<ExtenderReader> reader) {
    reader->trim();
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kKeptBuffers) idle_.push_back(std::move(reader));
  }

  Limits limits_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ExtenderReader>> idle_;
};

/// The status of a reply about a body that could not be read.
inline int status_of(const Error& error) { return error.code == ErrorCode::kTooLarge ? 413 : 400; }

}  // namespace snug
