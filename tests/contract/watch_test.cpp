// Replays tests/contract/watch: what kube-apiserver sent of the same events in JSON and in
// protobuf. tests/e2e/record_watch.py made the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "snug/codec/kube_objects.hpp"
#include "snug/codec/object_names.hpp"
#include "snug/codec/stream_splitters.hpp"
#include "support/source_file.hpp"

namespace snug::watch_test {
namespace {

const std::filesystem::path kSamples = source_file("tests/contract/watch");

template <typename Splitter>
std::vector<std::string> objects_in(const char* name) {
  std::ifstream file(kSamples / name, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  std::vector<std::string> objects;
  Splitter splitter(1'000'000, {[&](std::string_view object) {
                                  objects.emplace_back(object);
                                  return true;
                                },
                                [](std::string_view) { return false; }});
  EXPECT_TRUE(splitter.feed(bytes.str()));
  return objects;
}

std::vector<codec::WatchEvent> events_in(const std::vector<std::string>& objects,
                                         codec::WireFormat format) {
  codec::KubeObjectReader reader{base::Limits{}};
  std::vector<codec::WatchEvent> events;
  for (const std::string& object : objects) {
    auto event = reader.read_pod_event(object, format);
    EXPECT_TRUE(event) << event.error().message;
    if (event) events.push_back(*std::move(event));
  }
  return events;
}

TEST(WatchContractTest, BothWiresTellTheSameOfARealWatch) {
  const auto lines = objects_in<codec::LineSplitter>("pods.json");
  const auto frames = objects_in<codec::FrameSplitter>("pods.pb");
  const auto from_json = events_in(lines, codec::WireFormat::kJson);
  const auto from_proto = events_in(frames, codec::WireFormat::kProtobuf);
  ASSERT_EQ(from_json.size(), from_proto.size());
  std::map<codec::WatchEventType, int> kinds;
  for (std::size_t i = 0; i < from_json.size(); ++i) {
    EXPECT_EQ(from_json[i].type, from_proto[i].type) << i;
    EXPECT_EQ(from_json[i].pod, from_proto[i].pod) << i;
    EXPECT_EQ(from_json[i].resource_version, from_proto[i].resource_version) << i;
    EXPECT_EQ(from_json[i].error_code, from_proto[i].error_code) << i;
    EXPECT_EQ(from_json[i].error_message, from_proto[i].error_message) << i;
    EXPECT_EQ(
        codec::name_unreadable(lines[i], codec::WireFormat::kJson).starts_with("the object"),
        codec::name_unreadable(frames[i], codec::WireFormat::kProtobuf).starts_with("the object"));
    ++kinds[from_proto[i].type];
  }
  EXPECT_EQ(kinds.size(), 5U) << "the samples have an event of every kind";
}

TEST(WatchContractTest, TheSamplesHaveAllThatSnugReadsOfAPod) {
  const auto frames = objects_in<codec::FrameSplitter>("pods.pb");
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(codec::name_unreadable(frames.front(), codec::WireFormat::kProtobuf),
            "default/train-0");
  const auto events = events_in(frames, codec::WireFormat::kProtobuf);
  const model::PodFacts& rich = events.at(0).pod;
  EXPECT_EQ(rich.priority, -5);
  EXPECT_EQ(rich.scheduler_name, "snug");
  EXPECT_TRUE(rich.has_soft_preferences);
  EXPECT_THAT(rich.creation_timestamp, ::testing::MatchesRegex("20..-..-..T..:..:..Z"));
  EXPECT_EQ(rich.annotations.at("snug.dev/note"),
            "\u00e4 \u2603 \U0001F600 \"\\\n\t\x01<&>\u2028\x7f");
  constexpr std::int64_t kGi = std::int64_t{1} << 30;
  const std::vector<model::ContainerFacts> containers{
      {"fetch", model::ContainerType::kInit, {}, {2'000, 128'974'848}},
      {"side", model::ContainerType::kSidecar, {{"nvidia.com/gpu", "1"}}, {500, kGi}},
      {"main", model::ContainerType::kApp, {{"nvidia.com/gpu", "2"}}, {500, kGi}}};
  EXPECT_EQ(rich.containers, containers);
  EXPECT_EQ(rich.labels, (model::StringMap{{"app", "train"}}));
  const auto any = [&](auto has) {
    return std::ranges::any_of(events, has, &codec::WatchEvent::pod);
  };
  EXPECT_TRUE(any([](const model::PodFacts& pod) { return pod.node_name == "n1"; }));
  EXPECT_TRUE(any([](const model::PodFacts& pod) { return pod.nominated_node_name == "n1"; }));
  EXPECT_TRUE(any([](const model::PodFacts& pod) { return pod.terminating; }));
  EXPECT_TRUE(any([](const model::PodFacts& pod) { return pod.finished; }));
  EXPECT_TRUE(any(
      [](const model::PodFacts& pod) { return pod.name == "hard" && !pod.has_soft_preferences; }));
}

TEST(WatchContractTest, TheHostsPartOfARealPodIsRead) {
  const auto events =
      events_in(objects_in<codec::FrameSplitter>("pods.pb"), codec::WireFormat::kProtobuf);
  const auto pod = [&](std::string_view name) {
    const auto found = std::ranges::find(events, name, [](const codec::WatchEvent& event) {
      return std::string_view(event.pod.name);
    });
    return found == events.end() ? model::PodFacts{} : found->pod;
  };
  constexpr std::int64_t kMi = std::int64_t{1} << 20;
  const model::PodFacts pod_level = pod("pod-level");
  EXPECT_EQ(pod_level.overhead, (model::HostResources{250, 120 * kMi}));
  EXPECT_EQ(pod_level.pod_level_cpu_milli, 3'000);
  EXPECT_EQ(pod_level.pod_level_memory_bytes, 1'024 * kMi) << "what its container requests";
  EXPECT_EQ(pod("disk").containers.at(0).host, (model::HostResources{0, 1'536 * kMi}))
      << "its limit";
  for (const char* name : {"host-port", "claim", "ephemeral", "device", "apart", "disk", "hard"}) {
    EXPECT_TRUE(pod(name).has_other_constraints) << name;
  }
  for (const char* name : {"train-0", "spread", "pod-level", "free"}) {
    EXPECT_EQ(pod(name).name, name);
    EXPECT_FALSE(pod(name).has_other_constraints) << name;
  }
}

}  // namespace
}  // namespace snug::watch_test
