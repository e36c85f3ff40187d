#include "adapters/kube/resource_stream.hpp"

#include <pthread.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "adapters/kube/url.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/api_status.hpp"
#include "snug/codec/object_names.hpp"
#include "snug/codec/proto_wire.hpp"
#include "snug/codec/stream_splitters.hpp"

namespace snug::kube {
namespace {

/// A watch that ends sooner than this and has delivered no object counts as failed.
constexpr std::chrono::seconds kTooShort{1};

std::string refusal(const ApiExchange& exchange) {
  return "the API server answered " + std::to_string(exchange.status) + ": " +
         codec::status_message(exchange.body);
}

/// Whether the server refuses a watch because it is overloaded (429 or 5xx). No list is requested
/// then, because a list would add to the load. False for a 504 with `Too large resource version`:
/// the server's cache has not reached the watch's resourceVersion, because the server is behind or
/// was restored from a backup, so a list is needed.
bool is_busy(const ApiExchange& exchange) {
  const bool resting = exchange.status == 429 || exchange.status >= 500;
  return resting && exchange.body.find("Too large resource version") == std::string::npos;
}

/// Returns what `call` returns. If `call` throws, returns an error, because the object has not been
/// applied.
template <typename Call>
auto take(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& problem) {
    return base::fail(base::ErrorCode::kInvalid, problem.what());
  }
}

struct Calls {
  service::ApiCall list;
  service::ApiCall watch;
};

Calls calls(service::WatchedResource resource) {
  using service::ApiCall;
  switch (resource) {
    case service::WatchedResource::kNodes:
      return {ApiCall::kListNodes, ApiCall::kWatchNodes};
    case service::WatchedResource::kPods:
      return {ApiCall::kListPods, ApiCall::kWatchPods};
    case service::WatchedResource::kLeases:
      return {ApiCall::kListLeases, ApiCall::kWatchLeases};
  }
  std::unreachable();
}

/// Whether the resource must be listed again after a watch that ended as `end`, because the next
/// watch cannot start at the last resourceVersion.
bool needs_list(service::WatchEnd end) {
  switch (end) {
    case service::WatchEnd::kExpired:
    case service::WatchEnd::kErrorEvent:
    case service::WatchEnd::kGarbage:
    case service::WatchEnd::kUnreadable:
    case service::WatchEnd::kRefused:
      return true;
    case service::WatchEnd::kEnded:
    case service::WatchEnd::kLost:
    case service::WatchEnd::kSilent:
    case service::WatchEnd::kBusy:
    case service::WatchEnd::kUnreachable:
      return false;
  }
  return true;
}

/// Whether the stream backs off after a watch that ended as `end`, however long the watch lasted.
bool is_failure(service::WatchEnd end) {
  return end == service::WatchEnd::kBusy || end == service::WatchEnd::kUnreachable ||
         (needs_list(end) && end != service::WatchEnd::kExpired);
}

std::string why_incomplete(const ApiExchange& exchange) {
  return exchange.status != 0 && !exchange.success() ? refusal(exchange) : exchange.why;
}

}  // namespace

ResourceStream::ResourceStream(const ApiEndpoint& endpoint, const KubeOptions& options,
                               const KubeContext& context, std::unique_ptr<ObjectFeed> feed)
    : limits_(context.limits),
      metrics_(context.metrics),
      log_(context.log),
      clock_(context.clock),
      feed_(std::move(feed)),
      client_(endpoint, options, context),
      backoff_(limits_, options.seed),
      random_(options.seed + 1),
      thread_([this] { run(); }) {
  const std::string name = "snug-" + resource();
  pthread_setname_np(thread_.native_handle(), name.c_str());
}

ResourceStream::~ResourceStream() { stop(); }

void ResourceStream::stop() {
  if (!thread_.joinable()) return;
  client_.stop();
  thread_.join();
}

void ResourceStream::run() {
  while (!client_.stopped()) {
    if (client_.take_interrupt()) resource_version_.clear();
    if (resource_version_.empty()) {
      list();
    } else {
      watch();
    }
  }
}

