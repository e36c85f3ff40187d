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
constexpr std::chrono::seconds kShortestWatch{1};

std::string refusal_text(const ApiExchange& exchange) {
  return "the API server answered " + std::to_string(exchange.status) + ": " +
         codec::status_message(exchange.body);
}

/// Whether the server refuses a watch because it is overloaded (429 or 5xx). No list is requested
/// then, because a list would add to the load. False for a 504 with `Too large resource version`:
/// the server's cache has not reached the watch's resourceVersion, because the server is behind or
/// was restored from a backup, so a list is needed.
bool is_busy(const ApiExchange& exchange) {
  const bool is_overloaded = exchange.status == 429 || exchange.status >= 500;
  return is_overloaded && exchange.body.find("Too large resource version") == std::string::npos;
}

/// Returns what `feed_call` returns. If `feed_call` throws, returns an error, because the object
/// has not been applied.
template <typename FeedCall>
auto catch_as_error(const FeedCall& feed_call) -> decltype(feed_call()) {
  try {
    return feed_call();
  } catch (const std::exception& problem) {
    return base::fail(base::ErrorCode::kInvalid, problem.what());
  }
}

struct ResourceCalls {
  service::ApiCall list;
  service::ApiCall watch;
};

ResourceCalls calls_of(service::WatchedResource resource) {
  using service::ApiCall;
  switch (resource) {
    case service::WatchedResource::kNodes:
      return {ApiCall::kListNodes, ApiCall::kWatchNodes};
    case service::WatchedResource::kPods:
      return {ApiCall::kListPods, ApiCall::kWatchPods};
    case service::WatchedResource::kLeases:
      return {ApiCall::kListLeases, ApiCall::kWatchLeases};
    case service::WatchedResource::kHeartbeats:
      return {ApiCall::kListHeartbeats, ApiCall::kWatchHeartbeats};
  }
  std::unreachable();
}

