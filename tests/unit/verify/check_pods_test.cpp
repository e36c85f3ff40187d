#include "snug/verify_codec/check_pods.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "snug/verify/verify_limits.hpp"
#include "snug/verify_codec/observation_codec.hpp"

namespace snug::check_pods_test {
namespace {

using nlohmann::json;
using verify::PodEnd;
using verify_codec::CheckSettings;

const CheckSettings kSettings{.run = "0123abcd",
                              .node = "n1",
                              .name_space = "team",
                              .image = "registry/snug-agent:1",
                              .memory_mib = 2'048,
                              .isolation = "mps",
                              .allocate_mib = 2'304,
                              .user = 0,
                              .seconds_to_live = 150};

TEST(CheckPodsTest, OnlyTheShareIsScheduledAndAllocates) {
  const json share = json::parse(write_check_pod(kSettings, verify_codec::kSharePod));
  EXPECT_EQ(share["metadata"]["annotations"],
            (json{{"gpu-memory", "2048Mi"}, {"gpu-isolation", "mps"}}));
  EXPECT_FALSE(share["spec"].contains("nodeName"));
  EXPECT_EQ(share["spec"]["affinity"]["nodeAffinity"]
                 ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"],
            json::parse(R"([{"matchFields": [{"key": "metadata.name", "operator": "In",
                                              "values": ["n1"]}]}])"));
  EXPECT_EQ(share["spec"]["containers"][0]["args"],
            json({"--result=/dev/termination-log", "--allocate-mib=2304"}));
  EXPECT_EQ(share["spec"]["containers"][0]["command"], json::array({"/usr/bin/snug-observe"}));
  const json greedy = json::parse(write_check_pod(kSettings, verify_codec::kGreedyPod));
  EXPECT_EQ(greedy["spec"]["nodeName"], "n1");
  EXPECT_EQ(greedy["metadata"]["annotations"], json::object());
  EXPECT_EQ(greedy["spec"]["containers"][0]["env"],
            json::parse(R"([{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])"));
  EXPECT_EQ(greedy["spec"]["containers"][0]["args"],
            json::array({"--result=/dev/termination-log"}));
}

TEST(CheckPodsTest, AllPodsEndAndBelongToTheRun) {
  for (const char* kind : {verify_codec::kSharePod, verify_codec::kGreedyPod, verify_codec::kCdiPod,
                           verify_codec::kToolkitsCdiPod}) {
    const json pod = json::parse(write_check_pod(kSettings, kind));
    EXPECT_EQ(pod["metadata"]["name"], "snug-verify-0123abcd-" + std::string(kind));
    EXPECT_EQ(pod["metadata"]["namespace"], "team");
    EXPECT_EQ(pod["metadata"]["labels"], (json{{"snug.dev/verify", "0123abcd"}}));
    EXPECT_EQ(pod["spec"]["activeDeadlineSeconds"], 150);
    EXPECT_EQ(pod["spec"]["restartPolicy"], "Never");
    EXPECT_EQ(pod["spec"]["tolerations"], json::parse(R"([{"operator": "Exists"}])"));
    EXPECT_EQ(pod["spec"]["securityContext"]["runAsUser"], 0);
    EXPECT_EQ(pod["spec"]["securityContext"]["runAsNonRoot"], false);
  }
  const json pod = json::parse(write_check_pod(CheckSettings{}, verify_codec::kCdiPod));
  EXPECT_EQ(pod["spec"]["securityContext"]["runAsNonRoot"], true);
  EXPECT_FALSE(pod["spec"]["securityContext"].contains("runAsUser"));
}

