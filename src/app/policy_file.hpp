// The policy file of a running program: read at the start, and again when it changes or when
// somebody asks. A file that cannot be used changes nothing: the last good policy stays, and the
// log, a counter and a gauge say so.
//
// A change shows in the file's device, inode, size or time of change, symbolic links followed: a
// ConfigMap's volume swaps a link to a folder above the file, which then has another inode.
// Thread-safe: poll() and reload() may meet.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/service/policy_store.hpp"
#include "snug/service/ports.hpp"

namespace snug {

class PolicyFile {
 public:
  /// What it works with; all outlive it.
  struct Context {
    const Limits& limits;
    Metrics& metrics;
    Log& log;
    const Clock& clock;
  };

  /// `path` is empty where no file is named: then the policy that is compiled in stays.
  PolicyFile(std::string path, const Context& context);

  /// The first policy. Errors are kInvalid or kTooLarge.
  [[nodiscard]] Result<PolicyPtr> open();

  /// From now on each further policy goes to `store`, and then `on_change`, which may be empty and
  /// must not call back, is called. Before any poll().
  void feed(PolicyStore& store, std::function<void()> on_change);

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
  enum class Asked : std::uint8_t { kNo, kYes };

  [[nodiscard]] Stamp stamp() const;
  [[nodiscard]] Result<std::string> read() const;
  void read_again(Asked asked);
  void use(const Result<std::string>& text);
  void refuse(const Error& error);

  const std::string path_;
  const Context context_;
  std::mutex mutex_;
  // All guarded by mutex_.
  PolicyStore* store_ = nullptr;
  std::function<void()> on_change_;
  TimePoint looked_;
  bool piped_ = false;  // what came from a pipe at the start is all that there is
  Stamp stamp_;         // taken before the file was read, so that a change in between shows
  bool settled_ =
      true;           // false: written so lately that a later write may have left stamp_ as it is
  std::string seen_;  // the text that was read last, or why there was none
};

}  // namespace snug
