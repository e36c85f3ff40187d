// What the tests of the Kubernetes client share: recorders behind the ports, a small API server
// that follows a script, a raw one that misbehaves, a folder of files, certificates. Waits are on
// conditions, with a deadline that only a failure reaches.
#pragma once

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/service/ports.hpp"
#include "support/fake_ports.hpp"

namespace snug::testing {

inline constexpr std::chrono::seconds kPatience{30};

/// Something that changes under a lock, and can be waited for.
template <typename T>
class Watched {
 public:
  template <typename Change>
  void change(Change&& change) {
    const std::lock_guard lock(mutex_);
    change(value_);
    changed_.notify_all();
  }
  [[nodiscard]] T get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  /// False: it did not come to that in time.
  template <typename Condition>
  [[nodiscard]] bool wait(Condition&& condition,
                          std::chrono::milliseconds patience = kPatience) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return condition(value_); });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  T value_{};
};

struct Counts {
  std::map<std::string, int> requests;                            // "bind ok", "bind failed"
  std::map<std::string, std::vector<std::int64_t>> microseconds;  // of each of the requests
  std::map<std::string, int> restarts;                            // "pods expired"
  std::map<std::string, int> problems;                            // "unreadable"
  int dropped = 0;
};

class RecordingMetrics final : public NoMetrics {
 public:
  void api_request(service::ApiCall call, bool ok, std::int64_t microseconds) override {
    const std::string name = std::string(service::kApiCallNames[call]) + (ok ? " ok" : " failed");
    counts.change([&](Counts& c) {
      ++c.requests[name];
      c.microseconds[name].push_back(microseconds);
    });
  }
  void watch_restarted(service::WatchedResource resource, service::WatchEnd why) override {
    const std::string what = std::string(service::kWatchedResourceNames[resource]) + " " +
                             std::string(service::kWatchEndNames[why]);
    counts.change([&](Counts& c) { ++c.restarts[what]; });
  }
  void event_dropped() override {
    counts.change([](Counts& c) { ++c.dropped; });
  }
  void reservation_problem(service::ReservationProblem kind) override {
    counts.change(
        [&](Counts& c) { ++c.problems[std::string(service::kReservationProblemNames[kind])]; });
  }

  [[nodiscard]] bool wait_restart(const std::string& what, int at_least = 1) const {
    return counts.wait([&](const Counts& c) {
      const auto found = c.restarts.find(what);
      return found != c.restarts.end() && found->second >= at_least;
    });
  }

  Watched<Counts> counts;
};

class RecordingLog final : public service::Log {
 public:
  [[nodiscard]] bool is_enabled(service::LogLevel) const override { return true; }
  void write_line(service::LogLevel level, std::string_view message,
                  std::span<const service::LogField>) override {
    text.change([&](std::string& t) { t.append(message).append("\n"); });
    if (level == service::LogLevel::kWarn)
      warnings.change([&](std::vector<std::string>& all) { all.emplace_back(message); });
  }
  [[nodiscard]] bool wait_for(std::string_view part) const {
    return text.wait([&](const std::string& t) { return t.find(part) != std::string::npos; });
  }
  Watched<std::string> text;
  Watched<std::vector<std::string>> warnings;
};

/// The calls to the sink, one line each: "pods begin", "pods listed a b", "pod changed a@5"…
class RecordingSink final : public service::ClusterSink {
 public:
  void stream_alive(service::Resource resource, std::string_view version) override {
    if (resource == service::Resource::kPods)
      mark("alive" + (version.empty() ? "" : " " + std::string(version)));
  }
  void stream_lost(service::Resource resource) override {
    if (resource == service::Resource::kPods) mark("lost");
  }
  void pod_list_started() override { note("pods begin"); }
  void pods_listed(std::vector<model::PodFacts> pods) override {
    note("pods listed" + names(pods));
  }
  void pod_changed(model::PodFacts pod) override {
    note("pod changed " + pod.name + "@" + pod.resource_version);
  }
  void pod_gone(const model::PodFacts& pod) override { note("pod gone " + pod.name); }
  void nodes_listed(std::vector<model::NodeFacts> nodes) override {
    note("nodes listed" + names(nodes));
  }
  void node_changed(model::NodeFacts node) override { note("node changed " + node.name); }
  void node_gone(std::string_view name) override { note("node gone " + std::string(name)); }

  [[nodiscard]] bool wait_line(const std::string& line, int at_least = 1) const {
    return lines.wait([&](const std::vector<std::string>& all) {
      return std::count(all.begin(), all.end(), line) >= at_least;
    });
  }
  /// Only those about pods.
  [[nodiscard]] std::vector<std::string> pod_lines() const;

  Watched<std::vector<std::string>> lines;
  Watched<std::string> pod_marks;  // what was said of the life of the pods' watch

 private:
  void mark(const std::string& word) {
    pod_marks.change([&](std::string& all) { all += word + " "; });
  }
  void note(std::string line) {
    lines.change([&](std::vector<std::string>& all) { all.push_back(std::move(line)); });
  }
  template <typename Objects>
  static std::string names(const Objects& objects) {
    std::string all;
    for (const auto& object : objects) all += " " + object.name;
    return all;
  }
};

