// The pods' watch where the API server speaks protobuf. kube_source_test has what is the same in
// JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/kube_support.hpp"
#include "snug/adapters/kube/kube_source.hpp"
#include "support/kube_proto.hpp"

namespace snug::kube_proto_watch_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using End = ScriptedReply::End;
using nlohmann::json;

std::string frame(const std::string& bytes) {
  std::string length;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    length += static_cast<char>(bytes.size() >> shift & 255U);
  }
  return length + bytes;
}

std::string pod_event(const std::string& type, const std::string& name, int version) {
  return frame(proto::event(type, json::parse(pod_json(name, version))));
}

class KubeProtoWatchTest : public ::testing::Test {
 protected:
  void watch(std::vector<std::string> pieces, End end) {
    ScriptedReply reply;
    reply.pieces = std::move(pieces);
    reply.end = end;
    reply.type = "application/vnd.kubernetes.protobuf;stream=watch";
    server.script("watch pods", reply);
  }
  void watch_in_json(std::vector<std::string> pieces) {
    ScriptedReply reply;
    reply.pieces = std::move(pieces);
    reply.end = End::kHold;
    server.script("watch pods", reply);
  }
  void start() {
    source = std::make_unique<kube::KubeSource>(server.endpoint(), bench.options, bench.context());
    source->start(sink);
  }
  [[nodiscard]] std::string watched(std::size_t nth) {
    return server.seen("watch pods").at(nth).target;
  }

  Bench bench;
  RecordingSink sink;
  ScriptedApi server;  // outlives the source: a watch is held until it is released
  std::unique_ptr<kube::KubeSource> source;
};

TEST_F(KubeProtoWatchTest, FramesAreReadInTheOrderOfTheStreamHoweverTheyAreCut) {
  const std::string all = pod_event("ADDED", "c", 11) + pod_event("MODIFIED", "c", 12) +
                          pod_event("ADDED", "d", 13) + pod_event("DELETED", "c", 14);
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < all.size(); at += 7) pieces.push_back(all.substr(at, 7));
  watch(pieces, End::kHold);
  start();
  ASSERT_TRUE(sink.wait_line("pod gone c"));
  EXPECT_THAT(sink.pod_lines(), ElementsAre("pods begin", "pods listed", "pod changed c@11",
                                            "pod changed c@12", "pod changed d@13", "pod gone c"));
  EXPECT_EQ(server.seen("list pods").at(0).accept, "application/json");
  EXPECT_THAT(server.seen("watch pods").at(0).accept,
              StartsWith("application/vnd.kubernetes.protobuf;stream=watch,"));
  ASSERT_TRUE(server.wait_seen("watch nodes", 1));
  EXPECT_EQ(server.seen("watch nodes").at(0).accept, "application/json");
}

TEST_F(KubeProtoWatchTest, AWatchThatEndsInMidFrameGoesOnInWhateverFormTheServerChooses) {
  const std::string bookmark =
      frame(proto::event("BOOKMARK", json::parse(R"({"metadata":{"resourceVersion":"21"}})")));
  watch({pod_event("ADDED", "a", 11), bookmark, pod_event("ADDED", "b", 22).substr(0, 30)},
        End::kCut);
  watch_in_json({event_json("ADDED", pod_json("b", 22))});
  start();
  ASSERT_TRUE(sink.wait_line("pod changed b@22"));
  EXPECT_THAT(watched(1), HasSubstr("resourceVersion=21&"));
  EXPECT_EQ(server.seen("list pods").size(), 1U);
}

TEST_F(KubeProtoWatchTest, AnExpiredVersionIsListedAfresh) {
  const json gone{{"code", 410}, {"message", "too old resource version"}};
  watch({frame(proto::event("ERROR", gone, "Status"))}, End::kHold);
  start();
  ASSERT_TRUE(bench.metrics.wait_restart("pods expired"));
  ASSERT_TRUE(server.wait_seen("list pods", 2));
}

TEST_F(KubeProtoWatchTest, WhatCannotBeReadIsNamedOrIsNoStreamAndListedAfreshAfterAWait) {
  bench.limits.max_object_bytes = 100'000;
  json nameless_container = json::parse(pod_json("broken", 11));
  nameless_container["spec"]["containers"][0].erase("name");
  json large = json::parse(pod_json("large", 12));
  large["metadata"]["annotations"]["note"] = std::string(200'000, 'x');
  struct Row {
    std::string frame;
    std::string says;
  };
  const Row unreadable[] = {
      {frame(proto::event("ADDED", nameless_container)), "ns/broken cannot be read: "},
      {frame(proto::event("ADDED", large)), "ns/large cannot be read: it is larger than"},
      {std::string(3000, '{'), "begins `{{{{"},
  };
  const Row garbage[] = {
      {frame("\xFF no protobuf"), "a frame of the stream is not an event: the watch event "},
      {frame(proto::event_of("ADDED", "{}")), "must begin with `k8s`"},
  };
  for (const Row& row : unreadable) watch({row.frame}, End::kHold);
  for (const Row& row : garbage) watch({row.frame}, End::kHold);
  start();
  for (const Row& row : unreadable) EXPECT_TRUE(bench.log.wait_for(row.says)) << row.says;
  for (const Row& row : garbage) EXPECT_TRUE(bench.log.wait_for(row.says)) << row.says;
  ASSERT_TRUE(bench.metrics.wait_restart("pods garbage", std::size(garbage)));
  ASSERT_TRUE(server.wait_seen("list pods", std::size(unreadable) + std::size(garbage) + 1));
  EXPECT_EQ(bench.metrics.counts.get().problems["unreadable"], std::ssize(unreadable));
}

TEST_F(KubeProtoWatchTest, AStreamThatEndsWellInTheMidstOfAFrameIsNoStream) {
  watch({std::string("\x00\x7F\xFF\xFF", 4), pod_event("ADDED", "swallowed", 11)}, End::kFinish);
  start();
  EXPECT_TRUE(bench.log.wait_for("the watch of pods failed: it ended in the middle of a frame"));
  ASSERT_TRUE(bench.metrics.wait_restart("pods garbage"));
  ASSERT_TRUE(server.wait_seen("list pods", 2));
}

TEST_F(KubeProtoWatchTest, ARefusalInProtobufIsASentenceAndSaysWhetherToListAfresh) {
  const auto refuse = [this](int status, const std::string& message) {
    ScriptedReply reply;
    reply.status = status;
    reply.type = "application/vnd.kubernetes.protobuf;stream=watch";
    reply.body = proto::envelope(
        "Status", proto::Writer{}.message({{"code", status}, {"message", message}}, "Status"));
    server.script("watch pods", reply);
  };
  refuse(403, "pods is forbidden");
  refuse(504, "Timeout: Too large resource version: 9, current: 5");
  refuse(503, "resting");
  start();
  EXPECT_TRUE(bench.log.wait_for("the API server answered 403: pods is forbidden; retrying in"));
  EXPECT_TRUE(bench.log.wait_for("answered 504: Timeout: Too large resource version"));
  ASSERT_TRUE(bench.metrics.wait_restart("pods busy"));
  EXPECT_EQ(server.seen("list pods").size(), 3U);
}

}  // namespace
}  // namespace snug::kube_proto_watch_test
