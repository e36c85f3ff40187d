// An extender server whose handlers read and write as the service does, and count their calls.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "snug/adapters/http/extender_server.hpp"
#include "snug/codec/extender_codec.hpp"

namespace snug::testing {

inline constexpr const char* kGoodFilter =
    R"({"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u"}},"NodeNames":["n1","n2"]})";
inline constexpr const char* kGoodBind =
    R"({"PodName":"p","PodNamespace":"d","PodUID":"u","Node":"n1"})";
/// The reply to kGoodFilter.
inline constexpr const char* kAllNodes =
    R"({"Nodes":null,"NodeNames":["n1","n2"],"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""})";

class ServedExtender {
 public:
  explicit ServedExtender(const Limits& limits = {}, HttpOptions options = {})
      : limits_(limits), server_(std::make_unique<ExtenderServer>(handlers(), options, limits)) {
    const Result<void> started = server_->start();
    EXPECT_TRUE(started) << started.error().message;
  }

  [[nodiscard]] int port() const { return server_->port(); }
  ExtenderServer& server() { return *server_; }

  /// Requests that reached a handler and could be read.
  std::atomic<int> understood{0};
  /// Called by every handler first.
  std::function<void()> meanwhile = [] {};

 private:
  Reply schedule(ReplyShape shape, std::string& body) {
    meanwhile();
    ExtenderReader reader{limits_};
    const auto call = reader.read_schedule(body);
    if (!call) return {400, write_error(shape, call.error().message)};
    ++understood;
    return {200, shape == ReplyShape::kFilter ? write_filter_all(*call) : write_prioritize({})};
  }

  ExtenderHandlers handlers() {
    return {
        .filter = [this](std::string& body) { return schedule(ReplyShape::kFilter, body); },
        .prioritize = [this](std::string& body) { return schedule(ReplyShape::kPrioritize, body); },
        .bind =
            [this](std::string& body) {
              meanwhile();
              ExtenderReader reader{limits_};
              const auto call = reader.read_bind(body);
              if (!call) return Reply{400, write_bind(call.error().message)};
              ++understood;
              return Reply{200, write_bind("")};
            }};
  }

  Limits limits_;
  std::unique_ptr<ExtenderServer> server_;
};

}  // namespace snug::testing
