#include "app/policy_file.hpp"

#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <utility>

#include "snug/codec/policy_codec.hpp"
#include "snug/config/files.hpp"

namespace snug::app {
namespace {

base::Result<score::PolicyPtr> parse(std::string_view text, std::string_view source,
                                     const base::Limits& limits) {
  base::Result<score::Policy> policy = codec::read_policy(text, source, limits);
  if (!policy) return std::unexpected(policy.error());
  return std::make_shared<const score::Policy>(*std::move(policy));
}

}  // namespace

PolicyFile::PolicyFile(std::string path, const Context& context)
    : path_(std::move(path)), context_(context), last_poll_(context.clock.now()) {}

base::Result<score::PolicyPtr> PolicyFile::open() {
  if (path_.empty())
    return parse(codec::default_policy_yaml(), "the default policy", context_.limits);
  const base::MutexLock lock(mutex_);
  stamp_ = stamp();
  from_pipe_ = !stamp_.regular;
  is_settled_ = false;
  base::Result<std::string> text = config::read_file(path_, context_.limits.max_config_bytes);
  if (!text) return std::unexpected(text.error());
  last_seen_ = *std::move(text);
  return parse(last_seen_, path_, context_.limits);
}

void PolicyFile::attach_store(service::PolicyStore& store, std::function<void()> on_change) {
  const base::MutexLock lock(mutex_);
  store_ = &store;
  on_change_ = std::move(on_change);
}

void PolicyFile::poll() {
  if (path_.empty()) return;
  const base::MutexLock lock(mutex_);
  const base::TimePoint now = context_.clock.now();
  if (now - last_poll_ < std::chrono::milliseconds(context_.limits.policy_reread_ms)) return;
  last_poll_ = now;
  reread(Forced::kNo);
}

void PolicyFile::reload() {
  if (path_.empty()) {
    context_.log.write(service::LogLevel::kWarn,
                       "there is no policy file to reload: --policy is not set, and the built-in "
                       "policy stays in force");
    return;
  }
  const base::MutexLock lock(mutex_);
  reread(Forced::kYes);
}

PolicyFile::Stamp PolicyFile::stamp() const {
  struct stat found{};
  if (::stat(path_.c_str(), &found) != 0) return {};
  return {.device = found.st_dev,
          .inode = found.st_ino,
          .size = found.st_size,
          .seconds = found.st_mtim.tv_sec,
          .nanoseconds = found.st_mtim.tv_nsec,
          .regular = S_ISREG(found.st_mode)};
}

base::Result<std::string> PolicyFile::read() const {
  // A read from a pipe would block this thread, which may be the ticker, until a process writes to
  // it.
  if (!stamp_.regular && stamp_ != Stamp{}) {
    return base::fail(base::ErrorCode::kInvalid,
                      path_ + ": is not a regular file, so it is not reloaded");
  }
  return config::read_file(path_, context_.limits.max_config_bytes);
}

/// Reads the file if its attributes have changed since the last read, if the last read followed a
/// change (see is_settled_), or if `asked` is kYes. Applies the text if it is new or `asked` is
/// kYes.
void PolicyFile::reread(Forced asked) {
  const Stamp now = stamp();
  const bool changed = now != stamp_;
  if (now.regular) from_pipe_ = false;
  if (asked == Forced::kNo && (from_pipe_ || (!changed && is_settled_))) return;
  stamp_ = now;
  is_settled_ = !changed;
  const base::Result<std::string> text = read();
  const std::string& seen = text ? *text : text.error().message;
  if (seen == last_seen_ && asked == Forced::kNo) return;
  last_seen_ = seen;
  apply(text);
}

void PolicyFile::apply(const base::Result<std::string>& text) {
  if (!text) return keep_last_good(text.error());
  base::Result<score::PolicyPtr> policy = parse(*text, path_, context_.limits);
  if (!policy) return keep_last_good(policy.error());
  const std::string summary = codec::summary_of(**policy);
  if (store_ != nullptr) store_->replace(*std::move(policy));
  context_.metrics.policy_reloaded(true);
  context_.log.write(service::LogLevel::kInfo,
                     "the policy was reloaded from " + path_ + ": " + summary);
  if (on_change_) on_change_();
}

void PolicyFile::keep_last_good(const base::Error& error) {
  context_.metrics.policy_reloaded(false);
  context_.log.write(
      service::LogLevel::kError,
      "the policy could not be reloaded; the last valid policy stays in force: " + error.message);
}

}  // namespace snug::app
