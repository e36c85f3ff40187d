// Two readers of ExtenderArgs must agree on random bodies, valid and damaged: both refuse, or both
// extract the same.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "schedule_oracle.hpp"
#include "snug/base/limits.hpp"
#include "snug/codec/extender_codec.hpp"
#include "support/random.hpp"

namespace snug::extender_codec_differential_test {
namespace {

using nlohmann::json;

constexpr int kRounds = 20'000;
constexpr std::size_t kDepth = 16;
constexpr std::size_t kNames = 6;

/// SNUG_TEST_SEED repeats a run.
std::uint64_t test_seed() {
  const char* given = std::getenv("SNUG_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_{seed} {}

  std::string body() {
    std::string text = "{";
    std::vector<std::string> members;
    if (!rarely()) members.push_back(key("Pod") + value(pod()));
    if (likely()) members.push_back(key("NodeNames") + (rarely() ? "null" : names()));
    if (members.size() < 2 || rarely()) {
      members.push_back(key("Nodes") + (rarely() ? "null" : nodes()));
    }
    if (rarely()) members.push_back(pick(members));
    if (rarely()) members.push_back(R"("Extra":)" + any());
    random_.shuffle(members);
    for (const std::string& member : members) text += (text.size() > 1 ? "," : "") + member;
    return text + "}";
  }

  std::string damaged(std::string text) {
    for (int left = number(1, 3); left > 0 && !text.empty(); --left) damage(text);
    return text;
  }

 private:
  int number(int from, int to) { return static_cast<int>(random_.from_to(from, to)); }
  bool likely() { return number(0, 1) == 0; }
  bool rarely() { return number(0, 15) == 0; }

  std::string pick(const std::vector<std::string>& from) {
    if (from.empty()) return "\"x\":1";
    return random_.pick(from);
  }

  std::string any() {
    return pick({"null", "true", "0", "-1", "2.5", "1e3", R"("")", R"("x")", "[]", "{}", "[1]",
                 R"({"name":"n"})", R"(["n"])", R"("\u00e9\ud83d\ude00")", R"("\u0000")",
                 "99999999999999999999", "2147483648"});
  }

  /// Now and then another value than the one that belongs there.
  std::string value(std::string usual) { return number(0, 250) == 0 ? any() : usual; }

  std::string key(std::string name) {
    if (rarely()) {
      for (char& c : name) {
        if (likely()) c = static_cast<char>(c ^ 0x20);
      }
    }
    return '"' + name + "\":";
  }

  std::string text() {
    return value(pick({R"("a")", R"("train-0")", R"("")", R"("Always")", R"("Failed")",
                       R"("Succeeded")", R"("ScheduleAnyway")", R"("\"q\"\\\n")", "\"\xC3\xA9\"",
                       "null", R"("2026-11-20T08:00:00Z")"}));
  }

  /// An object of some of the members; at times one of them twice.
  std::string object(std::vector<std::string> members) {
    std::string out = "{";
    for (const std::string& member : members) {
      if (number(0, 80) == 0) continue;
      if (out.size() > 1) out += ',';
      out += member;
      if (number(0, 250) == 0) out += ',' + member;
    }
    return value(out + "}");
  }

  std::string quantity() {
    return value(pick({"2.5", "1e3", "0", "null", R"("500m")", R"("1.5Gi")", R"("12e6")",
                       R"("100n")", R"("8Ei")", R"("0.25")"}));
  }

  std::string resources() {
    const auto amounts = [this] {
      return object({R"("nvidia.com/gpu":)" + value(pick({"1", R"("2")", "0.5", "null"})),
                     R"("nvidia.com/mig-1g.5gb":)" + value(R"("1")"), R"("cpu":)" + quantity(),
                     '"' + pick({"snug.dev/gpu-milli", "snug.dev/gpu-memory-mib", "snug.dev/x"}) +
                         "\":" + quantity(),
                     '"' + pick({"memory", "memory", "memory", "storage"}) + "\":" + quantity()});
    };
    return object({R"("limits":)" + amounts(), R"("requests":)" + amounts()});
  }

  std::string ports() {
    return value(pick({"[]", "[]", "null", R"([{"containerPort":80}])", R"([{"hostPort":0}])",
                       R"([{},{"hostPort":8080}])"}));
  }

  std::string containers() {
    std::string out = "[";
    for (int left = number(0, 2); left > 0; --left) {
      if (out.size() > 1) out += ',';
      out += object({R"("name":)" + value(R"("c")"), R"("restartPolicy":)" + text(),
                     R"("resources":)" + resources(), R"("ports":)" + ports()});
    }
    return value(out + "]");
  }

  std::string metadata() {
    return object(
        {R"("name":)" + value(R"("p")"), R"("namespace":)" + value(R"("d")"), R"("uid":)" + text(),
         R"("resourceVersion":)" + text(), R"("creationTimestamp":)" + text(),
         R"("deletionTimestamp":)" + text(),
         R"("labels":)" + object({R"("app":)" + text(), R"("tier":)" + text()}),
         R"("annotations":)" + object({R"("gpu-fraction":)" + text(), R"("snug.dev/x":)" + text(),
                                       R"("kubectl.kubernetes.io/default-container":)" + text(),
                                       R"("other":)" + any()})});
  }

  std::string affinity() {
    const auto kind = [this](const std::string& name) {
      return '"' + name + "\":" +
             object({R"("preferredDuringSchedulingIgnoredDuringExecution":)" +
                         value(pick({"[]", "[{}]", "null"})),
                     R"("requiredDuringSchedulingIgnoredDuringExecution":)" +
                         value(pick({"[]", "[]", "[]", "[{}]", "null"}))});
    };
    return object({kind("nodeAffinity"), kind("podAffinity"), kind("podAntiAffinity")});
  }

  std::string pod() {
    const std::string spec = object(
        {R"("nodeName":)" + text(), R"("schedulerName":)" + text(),
         R"("priority":)" + value(pick({"0", "-7", "2147483647", "null"})),
         R"("initContainers":)" + containers(), R"("containers":)" + containers(),
         R"("affinity":)" + affinity(), R"("overhead":)" + object({R"("cpu":)" + quantity()}),
         R"("resources":)" + resources(), R"("resourceClaims":)" + value(pick({"[]", "[{}]"})),
         R"("volumes":)" + value("[" +
                                 object({R"("name":)" + text(),
                                         R"("ephemeral":)" + value(pick({"{}", "null"}))}) +
                                 "]"),
         R"("topologySpreadConstraints":)" +
             value("[" + object({R"("whenUnsatisfiable":)" + text()}) + "]")});
    return object(
        {R"("metadata":)" + metadata(), R"("spec":)" + spec,
         R"("status":)" + object({R"("phase":)" + text(), R"("nominatedNodeName":)" + text()})});
  }

  std::string names() {
    std::string out = "[";
    for (int left = number(0, 7); left > 0; --left) {
      if (out.size() > 1) out += ',';
      out += value(pick({R"("n1")", R"("n2")", R"("n3")", R"("\u006e1")", "\"n\xC3\xA9\""}));
    }
    return value(out + "]");
  }

  std::string nodes() {
    std::string out = "[";
    for (int left = number(0, 7); left > 0; --left) {
      if (out.size() > 1) out += ',';
      out += object({R"("metadata":)" + object({R"("name":)" + value(pick({R"("n1")", R"("n2")"})),
                                                R"("labels":)" + any()}),
                     R"("status":)" + any()});
    }
    return object({R"("metadata":{})", R"("items":)" + value(out + "]")});
  }

  void damage(std::string& text) {
    static constexpr std::string_view kAlphabet = "{}[]:,\"\\ 019.eE-ntfa\n\xC3\xFF";
    const auto at = [&] { return random_.below(text.size()); };
    const std::size_t from = at();
    switch (number(0, 5)) {
      case 0:
        text[from] = static_cast<char>(number(0, 255));
        return;
      case 1:
        text.erase(from, static_cast<std::size_t>(number(1, 4)));
        return;
      case 2:
        text.insert(from, 1, kAlphabet[random_.below(kAlphabet.size())]);
        return;
      case 3:
        text.resize(from);
        return;
      case 4:
        text.insert(at(), std::string{text.substr(from, static_cast<std::size_t>(number(1, 20)))});
        return;
      default:
        nest(text, from);
    }
  }

  /// Wraps a value in brackets, about as many as are allowed.
  void nest(std::string& text, std::size_t from) {
    const std::size_t colon = text.find(':', from);
    if (colon == std::string::npos) return;
    const auto levels = static_cast<std::size_t>(number(1, static_cast<int>(kDepth) + 2));
    text.insert(colon + 1, std::string(levels, '[') + std::string(levels, ']') + ",\"y\":");
  }

  Random random_;
};

void expect_same(const codec::ScheduleCall& call, OracleCall expected) {
  // A repeated key that nobody reads stands there twice, and in the oracle's tree once.
  EXPECT_GE(call.pod.annotation_bytes, expected.pod.annotation_bytes);
  expected.pod.annotation_bytes = call.pod.annotation_bytes;
  // The oracle does not know them. What they may be is in kube_objects_test and kube_proto_test.
  EXPECT_LE(call.pod.stray_keys.size(), base::kMaxStrayKeys);
  expected.pod.stray_keys = call.pod.stray_keys;
  EXPECT_EQ(call.pod, expected.pod);
  EXPECT_EQ(call.has_node_objects, expected.nodes_form);
  EXPECT_EQ(std::vector<std::string>(call.node_names.begin(), call.node_names.end()),
            expected.names);
  ASSERT_EQ(call.node_objects.size(), expected.objects.size());
  for (std::size_t i = 0; i < call.node_objects.size(); ++i) {
    EXPECT_EQ(oracle_object(call.node_objects[i], kDepth), expected.objects[i]);
  }
}

TEST(ExtenderCodecDifferentialTest, TwoReadersAgreeOnRandomBodies) {
  const std::uint64_t seed = test_seed();
  std::cout << "SNUG_TEST_SEED=" << seed << '\n';
  Generator generator{seed};
  base::Limits limits;
  limits.max_json_depth = kDepth;
  limits.max_names_per_call = kNames;
  codec::ExtenderReader reader{limits};
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string body = generator.body();
    if (round % 2 == 1) body = generator.damaged(std::move(body));
    const std::string copy = body;
    const auto call = reader.read_schedule(body);
    const auto expected = oracle_read(copy, kDepth, kNames);
    ASSERT_EQ(call.has_value(), expected.has_value())
        << "round " << round << " of seed " << seed << ": "
        << (call ? std::string{"accepted"} : call.error().message) << "\n"
        << copy;
    ++(call ? accepted : refused);
    if (call) expect_same(*call, *expected);
    ASSERT_FALSE(HasFailure()) << "round " << round << " of seed " << seed << "\n" << copy;
  }
  // Bodies that are all refused, or all accepted, would compare nothing.
  EXPECT_GT(accepted, kRounds / 10);
  EXPECT_GT(refused, kRounds / 10);
}

}  // namespace
}  // namespace snug::extender_codec_differential_test
