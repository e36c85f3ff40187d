#include "app/policy_file.hpp"

#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <utility>

#include "snug/codec/policy_codec.hpp"
#include "snug/config/files.hpp"

namespace snug::app {
namespace {

/// Parses a policy. `policy_source` is its name in error messages.
base::Result<service::LoadedPolicy> parse_policy(service::PolicyText policy_text,
                                                 std::string_view policy_source,
                                                 const base::Limits& limits) {
  base::Result<score::Policy> policy = codec::read_policy(policy_text.yaml, policy_source, limits);
  if (!policy) return std::unexpected(policy.error());
  return service::LoadedPolicy{
      .policy = std::make_shared<const score::Policy>(*std::move(policy)),
      .text = std::make_shared<const service::PolicyText>(std::move(policy_text))};
}

}  // namespace

PolicyFile::PolicyFile(std::string path, const Context& context)
    : path_(std::move(path)), context_(context), last_poll_(context.clock.now()) {}

base::Result<service::LoadedPolicy> PolicyFile::open() {
  if (path_.empty()) {
    return parse_policy({.yaml = std::string(codec::default_policy_yaml())}, "the default policy",
                        context_.limits);
  }
  const base::MutexLock lock(mutex_);
  stamp_ = stamp();
  from_pipe_ = !stamp_.regular;
  is_settled_ = false;
  base::Result<std::string> policy_text =
      config::read_file(path_, context_.limits.max_config_bytes);
  if (!policy_text) return std::unexpected(policy_text.error());
  last_text_or_error_ = *std::move(policy_text);
  return parse_policy({path_, last_text_or_error_}, path_, context_.limits);
}

void PolicyFile::attach_store(service::PolicyStore& policy_store, std::function<void()> on_change) {
  const base::MutexLock lock(mutex_);
  policy_store_ = &policy_store;
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
  struct stat file_status{};
  if (::stat(path_.c_str(), &file_status) != 0) return {};
  return {.device = file_status.st_dev,
          .inode = file_status.st_ino,
          .size = file_status.st_size,
          .seconds = file_status.st_mtim.tv_sec,
          .nanoseconds = file_status.st_mtim.tv_nsec,
          .regular = S_ISREG(file_status.st_mode)};
}

base::Result<std::string> PolicyFile::read_policy_text() const {
  // A read from a pipe would block this thread, which may be the ticker, until a process writes to
  // it.
  if (!stamp_.regular && stamp_ != Stamp{}) {
    return base::fail(base::ErrorCode::kInvalid,
                      path_ + ": is not a regular file, so it is not reloaded");
  }
  return config::read_file(path_, context_.limits.max_config_bytes);
}

/// Reads the file if its attributes have changed since the last read, if the last read followed a
/// change (see is_settled_), or if `forced` is kYes. Applies the text if it is new or `forced` is
/// kYes.
void PolicyFile::reread(Forced forced) {
  const Stamp current_stamp = stamp();
  const bool stamp_changed = current_stamp != stamp_;
  if (current_stamp.regular) from_pipe_ = false;
  if (forced == Forced::kNo && (from_pipe_ || (!stamp_changed && is_settled_))) return;
  stamp_ = current_stamp;
  is_settled_ = !stamp_changed;
  const base::Result<std::string> policy_text = read_policy_text();
  const std::string& text_or_error = policy_text ? *policy_text : policy_text.error().message;
  if (text_or_error == last_text_or_error_ && forced == Forced::kNo) return;
  last_text_or_error_ = text_or_error;
  apply_policy(policy_text);
}

void PolicyFile::apply_policy(const base::Result<std::string>& policy_text) {
  if (!policy_text) return keep_last_policy(policy_text.error());
  base::Result<service::LoadedPolicy> policy =
      parse_policy({path_, *policy_text}, path_, context_.limits);
  if (!policy) return keep_last_policy(policy.error());
  const std::string policy_summary = codec::summary_of(*policy->policy);
  if (policy_store_ != nullptr) policy_store_->replace(*std::move(policy));
  context_.metrics.policy_reloaded(true);
  context_.log.write(service::LogLevel::kInfo,
                     "the policy was reloaded from " + path_ + ": " + policy_summary);
  if (on_change_) on_change_();
}

void PolicyFile::keep_last_policy(const base::Error& policy_error) {
  context_.metrics.policy_reloaded(false);
  context_.log.write(service::LogLevel::kError,
                     "the policy could not be reloaded; the last valid policy stays in force: " +
                         policy_error.message);
}

}  // namespace snug::app