TEST(CheckPodsTest, HowFarAPodIs) {
  const std::string seen = json(verify_codec::write_observation({})).dump();
  struct Row {
    const char* what;
    std::string spec_and_status;
    PodEnd end;
    const char* reason;
    bool is_final;
  };
  const std::string on_node = R"("spec": {"nodeName": "n1"}, "status": )";
  const auto container = [&on_node](const std::string& state) {
    return on_node + R"({"phase": "Pending", "containerStatuses": [
        {"name": "injected", "state": {"terminated": {"exitCode": 0}}},
        {"name": "observe", "state": )" +
           state + "}]}";
  };
  const Row rows[] = {
      {"new", R"("spec": {}, "status": {})", PodEnd::kNotPlaced,
       "no scheduler has tried it (--scheduler-name)", false},
      {"refused by the scheduler", R"("spec": {}, "status": {"conditions": [
          {"type": "PodScheduled", "status": "False", "message": "0/1 nodes"}]})",
       PodEnd::kNotPlaced, "0/1 nodes", false},
      {"bound", on_node + "{}", PodEnd::kNotStarted, "", false},
      {"being created", container(R"({"waiting": {"reason": "ContainerCreating"}})"),
       PodEnd::kNotStarted, "ContainerCreating", false},
      {"waits for its daemon",
       container(R"({"waiting": {"reason": "CreateContainerError", "message": "no daemon"}})"),
       PodEnd::kNotStarted, "no daemon", false},
      {"refused by the agent",
       container(R"({"waiting": {"message": "the annotation asks for GPUs by CDI; GPUs"}})"),
       PodEnd::kNotStarted, "the annotation asks for GPUs by CDI; GPUs", true},
      {"runs", container(R"({"running": {}})"), PodEnd::kRunning, "", false},
      {"only another container is known",
       on_node + R"({"containerStatuses": [{"name": "injected", "state": {"running": {}}}]})",
       PodEnd::kNotStarted, "", false},
      {"has observed", container(R"({"terminated": {"exitCode": 0, "message": )" + seen + "}}"),
       PodEnd::kObserved, "", true},
      {"has failed",
       container(R"({"terminated": {"exitCode": 127, "reason": "Error", "message": "no file"}})"),
       PodEnd::kFailed, "Error, exit code 127: no file", true},
      {"refused by the kubelet",
       on_node + R"({"phase": "Failed", "reason": "OutOfcpu", "message": "no room"})",
       PodEnd::kHindered, "OutOfcpu: no room", true},
  };
  for (const Row& row : rows) {
    const auto pods = verify_codec::read_check_pods(R"({"items": [{"metadata": {"name": "p"}, )" +
                                                    row.spec_and_status + "}]}");
    ASSERT_TRUE(pods) << row.what << ": " << pods.error().message;
    ASSERT_EQ(pods->size(), 1) << row.what;
    EXPECT_EQ(pods->front().name, "p") << row.what;
    EXPECT_EQ(pods->front().result.end, row.end) << row.what;
    EXPECT_EQ(pods->front().result.reason, row.reason) << row.what;
    EXPECT_EQ(pods->front().is_final, row.is_final) << row.what;
  }
}

TEST(CheckPodsTest, WhatTheKubeletLacksIsNotTheNodesFault) {
  for (const char* reason : {"ErrImagePull", "ImagePullBackOff", "InvalidImageName",
                             "ErrImageNeverPull", "CreateContainerConfigError"}) {
    const json list = {
        {"items",
         {{{"metadata", {{"name", "p"}}},
           {"spec", {{"nodeName", "n1"}}},
           {"status",
            {{"containerStatuses",
              {{{"name", "observe"},
                {"state", {{"waiting", {{"reason", reason}, {"message", "why"}}}}}}}}}}}}}};
    const auto pods = verify_codec::read_check_pods(list.dump());
    ASSERT_TRUE(pods) << pods.error().message;
    EXPECT_EQ(pods->front().result.end, PodEnd::kHindered) << reason;
    EXPECT_EQ(pods->front().result.reason, "why");
    EXPECT_FALSE(pods->front().is_final) << reason;
  }
}

TEST(CheckPodsTest, TheReservationOfAPod) {
  const json reservation = json::parse(
      R"({"version":1,"uid":"u","node":"n1","containers":[{"name":"observe","request":"gpu-memory=2048Mi",
          "devices":[{"index":1,"uuid":"GPU-1","mode":"time-slicing","memoryMiB":2048,"computeMilli":50}]}]})");
  const json list = {
      {"items", json::array({{{"metadata",
                               {{"name", "p"},
                                {"annotations", {{"snug.dev/reservation", reservation.dump()}}}}},
                              {"spec", json::object()}}})}};
  const auto pods = verify_codec::read_check_pods(list.dump());
  ASSERT_TRUE(pods) << pods.error().message;
  ASSERT_TRUE(pods->front().result.reservation);
  EXPECT_EQ(pods->front().result.reservation->containers.front().devices().front().uuid, "GPU-1");
}

TEST(CheckPodsTest, OtherTextsAreAnError) {
  for (const char* text : {"", "hello", "[]", "{}", R"({"items": [{}]})", R"({"items": 3})"})
    EXPECT_FALSE(verify_codec::read_check_pods(text)) << text;
}

