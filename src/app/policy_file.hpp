// The policy file of a running program. It is read at the start, after each change, and on request.
// If the file is invalid, the last valid policy stays in force, and the log, a counter and a gauge
// report the failure.
//
// A change is detected by the file's device, inode, size and modification time. Symbolic links are
// followed: to update a ConfigMap's volume, the kubelet replaces a link to a directory, and the
// path then leads to another inode. Thread-safe: poll() and reload() may run at the same time.
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
  /// The objects that a PolicyFile uses. They must outlive it.
  struct Context {
    const base::Limits& limits;
    service::Metrics& metrics;
    service::Log& log;
    const base::Clock& clock;
  };

  /// If `path` is empty, the built-in policy is used, and poll() and reload() change nothing.
  PolicyFile(std::string path, const Context& context);

  /// Reads and returns the first policy. An error is kInvalid or kTooLarge.
  [[nodiscard]] base::Result<service::LoadedPolicy> open();

  /// From this call on, each new policy replaces the one in `policy_store`; then `on_change` is
  /// called, unless it is empty. `on_change` must not call this object. Call attach_store() before
  /// poll() and reload().
  void attach_store(service::PolicyStore& policy_store, std::function<void()> on_change);

  /// Reloads the file if it has changed. Checks for a change at most once every policy_reread_ms.
  void poll();
  /// Reloads the file now, and logs the result even if the file has not changed.
  void reload();

 private:
  /// The attributes of the file by which a change is detected. All are 0 if there is no file.
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    bool regular = false;  // whether it is a regular file

    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  enum class Forced : std::uint8_t { kNo, kYes };

  [[nodiscard]] Stamp stamp() const;
  [[nodiscard]] base::Result<std::string> read_policy_text() const SNUG_REQUIRES(mutex_);
  void reread(Forced forced) SNUG_REQUIRES(mutex_);
  void apply_policy(const base::Result<std::string>& policy_text) SNUG_REQUIRES(mutex_);
  void keep_last_policy(const base::Error& policy_error);

  const std::string path_;
  const Context context_;
  base::Mutex mutex_;
  service::PolicyStore* policy_store_ SNUG_GUARDED_BY(mutex_) = nullptr;
  std::function<void()> on_change_ SNUG_GUARDED_BY(mutex_);
  base::TimePoint last_poll_ SNUG_GUARDED_BY(mutex_);
  /// True if the path did not name a regular file at the start (but a pipe, for example). poll()
  /// then reads it only after it has become a regular file.
  bool from_pipe_ SNUG_GUARDED_BY(mutex_) = false;
  /// The attributes that the file had before the last read, so that a change during the read is
  /// detected.
  Stamp stamp_ SNUG_GUARDED_BY(mutex_);
  /// False if the last read was the first one or followed a change. File systems store times with a
  /// coarse resolution, so a second write shortly after the first may leave the attributes
  /// unchanged. The next check therefore reads the file again.
  bool is_settled_ SNUG_GUARDED_BY(mutex_) = true;
  /// The result of the last read: the text, or the error message.
  std::string last_text_or_error_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::app
