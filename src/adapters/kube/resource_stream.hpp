// List and watch of one resource, in a thread of its own:
//
//            ┌── failed: back off ──┐
//            ▼                      │
//   start → list ── listed ──→ watch ── ended, lost, silent: watch on from the last version ──┐
//            ▲                  │  ▲                                                          │
//            └─ expired, broken ┘  └──────────────────────────────────────────────────────────┘
//
// A watch that gave no object and lasted less than a second counts as a failure too, but where its
// version had expired and the watch before did not end like that. An object that
// cannot be read makes a list worthless and breaks a watch: what it might have said is not known,
// so nothing is concluded from its absence. Lists are read in JSON, which can be split without
// standing in memory; watches in the first form of the feed's that the server speaks.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "adapters/kube/backoff.hpp"
#include "adapters/kube/feeds.hpp"
#include "adapters/kube/stream_client.hpp"

namespace snug {

class ResourceStream {
 public:
  ResourceStream(const ApiEndpoint& endpoint, const KubeOptions& options,
                 const KubeContext& context, std::unique_ptr<ObjectFeed> feed);
  ~ResourceStream();
  ResourceStream(const ResourceStream&) = delete;
  ResourceStream& operator=(const ResourceStream&) = delete;

  /// Ends whatever is under way and lists afresh; from any thread.
  void relist() { client_.interrupt(); }
  /// The first half of stop(), to end several streams at once.
  void begin_stop() { client_.stop(); }
  /// Returns when the thread has ended.
  void stop();

 private:
  struct Watch {
    std::chrono::steady_clock::time_point began;
    std::chrono::steady_clock::time_point last_byte;
    bool gave_objects = false;
    WireFormat format = WireFormat::kJson;
    /// Set by what came in the stream; else the exchange says how it ended.
    std::optional<WatchEnd> end;
    std::string why;
  };

  void run();
  void list();
  void watch();
  [[nodiscard]] std::string watch_target(std::chrono::seconds time) const;
  bool watch_event(std::string_view bytes, Watch& watch);
  [[nodiscard]] bool is_silent(const Watch& watch) const;
  [[nodiscard]] WatchEnd how_ended(const ApiExchange& exchange, const Watch& watch) const;
  void after_watch(const ApiExchange& exchange, Watch& watch);
  /// Counts it; the sentence about it.
  [[nodiscard]] std::string unreadable(std::string_view object, WireFormat format,
                                       const std::string& why);
  [[nodiscard]] std::string too_large() const;
  /// Logs what failed, and waits.
  void back_off(const std::string& what, const ApiExchange& exchange, const std::string& why);

  const Limits limits_;
  Metrics& metrics_;
  Log& log_;
  const Clock& clock_;
  std::unique_ptr<ObjectFeed> feed_;
  StreamClient client_;
  Backoff backoff_;
  std::mt19937_64 random_;
  std::string resource_version_;  // empty: list first
  bool listed_before_ = false;
  bool relisted_at_once_ = false;  // after the last watch

  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace snug
