#include "adapters/kube/event_writer.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>

#include "adapters/kube/reply_meaning.hpp"
#include "snug/base/limits.hpp"
#include "snug/codec/api_writes.hpp"
#include "snug/codec/object_names.hpp"

namespace snug::kube {
namespace {

std::string object_kind(model::ObjectKind kind) {
  switch (kind) {
    case model::ObjectKind::kPod:
      return "pod";
    case model::ObjectKind::kNode:
      return "node";
    case model::ObjectKind::kLease:
      break;
  }
  return "Lease";
}

std::string host_name() {
  std::array<char, 256> host_buffer{};
  if (::gethostname(host_buffer.data(), host_buffer.size() - 1) != 0 || host_buffer[0] == '\0')
    return "snug-extender";
  return host_buffer.data();
}

}  // namespace

EventWriter::EventWriter(ApiCaller& api_caller, const KubeOptions& options,
                         const KubeContext& context)
    : api_caller_(api_caller),
      metrics_(context.metrics),
      log_(context.log),
      clock_(context.clock),
      limits_(context.limits),
      reporting_host_(host_name()),
      // Event names must be unique, so two runs with the same seed must not produce the same names.
      event_name_random_(
          options.seed ^
          static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count())),
      backoff_(limits_, options.seed),
      writer_thread_([this] { write_queued_events(); }) {
  pthread_setname_np(writer_thread_.native_handle(), "snug-events");
}

EventWriter::~EventWriter() {
  {
    const base::MutexLock lock(mutex_);
    ending_ = true;
    queue_changed_.notify_all();
  }
  api_caller_.abort_all();
  writer_thread_.join();
}

bool EventWriter::notify(const model::Notice& notice) {
  std::string repeat_key = notice.uid;
  repeat_key.append("\n").append(notice.reason).append("\n").append(notice.note);
  const base::MutexLock lock(mutex_);
  forget_old_events();
  if (recent_event_keys_.contains(repeat_key)) return true;
  if (event_queue_.size() >= static_cast<std::size_t>(limits_.max_queued_events)) {
    metrics_.event_dropped();
    return false;
  }
  if (recent_events_.size() >= static_cast<std::size_t>(limits_.max_queued_events))
    forget_oldest_event();
  recent_events_.emplace_back(clock_.now(), repeat_key);
  recent_event_keys_.insert(std::move(repeat_key));
  event_queue_.push_back(notice);
  queue_changed_.notify_one();
  return true;
}

void EventWriter::forget_old_events() {
  const std::chrono::milliseconds repeat_window(limits_.event_repeat_ms);
  const base::TimePoint now = clock_.now();
  while (!recent_events_.empty() && now - recent_events_.front().first >= repeat_window)
    forget_oldest_event();
}

void EventWriter::forget_oldest_event() {
  recent_event_keys_.erase(recent_events_.front().second);
  recent_events_.pop_front();
}

void EventWriter::write_queued_events() {
  base::MutexLock lock(mutex_);
  while (true) {
    queue_changed_.wait(
        mutex_, [this]() SNUG_REQUIRES(mutex_) { return ending_ || !event_queue_.empty(); });
    if (ending_) return;
    const model::Notice next_notice = std::move(event_queue_.front());
    event_queue_.pop_front();
    lock.unlock();
    post_event(next_notice);
    lock.lock();
  }
}

void EventWriter::post_event(const model::Notice& notice) {
  // The API server takes events about objects without a namespace only in this one and kube-system.
  const std::string name_space = notice.name_space.empty() ? "default" : notice.name_space;
  auto names_valid = codec::check_object_name("namespace", name_space);
  if (names_valid) names_valid = codec::check_object_name(object_kind(notice.about), notice.name);
  if (!names_valid) {
    log_.write(service::LogLevel::kWarn,
               "an event cannot be written: " + names_valid.error().message);
    return;
  }
  ApiRequest event_request;
  event_request.method = "POST";
  event_request.target = "/apis/events.k8s.io/v1/namespaces/" + name_space + "/events";
  event_request.content_type = "application/json";
  event_request.body = codec::write_event(notice, {.host = reporting_host_,
                                                   .number = event_name_random_(),
                                                   .time = std::chrono::system_clock::now()});
  base::Result<void> event_outcome;
  for (int attempt = 0; attempt < base::kMaxEventAttempts; ++attempt) {
    if (attempt > 0 && !back_off()) break;
    event_outcome =
        write_outcome("its POST", api_caller_.call(service::ApiCall::kEvent, event_request));
    if (event_outcome) return;
    const base::ErrorCode code = event_outcome.error().code;
    // The event has a name, so an earlier attempt may have been carried out.
    if (attempt > 0 && code == base::ErrorCode::kConflict) return;
    if (code != base::ErrorCode::kUnknown && code != base::ErrorCode::kUnavailable) break;
  }
  log_.write(service::LogLevel::kWarn,
             "the event `" + notice.reason + "` about the " + object_kind(notice.about) + " " +
                 (notice.name_space.empty() ? "" : notice.name_space + "/") + notice.name +
                 " was not written: " + event_outcome.error().message);
}

bool EventWriter::back_off() {
  const std::chrono::milliseconds retry_wait = backoff_.next(clock_.now());
  const base::MutexLock lock(mutex_);
  return !queue_changed_.wait_for(mutex_, retry_wait,
                                  [this]() SNUG_REQUIRES(mutex_) { return ending_; });
}

}  // namespace snug::kube
