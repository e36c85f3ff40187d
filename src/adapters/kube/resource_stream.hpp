// List and watch of one resource, in a thread of its own:
//
//            ┌── failed: back off ──┐
//            ▼                      │
//   start → list ── listed ──→ watch ── ended, lost, silent: watch on from the last version ──┐
//            ▲                  │  ▲                                                          │
//            └─ expired, broken ┘  └──────────────────────────────────────────────────────────┘
//
// A watch that gave no object and lasted less than a second counts as a failure too, unless its
// version had expired and the watch before did not end that way. An object that cannot be read
// invalidates a list and ends a watch, since the state that it carries is unknown. Lists are read
// in JSON, which can be split while it arrives; watches in the first of the feed's media types that
// the server supports. The functions other than relist(), begin_stop() and stop() run in the
// thread.
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

  /// Ends the list or watch under way and lists again. From any thread.
  void relist() { client_.interrupt(); }
  /// Makes the thread end, without waiting for it: to end several streams at once.
  void begin_stop() { client_.stop(); }
  /// Ends the thread and waits for it.
  void stop();

 private:
  struct Watch {
    std::chrono::steady_clock::time_point began;
    std::chrono::steady_clock::time_point last_byte;
    bool gave_objects = false;
    codec::WireFormat format = codec::WireFormat::kJson;
    /// Set by an event of the stream; if not, the exchange tells how the watch ended.
    std::optional<service::WatchEnd> end;
    std::string why;
  };

  void run();
  void list();
  void watch();
  [[nodiscard]] std::string watch_target(std::chrono::seconds time) const;
  bool watch_event(std::string_view bytes, Watch& watch);
  [[nodiscard]] bool is_silent(const Watch& watch) const;
  [[nodiscard]] service::WatchEnd how_ended(const ApiExchange& exchange, const Watch& watch) const;
  void after_watch(const ApiExchange& exchange, Watch& watch);
  /// Counts an object that cannot be read in the metrics, and returns a message for the log.
  [[nodiscard]] std::string unreadable(std::string_view object, codec::WireFormat format,
                                       const std::string& why);
  [[nodiscard]] std::string too_large() const;
  /// Logs what failed, and waits.
  void back_off(const std::string& what, const ApiExchange& exchange, const std::string& why);

  const base::Limits limits_;
  service::Metrics& metrics_;
  service::Log& log_;
  const base::Clock& clock_;
  std::unique_ptr<ObjectFeed> feed_;
  StreamClient client_;
  Backoff backoff_;
  std::mt19937_64 random_;
  std::string resource_version_;  // empty: list first
  bool listed_before_ = false;
  bool relisted_at_once_ = false;  // after the last watch
  std::thread thread_;
};

}  // namespace snug::kube
