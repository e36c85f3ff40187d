// The product behind its two ports: core, in-memory API server, extender and admin server, wired
// as the program wires its embedded mode. The cluster has the nodes n1 and n2, pods that wait, and
// the pod d/held, which is bound with half a GPU.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "integration/http_client.hpp"
#include "snug/adapters/http/extender_server.hpp"
#include "snug/base/limits.hpp"

namespace snug::testing {

/// The pod d/p, which asks for no GPU: it gets all its nodes back, and may be bound to any.
inline constexpr const char* kGoodFilter =
    R"({"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u"}},"NodeNames":["n1","n2"]})";
inline constexpr const char* kGoodBind =
    R"({"PodName":"p","PodNamespace":"d","PodUID":"u","Node":"n1"})";
/// The reply to kGoodFilter.
inline constexpr const char* kAllNodes =
    R"({"Nodes":null,"NodeNames":["n1","n2"],"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""})";
/// The pod d/waiting, which asks for half a GPU.
inline constexpr const char* kGpuFilter =
    R"({"Pod":{"metadata":{"name":"waiting","namespace":"d","uid":"u-waiting","annotations":{"gpu-fraction":"0.5"}},"spec":{"containers":[{"name":"main"}]}},"NodeNames":["n1","n2"]})";

class ServedSnug {
 public:
  explicit ServedSnug(const base::Limits& limits = {}, http::HttpOptions options = {});
  ~ServedSnug();
  ServedSnug(const ServedSnug&) = delete;
  ServedSnug& operator=(const ServedSnug&) = delete;

  [[nodiscard]] int port() const;
  [[nodiscard]] int admin_port() const;
  http::ExtenderServer& server();

  /// Sends one request on a connection of its own.
  [[nodiscard]] static HttpAnswer ask(int port, const std::string& request);
  /// Everything that a bad request must leave alone: the bodies of GET /v1/nodes and /v1/pods, the
  /// API server's pods, and how many changes it has told.
  [[nodiscard]] std::string state() const;

  /// Requests of the extender port that were answered with 200.
  std::atomic<int> understood{0};
  /// Called before every verb.
  std::function<void()> meanwhile = [] {};

 private:
  struct Parts;
  [[nodiscard]] http::ExtenderHandlers watched(http::ExtenderHandlers handlers);

  std::unique_ptr<Parts> parts_;
};

}  // namespace snug::testing