TEST(ObservationCodecTest, WhatIsWrittenIsRead) {
  verify::Observation seen;
  seen.nodes = {{.name = "nvidia0", .denied = true}, {.name = "nvidiactl", .denied = false}};
  seen.variables = {{"NVIDIA_VISIBLE_DEVICES", "void"}};
  seen.cuda = {.library = "/x/libcuda.so.1",
               .problem = "cuInit returns 100",
               .devices = 1,
               .uuid = "00000001-1111",
               .total_mib = 4'864};
  seen.allocation = {.wanted_mib = 2'304, .got_mib = 2'048, .out_of_memory = true};
  const std::string text = verify_codec::write_observation(seen);
  const auto read = verify_codec::read_observation(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(verify_codec::write_observation(*read), text);
  EXPECT_EQ(read->nodes.front().name, "nvidia0");
  EXPECT_TRUE(read->nodes.front().denied);
  EXPECT_EQ(read->variables, seen.variables);
  EXPECT_EQ(read->cuda.library, seen.cuda.library);
  EXPECT_EQ(read->cuda.problem, seen.cuda.problem);
  EXPECT_EQ(read->cuda.total_mib, 4'864);
  EXPECT_EQ(read->allocation.got_mib, 2'048);
  EXPECT_TRUE(read->allocation.out_of_memory);
}

TEST(ObservationCodecTest, TheKubeletKeepsAllOfIt) {
  verify::Observation seen;
  for (int i = 0; i < 200; ++i) seen.nodes.push_back({.name = "nvidia" + std::string(200, '7')});
  for (const char* name : {"NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                           "CUDA_MPS_PIPE_DIRECTORY", "CUDA_DEVICE_SM_LIMIT"})
    seen.variables[name] = std::string(5'000, 'v');
  seen.cuda.library = seen.cuda.problem = std::string(5'000, 'p');
  const std::string text = verify_codec::write_observation(seen);
  EXPECT_LE(text.size(), verify::kMaxObservationBytes);
  EXPECT_TRUE(verify_codec::read_observation(text));
}

TEST(ObservationCodecTest, WhatIsEscapedIsLeftOutUntilTheKubeletKeepsAllOfIt) {
  verify::Observation seen;
  for (int i = 0; i < 200; ++i) seen.nodes.push_back({.name = std::string(200, '\x01')});
  for (char name = 'A'; name <= 'G'; ++name)
    seen.variables[std::string(1, name)] = std::string(5'000, '\x01');
  seen.variables["NVIDIA_VISIBLE_DEVICES"] = "void";
  const auto fits = [](const verify::Observation& each) {
    const std::string text = verify_codec::write_observation(each) + "\n";
    return text.size() <= verify::kMaxObservationBytes && verify_codec::read_observation(text);
  };
  EXPECT_TRUE(fits(seen));
  seen.cuda.library = seen.cuda.problem = std::string(5'000, '\x01');
  EXPECT_TRUE(fits(seen));
  seen.cuda = {};
  seen.nodes.resize(1);
  EXPECT_TRUE(fits(seen));
  const auto read = verify_codec::read_observation(verify_codec::write_observation(seen));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->variables.contains("NVIDIA_VISIBLE_DEVICES"));
  EXPECT_EQ(read->nodes.size(), 1);
}

TEST(ObservationCodecTest, OtherTextsAreAnError) {
  for (const char* text : {"", "hello", "{}", R"({"nodes": 1})"})
    EXPECT_FALSE(verify_codec::read_observation(text)) << text;
}

TEST(ObservationCodecTest, TheRowsAsJson) {
  const verify::Check checks[] = {{"a", "b", "c", verify::CheckVerdict::kOk},
                                  {"d", "e", "f", verify::CheckVerdict::kFailed},
                                  {"g", "h", "i", verify::CheckVerdict::kNotChecked},
                                  {"j", "k", "l", verify::CheckVerdict::kNotEnforced}};
  const json reply = json::parse(verify_codec::write_checks("n1", checks));
  EXPECT_EQ(reply["node"], "n1");
  ASSERT_EQ(reply["checks"].size(), 4);
  EXPECT_EQ(reply["checks"][0],
            json::parse(R"({"check":"a","expected":"b","seen":"c","verdict":"ok"})"));
  EXPECT_EQ(reply["checks"][1]["verdict"], "failed");
  EXPECT_EQ(reply["checks"][2]["verdict"], "not-checked");
  EXPECT_EQ(reply["checks"][3]["verdict"], "not-enforced");
}

}  // namespace
}  // namespace snug::check_pods_test