struct ScriptedReply {
  enum class End { kFinish, kCut, kHold, kTrickle };  // kTrickle: white space, for ever
  int status = 200;
  std::string body;
  std::vector<std::string> pieces;  // instead of `body`: chunks, sent one by one
  End end = End::kFinish;           // after the pieces
  std::string type = "application/json; charset=utf-8";
  std::map<std::string, std::string> headers;
};

struct SeenRequest {
  std::string kind;
  std::string target;
  std::string body;
  std::string content_type;
  std::string accept;
  std::string authorization;
  std::string host;
  int port = 0;  // of the client: tells connections apart
};

/// An API server that answers each kind of request from its script, in order. Kinds: "list pods",
/// "watch pods", "list nodes", "watch nodes", "one node", "get pod", "bind", "patch", "event", "get
/// lease", "write lease", "list leases", "watch leases".
/// Without a script lists are empty, watches stay open, and all else is answered with success.
class ScriptedApi {
 public:
  using Guard = std::function<bool(const httplib::Request&)>;

  explicit ScriptedApi(
      std::unique_ptr<httplib::Server> server = std::make_unique<httplib::Server>(),
      const std::string& address = "127.0.0.1");
  ~ScriptedApi();

  void script(const std::string& kind, ScriptedReply reply);
  /// What does not pass is answered with 401.
  void guard(Guard guard);
  [[nodiscard]] kube::ApiEndpoint endpoint() const;
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::vector<SeenRequest> seen(const std::string& kind) const;
  [[nodiscard]] bool wait_seen(const std::string& kind, std::size_t at_least) const;

 private:
  void handle(const httplib::Request& request, httplib::Response& response);
  [[nodiscard]] ScriptedReply next(const std::string& kind);
  void stream(const ScriptedReply& reply, httplib::Response& response);

  std::unique_ptr<httplib::Server> server_;
  std::string address_;
  int port_ = 0;
  Watched<bool> released_;
  Watched<std::map<std::string, std::deque<ScriptedReply>>> scripts_;
  Watched<std::vector<SeenRequest>> seen_;
  Watched<Guard> guard_;
  std::thread thread_;
};

/// A TCP server with bad manners.
class BadServer {
 public:
  enum class Manner {
    kCloseAfterRequest,  // reads all of a request, then closes
    kSilent,             // reads, and says nothing
    kEndlessHead,        // reads, and answers with one header that never ends, byte by byte
    kAnswersTwice,       // reads, and answers with 201 and at once with 409
    kAnswersAgain,       // reads, and answers with 201; with 409 when it is told to go on
    kLongFirstLine,      // reads, and answers with a line of 100,000 bytes
    kNeverAccepts,       // its queue is full: a connect hangs
    kNotListening,       // the port is taken, and refuses
  };
  explicit BadServer(Manner manner);
  ~BadServer();
  [[nodiscard]] kube::ApiEndpoint endpoint() const;
  /// Returns when all that is to come has been sent.
  void go_on();

  Watched<int> requests;

 private:
  void serve();
  void answer_twice(int client);
  void answer_at_length(int client);
  void trickle(int client);

  Manner manner_;
  Watched<bool> ending_;
  Watched<int> goes_on_;  // 1: it is told to; 2: it did
  int socket_ = -1;
  int port_ = 0;
  std::vector<int> fillers_;
  Watched<std::vector<int>> open_;
  std::thread thread_;
};

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  std::string write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

struct Pem {
  std::string certificate;
  std::string key;
};
/// A certificate authority of the tests' own.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name);
  ~TestAuthority();
  [[nodiscard]] const std::string& pem() const { return pem_; }
  /// `names`: "IP:127.0.0.1,DNS:api.test"; empty: a client's.
  [[nodiscard]] Pem issue(const std::string& common_name, const std::string& names = "") const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string pem_;
};

/// Asks for client certificates of `clients`, without insisting.
[[nodiscard]] std::unique_ptr<httplib::Server> make_tls_server(const Pem& own,
                                                               const TestAuthority& clients);
/// Of the client's certificate; empty: it sent none.
[[nodiscard]] std::string client_name(const httplib::Request& request);

[[nodiscard]] std::string encode_base64(const std::string& text);

/// Everything that a KubeApi or KubeSource is made with; limits are small, to end tests early.
struct Bench {
  Bench();
  [[nodiscard]] kube::KubeContext context() { return {limits, metrics, log, clock}; }

  base::Limits limits;
  kube::KubeOptions options;
  RecordingMetrics metrics;
  RecordingLog log;
  base::ManualClock clock;
};

[[nodiscard]] std::string pod_json(const std::string& name, int version);
[[nodiscard]] std::string event_json(const std::string& type, const std::string& object);
[[nodiscard]] std::string bookmark_json(const std::string& version);
[[nodiscard]] std::string list_json(const std::string& kind, const std::vector<std::string>& items,
                                    const std::string& version);

}  // namespace snug::testing
