#include "adapters/kube/event_writer.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>

#include "snug/codec/api_status.hpp"
#include "snug/codec/api_writes.hpp"
#include "snug/codec/object_names.hpp"

namespace snug::kube {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "snug-extender";
  return name.data();
}

}  // namespace

EventWriter::EventWriter(ApiCaller& caller, const KubeOptions& options, const KubeContext& context)
    : caller_(caller),
      metrics_(context.metrics),
      log_(context.log),
      clock_(context.clock),
      limits_(context.limits),
      host_(host_name()),
      // Event names must be unique, so two runs with the same seed must not produce the same names.
      random_(options.seed ^ static_cast<std::uint64_t>(
                                 std::chrono::system_clock::now().time_since_epoch().count())),
      thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), "snug-events");
}

EventWriter::~EventWriter() {
  {
    const base::MutexLock lock(mutex_);
    ending_ = true;
    wake_.notify_all();
  }
  caller_.abort_all();
  thread_.join();
}

void EventWriter::warn(const model::Notice& notice) {
  std::string key = notice.uid;
  key.append("\n").append(notice.reason).append("\n").append(notice.note);
  const base::MutexLock lock(mutex_);
  forget_old();
  if (recent_index_.contains(key)) return;
  if (queue_.size() >= static_cast<std::size_t>(limits_.max_queued_events)) {
    metrics_.event_dropped();
    return;
  }
  if (recent_.size() >= static_cast<std::size_t>(limits_.max_queued_events)) forget_oldest();
  recent_.emplace_back(clock_.now(), key);
  recent_index_.insert(std::move(key));
  queue_.push_back(notice);
  wake_.notify_one();
}

void EventWriter::forget_old() {
  const std::chrono::milliseconds window(limits_.event_repeat_ms);
  const base::TimePoint now = clock_.now();
  while (!recent_.empty() && now - recent_.front().first >= window) forget_oldest();
}

void EventWriter::forget_oldest() {
  recent_index_.erase(recent_.front().second);
  recent_.pop_front();
}

void EventWriter::run() {
  base::MutexLock lock(mutex_);
  while (true) {
    wake_.wait(mutex_, [this]() SNUG_REQUIRES(mutex_) { return ending_ || !queue_.empty(); });
    if (ending_) return;
    const model::Notice next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    write(next);
    lock.lock();
  }
}

void EventWriter::write(const model::Notice& notice) {
  auto valid = codec::check_object_name("namespace", notice.name_space);
  if (valid) valid = codec::check_object_name(notice.lease ? "Lease" : "pod", notice.pod);
  if (!valid) {
    log_.write(service::LogLevel::kWarn, "an event cannot be written: " + valid.error().message);
    return;
  }
  ApiRequest request;
  request.method = "POST";
  request.target = "/apis/events.k8s.io/v1/namespaces/" + notice.name_space + "/events";
  request.content_type = "application/json";
  request.body = codec::write_event(
      notice, {.host = host_, .number = random_(), .time = std::chrono::system_clock::now()});
  const auto reply = caller_.call(service::ApiCall::kEvent, request);
  if (reply && reply->status < 300) return;
  log_.write(service::LogLevel::kWarn,
             "the event `" + notice.reason + "` about the " + (notice.lease ? "Lease " : "pod ") +
                 notice.name_space + "/" + notice.pod + " was not written: " +
                 (reply ? codec::status_message(reply->body) : reply.error().message));
}

}  // namespace snug::kube
