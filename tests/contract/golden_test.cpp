// Replays api/examples/*.json: what kube-scheduler sends, and the very reply.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "app/service_core.hpp"
#include "snug/adapters/memory/memory_api.hpp"
#include "snug/codec/manifests.hpp"
#include "snug/codec/policy_codec.hpp"
#include "support/source_file.hpp"
#include "unit/service/fixture.hpp"

namespace snug::testing::golden_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kExamples = source_file("api/examples");

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> samples() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kExamples)) {
    if (entry.path().extension() != ".json") continue;
    if (json::parse(read_file(entry.path())).contains("verb")) {
      names.push_back(entry.path().stem());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

service::AnswerMode answer_of(const json& sample) {
  const std::map<std::string, service::AnswerMode> modes{{"winner", service::AnswerMode::kWinner},
                                                         {"all", service::AnswerMode::kAll},
                                                         {"advise", service::AnswerMode::kAdvise},
                                                         {"auto", service::AnswerMode::kAuto}};
  return modes.at(sample.value("options", json::object()).value("answer", "auto"));
}

class GoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, TheReplyIsTheVeryOneOfTheSample) {
  const json sample = json::parse(read_file(kExamples / (GetParam() + ".json")));
  const std::string cluster = sample.at("cluster").get<std::string>();
  service::ServiceOptions options;
  options.answer = answer_of(sample);
  options.kubernetes_minor =
      sample.value("options", json::object()).value("kubernetesMinor", options.kubernetes_minor);
  auto manifests = codec::read_manifests(read_file(kExamples / cluster), cluster, options.limits);
  ASSERT_TRUE(manifests) << manifests.error().message;
  auto policy = codec::read_policy(codec::default_policy_yaml(), "default", options.limits);
  ASSERT_TRUE(policy) << policy.error().message;

  base::SteadyClock clock;
  base::SystemClock wall_clock;
  CountingMetrics metrics;
  NoLog log;
  memory::MemoryApi api(*std::move(manifests), options.limits);
  const service::PolicyStore store(std::make_shared<const score::Policy>(*std::move(policy)));
  app::ServiceCore core({store, api, metrics, log, clock, wall_clock, &api}, options);
  api.start(core.reconciler);

  const json& request = sample.at("request");
  std::string body = request.is_string() ? request.get<std::string>() : request.dump();
  const std::string verb = sample.at("verb").get<std::string>();
  const service::Reply reply = verb == "filter"       ? core.service.filter(body)
                               : verb == "prioritize" ? core.service.prioritize(body)
                               : verb == "preempt"    ? core.service.preempt(body)
                                                      : core.service.bind(body);
  EXPECT_EQ(reply.status, sample.value("status", 200));
  EXPECT_EQ(json::parse(reply.body), sample.at("reply")) << reply.body;
  api.stop();
}

INSTANTIATE_TEST_SUITE_P(Samples, GoldenTest, ::testing::ValuesIn(samples()), [](const auto& row) {
  std::string name = row.param;
  std::replace_if(name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace snug::testing::golden_test
