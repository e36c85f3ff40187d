// The policy file of a running program: read at the start, and again when it changes or on
// request. An invalid file has no effect: the last valid policy stays in force, and the log, a
// counter and a gauge report it.
//
// A change shows in the file's device, inode, size or time of change, symbolic links followed: a
// ConfigMap's volume swaps a link to a folder above the file, which then has another inode.
// Thread-safe: poll() and reload() may meet.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/base/result.hpp"
#include "snug/service/policy_store.hpp"
#include "snug/service/ports.hpp"

namespace snug::app {

class PolicyFile {
 public:
  /// Everything here must outlive the PolicyFile.
  struct Context {
    const base::Limits& limits;
    service::Metrics& metrics;
    service::Log& log;
    const base::Clock& clock;
  };

  /// `path` is empty where no file is named: then the policy that is compiled in stays.
  PolicyFile(std::string path, const Context& context);

  /// The first policy. Errors are kInvalid or kTooLarge.
  [[nodiscard]] base::Result<score::PolicyPtr> open();

  /// From now on each further policy goes to `store`, and then `on_change`, which may be empty and
  /// must not call back, is called. Before any poll().
  void attach_store(service::PolicyStore& store, std::function<void()> on_change);

  /// Reads the file again if it changed; looks no more often than every policy_reread_ms.
  void poll();
  /// Reads the file again now, and says what came of it even where nothing did.
  void reload();

 private:
  /// Which file it was, and in which state.
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    bool regular = false;  // false too where there is none

    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  enum class Forced : std::uint8_t { kNo, kYes };

  [[nodiscard]] Stamp stamp() const;
  [[nodiscard]] base::Result<std::string> read() const SNUG_REQUIRES(mutex_);
  void reread(Forced asked) SNUG_REQUIRES(mutex_);
  void apply(const base::Result<std::string>& text) SNUG_REQUIRES(mutex_);
  void keep_last_good(const base::Error& error);

  const std::string path_;
  const Context context_;
  base::Mutex mutex_;
  service::PolicyStore* store_ SNUG_GUARDED_BY(mutex_) = nullptr;
  std::function<void()> on_change_ SNUG_GUARDED_BY(mutex_);
  base::TimePoint last_poll_ SNUG_GUARDED_BY(mutex_);
  /// The policy came from a pipe at the start, which cannot be read again.
  bool from_pipe_ SNUG_GUARDED_BY(mutex_) = false;
  /// Taken before the file was read, so that a change in between shows.
  Stamp stamp_ SNUG_GUARDED_BY(mutex_);
  /// False: written so lately that a later write may have left `stamp_` as it is.
  bool is_settled_ SNUG_GUARDED_BY(mutex_) = true;
  /// The text that was read last, or the error of that read.
  std::string last_seen_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::app
