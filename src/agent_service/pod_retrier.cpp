#include "snug/agent_service/pod_retrier.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "snug/agent/waiting_pods.hpp"

namespace snug::agent_service {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstWait{base::agent_limits::pod_retry_ms};
constexpr milliseconds kLongestWait{base::agent_limits::pod_retry_last_ms};
constexpr milliseconds kLate{base::agent_limits::pod_retry_late_ms};
constexpr milliseconds kLongestPause{base::agent_limits::pod_retry_pause_last_ms};

/// What the pod's annotation counts; 0 if it is absent or no number.
std::uint64_t shown_value(const agent::PodView& pod) {
  const auto found = pod.annotations.find(agent_codec::kRetryAnnotation);
  if (found == pod.annotations.end()) return 0;
  std::uint64_t value = 0;
  const std::string_view text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : 0;
}

}  // namespace

void PodRetrier::tick(base::TimePoint now) {
  if (const Generation generation = generation_; generation != current_) {
    current_ = generation;
    takes_until_ = now + kLate;
  }
  const bool takes_new = current_ != 0 && now <= takes_until_;
  if (!takes_new && !some_due_) return;
  ++scan_;
  bool may_retry = now >= paused_until_;
  std::int64_t retries = 0;
  for (const PodBook::PodRef& pod : pods_.pods()) {
    if (!agent::waits_for_agent(*pod)) continue;
    Waiting* waiting = due_pod(*pod, takes_new);
    if (waiting == nullptr || !may_retry || now < waiting->not_before) continue;
    may_retry = retries++ < base::agent_limits::max_pod_retries_at_once && rate_allows(now) &&
                retry(*pod, *waiting, now);
  }
  forget_others();
}

PodRetrier::Waiting* PodRetrier::due_pod(const agent::PodView& pod, bool takes_new) {
  auto found = waiting_.find(pod.uid);
  if (found == waiting_.end()) {
    if (!takes_new) return nullptr;
    found = waiting_.emplace(pod.uid, Waiting{}).first;
  }
  Waiting& waiting = found->second;
  waiting.scan = scan_;
  if (takes_new && std::exchange(waiting.generation, current_) != current_) waiting.due = true;
  return waiting.due ? &waiting : nullptr;
}

bool PodRetrier::rate_allows(base::TimePoint now) {
  while (!last_second_.empty() && now - last_second_.front() >= std::chrono::seconds(1))
    last_second_.pop_front();
  return std::ssize(last_second_) < base::agent_limits::max_pod_retries_per_s;
}

bool PodRetrier::retry(const agent::PodView& pod, Waiting& waiting, base::TimePoint now) {
  // A value that the annotation has already would change nothing.
  waiting.value = std::max(waiting.value, shown_value(pod)) + 1;
  waiting.not_before = now + waiting.wait;
  waiting.wait = std::min(2 * waiting.wait, kLongestWait);
  last_second_.push_back(now);
  const auto retried =
      waiting_pods_.retry(pod.name_space, pod.name, pod.uid, std::to_string(waiting.value));
  const auto fails_with = [&](base::ErrorCode code) {
    return !retried && retried.error().code == code;
  };
  const bool is_refused = fails_with(base::ErrorCode::kInvalid);
  waiting.due = !retried && !is_refused && !fails_with(base::ErrorCode::kNotFound);
  if (waiting.due || is_refused) {
    log_failure(retried.error());
  } else if (std::exchange(failing_, false)) {
    log_.write(service::LogLevel::kInfo, "waiting pods are retried again");
  }
  if (!waiting.due) {
    pause_ = kFirstWait;
    return true;
  }
  paused_until_ = now + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
  waiting.not_before = paused_until_ + waiting.wait;  // other pods come first
  return false;
}

void PodRetrier::log_failure(const base::Error& error) {
  if (std::exchange(failing_, true)) return;
  log_.write(service::LogLevel::kWarn,
             "a waiting pod cannot be retried, so it waits for the kubelet: " + error.message);
}

void PodRetrier::forget_others() {
  some_due_ = false;
  for (auto& [uid, waiting] : waiting_) {
    if (waiting.scan != scan_) waiting.due = false;
    some_due_ = some_due_ || waiting.due;
  }
  // A pod that waits no longer is remembered until the next generation, so that it is not retried
  // twice in this one.
  std::erase_if(waiting_, [this](const auto& entry) {
    return entry.second.scan != scan_ && entry.second.generation != current_;
  });
}

}  // namespace snug::agent_service
