#include "app/policy_file.hpp"

#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <utility>

#include "snug/codec/policy_codec.hpp"
#include "snug/config/files.hpp"

namespace snug {
namespace {

Result<PolicyPtr> parse(std::string_view text, std::string_view source, const Limits& limits) {
  Result<Policy> policy = read_policy(text, source, limits);
  if (!policy) return std::unexpected(policy.error());
  return std::make_shared<const Policy>(*std::move(policy));
}

}  // namespace

PolicyFile::PolicyFile(std::string path, const Context& context)
    : path_(std::move(path)), context_(context), looked_(context.clock.now()) {}

Result<PolicyPtr> PolicyFile::open() {
  if (path_.empty()) return parse(default_policy_yaml(), "the default policy", context_.limits);
  const std::lock_guard lock(mutex_);
  stamp_ = stamp();
  piped_ = !stamp_.regular;
  settled_ = false;
  Result<std::string> text = read_file(path_, context_.limits.max_config_bytes);
  if (!text) return std::unexpected(text.error());
  seen_ = *std::move(text);
  return parse(seen_, path_, context_.limits);
}

void PolicyFile::feed(PolicyStore& store, std::function<void()> on_change) {
  const std::lock_guard lock(mutex_);
  store_ = &store;
  on_change_ = std::move(on_change);
}

void PolicyFile::poll() {
  if (path_.empty()) return;
  const std::lock_guard lock(mutex_);
  const TimePoint now = context_.clock.now();
  if (now - looked_ < std::chrono::milliseconds(context_.limits.policy_reread_ms)) return;
  looked_ = now;
  read_again(Asked::kNo);
}

void PolicyFile::reload() {
  if (path_.empty()) {
    context_.log.write(LogLevel::kWarn,
                       "there is no policy file to read again: none was named with --policy, and "
                       "the policy that is compiled in stays in force");
    return;
  }
  const std::lock_guard lock(mutex_);
  read_again(Asked::kYes);
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

Result<std::string> PolicyFile::read() const {
  // A pipe would keep its reader, and with it the ticker, until somebody writes.
  if (!stamp_.regular && stamp_ != Stamp{}) {
    return fail(ErrorCode::kInvalid, path_ + ": is no regular file, and so is not read again");
  }
  return read_file(path_, context_.limits.max_config_bytes);
}

/// A file's time moves in steps, so that two writes in one step look like one: after a change it is
/// read once more, at the next look.
void PolicyFile::read_again(Asked asked) {
  const Stamp now = stamp();
  const bool changed = now != stamp_;
  if (now.regular) piped_ = false;
  if (asked == Asked::kNo && (piped_ || (!changed && settled_))) return;
  stamp_ = now;
  settled_ = !changed;
  const Result<std::string> text = read();
  const std::string& seen = text ? *text : text.error().message;
  if (seen == seen_ && asked == Asked::kNo) return;
  seen_ = seen;
  use(text);
}

void PolicyFile::use(const Result<std::string>& text) {
  if (!text) return refuse(text.error());
  Result<PolicyPtr> policy = parse(*text, path_, context_.limits);
  if (!policy) return refuse(policy.error());
  const std::string summary = summary_of(**policy);
  if (store_ != nullptr) store_->replace(*std::move(policy));
  context_.metrics.policy_reloaded(true);
  context_.log.write(LogLevel::kInfo, "the policy is read again from " + path_ + ": " + summary);
  if (on_change_) on_change_();
}

void PolicyFile::refuse(const Error& error) {
  context_.metrics.policy_reloaded(false);
  context_.log.write(LogLevel::kError,
                     "the policy was not read again, and the last good one stays "
                     "in force: " +
                         error.message);
}

}  // namespace snug