void ResourceStream::list() {
  const std::string what = "list of " + resource();
  feed_->list_begins();
  std::size_t count = 0;
  std::string unreadable_item;
  codec::ListSplitter splitter(
      static_cast<std::size_t>(limits_.max_object_bytes),
      {[&](std::string_view item) {
         ++count;
         auto read = take([&] { return feed_->list_item(item); });
         if (!read)
           unreadable_item = unreadable(item, codec::WireFormat::kJson, read.error().message);
         return unreadable_item.empty() && !client_.stopped();
       },
       [&](std::string_view beginning) {
         unreadable_item = unreadable(beginning, codec::WireFormat::kJson, too_large());
         return false;
       }});
  ReplyHandlers handlers;
  handlers.on_piece = [&](std::string_view piece) { return splitter.feed(piece); };
  std::string target(feed_->target());
  // Removes the `?` or `&` at the end. A list request without resourceVersion returns the most
  // recent state.
  target.pop_back();
  const ApiExchange exchange = client_.run(
      {calls(feed_->resource()).list, std::move(target), "application/json",
       std::chrono::seconds(limits_.list_timeout_s), std::chrono::seconds(limits_.list_total_s)},
      handlers);
  if (client_.stopped() || client_.interrupted()) return;
  if (!unreadable_item.empty()) return back_off(what, exchange, unreadable_item);
  if (!exchange.success() || (!exchange.complete && !exchange.refused)) {
    return back_off(what, exchange, why_incomplete(exchange));
  }
  auto version = splitter.finish();
  if (!version) return back_off(what, exchange, version.error().message);
  const auto applied = take([&] {
    feed_->list_ends();
    return base::Result<void>{};
  });
  if (!applied) return back_off(what, exchange, applied.error().message);
  resource_version_ = *std::move(version);
  if (!std::exchange(listed_before_, true)) {
    // Only the first list is reported as a sign that the stream works. Later lists are not, because
    // a list may succeed although the server refuses every watch.
    feed_->alive(resource_version_);
    feed_->lost();
  }
  log_.write(service::LogLevel::kInfo, what + ": " + std::to_string(count) +
                                           " objects at version " +
                                           base::clip_text(resource_version_, 63));
}

std::string ResourceStream::watch_target(std::chrono::seconds time) const {
  std::string target(feed_->target());
  target.append("watch=1&allowWatchBookmarks=true&resourceVersion=")
      .append(encode_query(resource_version_))
      .append("&timeoutSeconds=")
      .append(std::to_string(time.count()));
  return target;
}

void ResourceStream::watch() {
  Watch watch;
  watch.began = std::chrono::steady_clock::now();
  watch.last_byte = watch.began;
  const codec::SplitterCallbacks callbacks{
      [&](std::string_view bytes) { return watch_event(bytes, watch); },
      [&](std::string_view beginning) {
        watch.end = service::WatchEnd::kUnreadable;
        watch.why = unreadable(beginning, watch.format, too_large());
        return false;
      }};
  codec::LineSplitter lines(static_cast<std::size_t>(limits_.max_object_bytes), callbacks);
  codec::FrameSplitter frames(static_cast<std::size_t>(limits_.max_object_bytes), callbacks);
  ReplyHandlers handlers;
  handlers.on_success = [&](std::string_view type) {
    watch.last_byte = std::chrono::steady_clock::now();
    feed_->alive("");
    if (type.starts_with(codec::kProtobufType)) watch.format = codec::WireFormat::kProtobuf;
  };
  handlers.on_piece = [&](std::string_view piece) {
    watch.last_byte = std::chrono::steady_clock::now();
    feed_->alive("");
    return watch.format == codec::WireFormat::kJson ? lines.feed(piece) : frames.feed(piece);
  };
  const std::chrono::seconds time(
      std::uniform_int_distribution(limits_.watch_timeout_s, 2 * limits_.watch_timeout_s)(random_));
  const std::chrono::seconds silence(limits_.watch_silence_s);
  const ApiExchange exchange =
      client_.run({calls(feed_->resource()).watch, watch_target(time),
                   std::string(feed_->watch_accept()), silence, time + silence},
                  handlers);
  // The server ended the watch in the normal way, so the stream worked until now.
  if (exchange.complete && exchange.success()) feed_->alive("");
  feed_->lost();
  if (client_.stopped() || client_.interrupted()) return;
  // If the reply ends or falls silent within a frame, the stream is invalid: the length of the
  // frame may be wrong, and the frame may then hide the events after it. A lost connection does not
  // make the stream invalid.
  if (frames.in_frame() && (exchange.complete || is_silent(watch))) {
    watch.end = watch.end.value_or(service::WatchEnd::kGarbage);
    watch.why = "it ended in the middle of a frame";
  }
  after_watch(exchange, watch);
}

bool ResourceStream::is_silent(const Watch& watch) const {
  return std::chrono::steady_clock::now() - watch.last_byte >=
         std::chrono::seconds(limits_.watch_silence_s);
}

