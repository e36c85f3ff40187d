// Lists and watches one resource in a thread of its own. The thread starts with a list. Then:
//
//   list succeeded                          → watch
//   list failed                             → back off, list
//   watch ended, lost or silent             → watch from the last resourceVersion
//   watch got 429, 5xx or no connection     → back off, watch from the last resourceVersion
//   resourceVersion of the watch expired    → list
//   watch refused (4xx), invalid or ERROR   → back off, list
//
// The thread also backs off after a watch that delivered no object and lasted less than a second.
// There is one exception: if the resourceVersion of such a watch had expired, the thread lists at
// once, unless the watch before it was as short and also led to a list. If an object cannot be
// read, the list fails or the watch ends, because the state in that object is unknown. Lists are
// requested in JSON, which can be split while it arrives. The server sends a watch in the first
// media type of watch_accept() that it supports. All private functions run in the thread.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "adapters/kube/backoff.hpp"
#include "adapters/kube/object_feeds.hpp"
#include "adapters/kube/stream_client.hpp"
#include "snug/service/ports.hpp"

namespace snug::kube {

class ResourceStream {
 public:
  ResourceStream(const ApiEndpoint& endpoint, const KubeOptions& options,
                 const KubeContext& context, std::unique_ptr<ObjectFeed> feed);
  ~ResourceStream();
  ResourceStream(const ResourceStream&) = delete;
  ResourceStream& operator=(const ResourceStream&) = delete;

  /// Ends the current list or watch and starts a new list. Any thread may call this.
  void relist() { stream_client_.interrupt(); }
  /// Tells the thread to end and returns at once. Call this on several streams before the first
  /// stop(), so that they end in parallel.
  void begin_stop() { stream_client_.stop(); }
  /// Tells the thread to end and waits until it has ended.
  void stop();

 private:
  struct WatchState {
    std::chrono::steady_clock::time_point began;
    std::chrono::steady_clock::time_point last_byte;
    bool gave_objects = false;
    codec::WireFormat format = codec::WireFormat::kJson;
    /// How the watch ended, if the received bytes show it: an ERROR event, or bytes that cannot be
    /// read. Otherwise nullopt, and how_ended() derives the end from the exchange.
    std::optional<service::WatchEnd> end;
    std::string why;
  };

  void run_thread();
  void list_resource();
  void watch_resource();
  [[nodiscard]] std::string watch_target(std::chrono::seconds watch_time) const;
  bool watch_event(std::string_view event_bytes, WatchState& watch_state);
  [[nodiscard]] bool is_silent(const WatchState& watch_state) const;
  [[nodiscard]] service::WatchEnd how_ended(const ApiExchange& exchange,
                                            const WatchState& watch_state) const;
  void after_watch(const ApiExchange& exchange, WatchState& watch_state);
  /// Counts one unreadable object in the metrics. Returns a message that names the object and says
  /// why it cannot be read.
  [[nodiscard]] std::string count_unreadable(std::string_view object_bytes,
                                             codec::WireFormat wire_format,
                                             const std::string& cause);
  [[nodiscard]] std::string resource_name() const;
  [[nodiscard]] std::string too_large_text() const;
  /// Logs that `failed_request`, a list or a watch, has failed and why. Then waits for the
  /// back-off.
  void back_off(const std::string& failed_request, const ApiExchange& exchange,
                const std::string& cause);

  const base::Limits limits_;
  service::Metrics& metrics_;
  service::Log& log_;
  const base::Clock& clock_;
  std::unique_ptr<ObjectFeed> object_feed_;
  StreamClient stream_client_;
  Backoff backoff_;
  std::mt19937_64 watch_time_random_;
  std::string resource_version_;  // from the last list or event; empty: a list is needed
  bool listed_before_ = false;
  std::string logged_failure_;            // of the last back_off(); empty: a watch has worked since
  bool short_watch_needed_list_ = false;  // the last watch was short and led to a list
  std::thread stream_thread_;
};

}  // namespace snug::kube