/// Whether the resource must be listed again after a watch that ended as `watch_end`, because the
/// next watch cannot start at the last resourceVersion.
bool needs_list(service::WatchEnd watch_end) {
  switch (watch_end) {
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

/// Whether the stream backs off after a watch that ended as `watch_end`, however long the watch
/// lasted.
bool is_failure(service::WatchEnd watch_end) {
  return watch_end == service::WatchEnd::kBusy || watch_end == service::WatchEnd::kUnreachable ||
         (needs_list(watch_end) && watch_end != service::WatchEnd::kExpired);
}

std::string why_incomplete(const ApiExchange& exchange) {
  return exchange.status != 0 && !exchange.success() ? refusal_text(exchange) : exchange.why;
}

}  // namespace

ResourceStream::ResourceStream(const ApiEndpoint& endpoint, const KubeOptions& options,
                               const KubeContext& context, std::unique_ptr<ObjectFeed> feed)
    : limits_(context.limits),
      metrics_(context.metrics),
      log_(context.log),
      clock_(context.clock),
      object_feed_(std::move(feed)),
      stream_client_(endpoint, options, context),
      backoff_(limits_, options.seed),
      watch_time_random_(options.seed + 1),
      stream_thread_([this] { run_thread(); }) {
  const std::string thread_name = "snug-" + resource_name();
  pthread_setname_np(stream_thread_.native_handle(), thread_name.c_str());
}

ResourceStream::~ResourceStream() { stop(); }

void ResourceStream::stop() {
  if (!stream_thread_.joinable()) return;
  stream_client_.stop();
  stream_thread_.join();
}

void ResourceStream::run_thread() {
  while (!stream_client_.stopped()) {
    if (stream_client_.take_interrupt()) resource_version_.clear();
    if (resource_version_.empty()) {
      list_resource();
    } else {
      watch_resource();
    }
  }
}

void ResourceStream::list_resource() {
  const std::string list_name = "list of " + resource_name();
  object_feed_->list_begins();
  std::size_t object_count = 0;
  std::string unreadable_object;
  codec::ListSplitter list_splitter(
      static_cast<std::size_t>(limits_.max_object_bytes),
      {[&](std::string_view object_json) {
         ++object_count;
         auto object_read = catch_as_error([&] { return object_feed_->list_item(object_json); });
         if (!object_read)
           unreadable_object =
               count_unreadable(object_json, codec::WireFormat::kJson, object_read.error().message);
         return unreadable_object.empty() && !stream_client_.stopped();
       },
       [&](std::string_view object_start) {
         unreadable_object =
             count_unreadable(object_start, codec::WireFormat::kJson, too_large_text());
         return false;
       }});
  ReplyHandlers list_handlers;
  list_handlers.on_piece = [&](std::string_view body_piece) {
    return list_splitter.feed(body_piece);
  };
  std::string list_target(object_feed_->target());
  // Removes the `?` or `&` at the end. A list request without resourceVersion returns the most
  // recent state.
  list_target.pop_back();
  const ApiExchange list_exchange = stream_client_.run(
      {calls_of(object_feed_->resource()).list, std::move(list_target), "application/json",
       std::chrono::seconds(limits_.list_timeout_s), std::chrono::seconds(limits_.list_total_s)},
      list_handlers);
  if (stream_client_.stopped() || stream_client_.interrupted()) return;
  if (!unreadable_object.empty()) return back_off(list_name, list_exchange, unreadable_object);
  if (!list_exchange.success() || (!list_exchange.complete && !list_exchange.refused)) {
    return back_off(list_name, list_exchange, why_incomplete(list_exchange));
  }
  auto list_version = list_splitter.finish();
  if (!list_version) return back_off(list_name, list_exchange, list_version.error().message);
  const auto list_applied = catch_as_error([&] {
    object_feed_->list_ends();
    return base::Result<void>{};
  });
  if (!list_applied) return back_off(list_name, list_exchange, list_applied.error().message);
  resource_version_ = *std::move(list_version);
  if (!std::exchange(listed_before_, true)) {
    // Only the first list is reported as a sign that the stream works. Later lists are not, because
    // a list may succeed although the server refuses every watch.
    object_feed_->alive(resource_version_);
    object_feed_->lost();
  }
  log_.write(service::LogLevel::kInfo, list_name + ": " + std::to_string(object_count) +
                                           " objects at version " +
                                           base::clip_text(resource_version_, 63));
}

std::string ResourceStream::watch_target(std::chrono::seconds watch_time) const {
  std::string path_and_query(object_feed_->target());
  path_and_query.append("watch=1&allowWatchBookmarks=true&resourceVersion=")
      .append(encode_query(resource_version_))
      .append("&timeoutSeconds=")
      .append(std::to_string(watch_time.count()));
  return path_and_query;
}

void ResourceStream::watch_resource() {
  WatchState watch_state;
  watch_state.began = std::chrono::steady_clock::now();
  watch_state.last_byte = watch_state.began;
  const codec::SplitterCallbacks splitter_callbacks{
      [&](std::string_view event_bytes) { return watch_event(event_bytes, watch_state); },
      [&](std::string_view event_start) {
        watch_state.end = service::WatchEnd::kUnreadable;
        watch_state.why = count_unreadable(event_start, watch_state.format, too_large_text());
        return false;
      }};
  codec::LineSplitter line_splitter(static_cast<std::size_t>(limits_.max_object_bytes),
                                    splitter_callbacks);
  codec::FrameSplitter frame_splitter(static_cast<std::size_t>(limits_.max_object_bytes),
                                      splitter_callbacks);
  ReplyHandlers watch_handlers;
  watch_handlers.on_success = [&](std::string_view content_type) {
    logged_failure_.clear();
    watch_state.last_byte = std::chrono::steady_clock::now();
    object_feed_->alive("");
    if (content_type.starts_with(codec::kProtobufType))
      watch_state.format = codec::WireFormat::kProtobuf;
  };
  watch_handlers.on_piece = [&](std::string_view body_piece) {
    watch_state.last_byte = std::chrono::steady_clock::now();
    object_feed_->alive("");
    return watch_state.format == codec::WireFormat::kJson ? line_splitter.feed(body_piece)
                                                          : frame_splitter.feed(body_piece);
  };
  const std::chrono::seconds watch_time(std::uniform_int_distribution(
      limits_.watch_timeout_s, 2 * limits_.watch_timeout_s)(watch_time_random_));
  const std::chrono::seconds max_silence(limits_.watch_silence_s);
  const ApiExchange watch_exchange = stream_client_.run(
      {calls_of(object_feed_->resource()).watch, watch_target(watch_time),
       std::string(object_feed_->watch_accept()), max_silence, watch_time + max_silence},
      watch_handlers);
  // The server ended the watch in the normal way, so the stream worked until now.
  if (watch_exchange.complete && watch_exchange.success()) object_feed_->alive("");
  object_feed_->lost();
  if (stream_client_.stopped() || stream_client_.interrupted()) return;
  // If the reply ends or falls silent within a frame, the stream is invalid: the length of the
  // frame may be wrong, and the frame may then hide the events after it. A lost connection does not
  // make the stream invalid.
  if (frame_splitter.in_frame() && (watch_exchange.complete || is_silent(watch_state))) {
    watch_state.end = watch_state.end.value_or(service::WatchEnd::kGarbage);
    watch_state.why = "it ended in the middle of a frame";
  }
  after_watch(watch_exchange, watch_state);
}

bool ResourceStream::is_silent(const WatchState& watch_state) const {
  return std::chrono::steady_clock::now() - watch_state.last_byte >=
         std::chrono::seconds(limits_.watch_silence_s);
}

bool ResourceStream::watch_event(std::string_view event_bytes, WatchState& watch_state) {
  if (stream_client_.stopped()) return false;
  auto event_step =
      catch_as_error([&] { return object_feed_->event(event_bytes, watch_state.format); });
  if (!event_step) {
    const bool is_json = watch_state.format == codec::WireFormat::kJson;
    const bool is_garbage =
        is_json ? !nlohmann::json::accept(event_bytes) : !codec::is_proto_event(event_bytes);
    const std::string garbage_kind =
        is_json ? "line of the stream is not JSON" : "frame of the stream is not an event";
    watch_state.end = is_garbage ? service::WatchEnd::kGarbage : service::WatchEnd::kUnreadable;
    watch_state.why =
        is_garbage ? "a " + garbage_kind + ": " + event_step.error().message
                   : count_unreadable(event_bytes, watch_state.format, event_step.error().message);
    return false;
  }
  if (event_step->kind == codec::WatchEventType::kError) {
    watch_state.end = event_step->error_code == 410 ? service::WatchEnd::kExpired
                                                    : service::WatchEnd::kErrorEvent;
    watch_state.why = "the API server ended the stream with error " +
                      std::to_string(event_step->error_code) + ": " +
                      base::clip_text(event_step->error_message, 512);
    return false;
  }
  if (!event_step->resource_version.empty()) {
    resource_version_ = event_step->resource_version;
    object_feed_->alive(resource_version_);
  }
  watch_state.gave_objects =
      watch_state.gave_objects || event_step->kind != codec::WatchEventType::kBookmark;
  return true;
}

service::WatchEnd ResourceStream::how_ended(const ApiExchange& exchange,
                                            const WatchState& watch_state) const {
  if (watch_state.end) return *watch_state.end;
  if (exchange.status == 410) return service::WatchEnd::kExpired;
  const bool watch_was_silent = is_silent(watch_state);
  if (exchange.status == 0)
    return watch_was_silent ? service::WatchEnd::kSilent : service::WatchEnd::kUnreachable;
  if (is_busy(exchange)) return service::WatchEnd::kBusy;
  if (!exchange.success()) return service::WatchEnd::kRefused;
  if (exchange.complete) return service::WatchEnd::kEnded;
  return watch_was_silent ? service::WatchEnd::kSilent : service::WatchEnd::kLost;
}

void ResourceStream::after_watch(const ApiExchange& exchange, WatchState& watch_state) {
  const service::WatchEnd watch_end = how_ended(exchange, watch_state);
  const bool must_list = needs_list(watch_end);
  if (must_list) resource_version_.clear();
  const bool watch_too_short =
      !watch_state.gave_objects &&
      std::chrono::steady_clock::now() - watch_state.began < kShortestWatch;
  // If the resourceVersion had already expired when the watch began, the reason may be that no
  // watch has run for a long time. The next list returns a new resourceVersion, so the stream backs
  // off only if the watch after that list fails at once too.
  const bool was_needed_before =
      std::exchange(short_watch_needed_list_, watch_too_short && must_list);
  const bool list_may_help = short_watch_needed_list_ && !was_needed_before;
  metrics_.watch_restarted(object_feed_->resource(), watch_end);
  const std::string watch_name = "watch of " + resource_name();
  const std::string end_cause =
      watch_state.why.empty() ? why_incomplete(exchange) : watch_state.why;
  if (is_failure(watch_end) || (watch_too_short && !list_may_help)) {
    return back_off(watch_name, exchange, end_cause.empty() ? "it ended at once" : end_cause);
  }
  log_.write(service::LogLevel::kDebug, watch_name + " " +
                                            std::string(service::kWatchEndNames[watch_end]) +
                                            (end_cause.empty() ? "" : ": " + end_cause) +
                                            (must_list ? "; listing again" : "; watching again"));
}

std::string ResourceStream::count_unreadable(std::string_view object_bytes,
                                             codec::WireFormat wire_format,
                                             const std::string& cause) {
  metrics_.reservation_problem(service::ReservationProblem::kUnreadable);
  return codec::name_unreadable(object_bytes, wire_format) + " cannot be read: " + cause;
}

std::string ResourceStream::resource_name() const {
  return std::string(service::kWatchedResourceNames[object_feed_->resource()]);
}

std::string ResourceStream::too_large_text() const {
  return "it is larger than " + std::to_string(limits_.max_object_bytes) +
         " bytes (limit maxObjectBytes)";
}

void ResourceStream::back_off(const std::string& failed_request, const ApiExchange& exchange,
                              const std::string& cause) {
  if (!listed_before_) object_feed_->lost();  // the sink measures the outage from the first failure
  // Waits at least as long as the server's Retry-After asks, up to backoff_last_ms.
  const auto server_wait = std::min<std::chrono::milliseconds>(
      exchange.retry_after, std::chrono::milliseconds(limits_.backoff_last_ms));
  const auto retry_wait = std::max(backoff_.next(clock_.now()), server_wait);
  const std::string failure = "the " + failed_request + " failed: " + cause;
  const bool is_known = std::exchange(logged_failure_, failure) == failure;
  log_.write(is_known && !object_feed_->logs_each_failure() ? service::LogLevel::kDebug
                                                            : service::LogLevel::kWarn,
             failure + "; retrying in " + std::to_string(retry_wait.count()) + " ms");
  stream_client_.wait(retry_wait);
}

}  // namespace snug::kube