bool ResourceStream::watch_event(std::string_view bytes, Watch& watch) {
  if (client_.stopped()) return false;
  auto step = take([&] { return feed_->event(bytes, watch.format); });
  if (!step) {
    const bool json = watch.format == codec::WireFormat::kJson;
    const bool garbage = json ? !nlohmann::json::accept(bytes) : !codec::is_proto_event(bytes);
    const std::string what =
        json ? "line of the stream is not JSON" : "frame of the stream is not an event";
    watch.end = garbage ? service::WatchEnd::kGarbage : service::WatchEnd::kUnreadable;
    watch.why = garbage ? "a " + what + ": " + step.error().message
                        : unreadable(bytes, watch.format, step.error().message);
    return false;
  }
  if (step->kind == codec::WatchEventType::kError) {
    watch.end =
        step->error_code == 410 ? service::WatchEnd::kExpired : service::WatchEnd::kErrorEvent;
    watch.why = "the API server ended the stream with error " + std::to_string(step->error_code) +
                ": " + base::clip_text(step->error_message, 512);
    return false;
  }
  if (!step->resource_version.empty()) {
    resource_version_ = step->resource_version;
    feed_->alive(resource_version_);
  }
  watch.gave_objects = watch.gave_objects || step->kind != codec::WatchEventType::kBookmark;
  return true;
}

service::WatchEnd ResourceStream::how_ended(const ApiExchange& exchange, const Watch& watch) const {
  if (watch.end) return *watch.end;
  if (exchange.status == 410) return service::WatchEnd::kExpired;
  const bool silent = is_silent(watch);
  if (exchange.status == 0)
    return silent ? service::WatchEnd::kSilent : service::WatchEnd::kUnreachable;
  if (is_busy(exchange)) return service::WatchEnd::kBusy;
  if (!exchange.success()) return service::WatchEnd::kRefused;
  if (exchange.complete) return service::WatchEnd::kEnded;
  return silent ? service::WatchEnd::kSilent : service::WatchEnd::kLost;
}

void ResourceStream::after_watch(const ApiExchange& exchange, Watch& watch) {
  const service::WatchEnd end = how_ended(exchange, watch);
  const bool relist = needs_list(end);
  if (relist) resource_version_.clear();
  const bool too_short =
      !watch.gave_objects && std::chrono::steady_clock::now() - watch.began < kTooShort;
  // If the resourceVersion had already expired when the watch began, the reason may be that no
  // watch has run for a long time. The next list returns a new resourceVersion, so the stream backs
  // off only if the watch after that list fails at once too.
  const bool before = std::exchange(short_watch_needed_list_, too_short && relist);
  const bool cured = short_watch_needed_list_ && !before;
  metrics_.watch_restarted(feed_->resource(), end);
  const std::string what = "watch of " + resource();
  const std::string why = watch.why.empty() ? why_incomplete(exchange) : watch.why;
  if (is_failure(end) || (too_short && !cured)) {
    return back_off(what, exchange, why.empty() ? "it ended at once" : why);
  }
  log_.write(service::LogLevel::kDebug, what + " " + std::string(service::kWatchEndNames[end]) +
                                            (why.empty() ? "" : ": " + why) +
                                            (relist ? "; listing again" : "; watching again"));
}

std::string ResourceStream::unreadable(std::string_view object, codec::WireFormat format,
                                       const std::string& why) {
  metrics_.reservation_problem(service::ReservationProblem::kUnreadable);
  return codec::name_unreadable(object, format) + " cannot be read: " + why;
}

std::string ResourceStream::resource() const {
  return std::string(service::kWatchedResourceNames[feed_->resource()]);
}

std::string ResourceStream::too_large() const {
  return "it is larger than " + std::to_string(limits_.max_object_bytes) +
         " bytes (limit maxObjectBytes)";
}

void ResourceStream::back_off(const std::string& what, const ApiExchange& exchange,
                              const std::string& why) {
  if (!listed_before_) feed_->lost();  // the sink measures the outage from the first failure
  // Waits at least as long as the server's Retry-After asks, up to backoff_last_ms.
  const auto asked = std::min<std::chrono::milliseconds>(
      exchange.retry_after, std::chrono::milliseconds(limits_.backoff_last_ms));
  const auto time = std::max(backoff_.next(clock_.now()), asked);
  log_.write(service::LogLevel::kWarn, "the " + what + " failed: " + why + "; retrying in " +
                                           std::to_string(time.count()) + " ms");
  client_.wait(time);
}

}  // namespace snug::kube
