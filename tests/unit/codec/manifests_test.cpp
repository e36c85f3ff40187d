#include "snug/codec/manifests.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace snug::manifests_test {
namespace {

constexpr const char* kNode = R"({"kind":"Node","metadata":{"name":"n1"}})";
constexpr const char* kPod =
    R"({"kind":"Pod","metadata":{"name":"p1","namespace":"ml","uid":"u1"},)"
    R"("spec":{"containers":[{"name":"main"}]}})";

std::string list_of(const std::string& items, const std::string& kind = "List") {
  return R"({"apiVersion":"v1","items":[)" + items + R"(],"kind":")" + kind +
         R"(","metadata":{"resourceVersion":""}})";
}

TEST(ManifestsTest, AListAsKubectlPrintsItIsRead) {
  const auto read =
      codec::read_manifests(list_of(std::string(kNode) + ",\n " + kPod), "f.json", base::Limits{});
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->nodes.size(), 1U);
  ASSERT_EQ(read->pods.size(), 1U);
  EXPECT_EQ(read->nodes[0].name, "n1");
  EXPECT_EQ(read->pods[0].name_space, "ml");
  EXPECT_EQ(read->pods[0].uid, "u1");
  EXPECT_EQ(read->pods[0].containers.at(0).name, "main");
}

TEST(ManifestsTest, YamlSaysTheSame) {
  const auto read = codec::read_manifests(
      "apiVersion: v1\n"
      "kind: List\n"
      "items:\n"
      "- kind: Node\n"
      "  metadata:\n"
      "    name: n1\n"
      "    labels: {nvidia.com/gpu.count: \"4\"}\n"
      "  status:\n"
      "    capacity: {nvidia.com/gpu: 4}\n"
      "    allocatable: {cpu: 7500m, memory: 1Ki, pods: 110}\n"
      "- kind: Pod\n"
      "  metadata:\n"
      "    name: p1\n"
      "    namespace: ml\n"
      "    annotations: {gpu-fraction: \"0.25\"}\n"
      "    labels: {app: train}\n"
      "  spec:\n"
      "    containers: [{name: main, resources: {limits: {cpu: 1.5, memory: 1Ki}}}]\n"
      "    overhead: {cpu: 10m}\n"
      "    resourceClaims: [{name: nic}]\n"
      "    priority: 7\n",
      "f.yaml", base::Limits{});
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->nodes.size(), 1U);
  ASSERT_EQ(read->pods.size(), 1U);
  EXPECT_EQ(read->nodes[0].labels.at("nvidia.com/gpu.count"), "4");
  EXPECT_EQ(read->nodes[0].capacity.at("nvidia.com/gpu"), "4");
  EXPECT_EQ(read->nodes[0].host, (model::HostAllocatable{{7'500, 1'024}, 110, true}));
  EXPECT_EQ(read->pods[0].annotations.at("gpu-fraction"), "0.25");
  EXPECT_EQ(read->pods[0].labels.at("app"), "train");
  EXPECT_EQ(read->pods[0].containers.at(0).host, (model::HostResources{1'500, 1'024}));
  EXPECT_EQ(read->pods[0].overhead, (model::HostResources{10, 0}));
  EXPECT_TRUE(read->pods[0].has_other_constraints);
  EXPECT_EQ(read->pods[0].priority, 7);
}

TEST(ManifestsTest, TypedListsAndSingleObjectsAreRead) {
  const auto nodes = codec::read_manifests(
      list_of(R"({"metadata":{"name":"n1"}},{"metadata":{"name":"n2"}})", "NodeList"), "f",
      base::Limits{});
  ASSERT_TRUE(nodes.has_value()) << nodes.error().message;
  EXPECT_EQ(nodes->nodes.size(), 2U);
  const auto pods = codec::read_manifests(
      list_of(R"({"metadata":{"name":"p","namespace":"d"},"spec":{"containers":[{"name":"c"}]}})",
              "PodList"),
      "f", base::Limits{});
  ASSERT_TRUE(pods.has_value()) << pods.error().message;
  EXPECT_EQ(pods->pods.size(), 1U);
  EXPECT_EQ(codec::read_manifests(kNode, "f", base::Limits{})->nodes.size(), 1U);
  EXPECT_EQ(codec::read_manifests(kPod, "f", base::Limits{})->pods.size(), 1U);
  for (const char* empty : {R"({"kind":"List","items":[ ]})", R"({"kind":"List","items":null})",
                            R"({"kind":"List"})", "kind: List\nitems: []\n"}) {
    const auto read = codec::read_manifests(empty, "f", base::Limits{});
    ASSERT_TRUE(read.has_value()) << empty << read.error().message;
    EXPECT_TRUE(read->nodes.empty() && read->pods.empty());
  }
}

TEST(ManifestsTest, BracketsAndQuotesInTextsDoNotCutAnItem) {
  const auto read =
      codec::read_manifests(list_of(R"({"kind":"Node","metadata":{"name":"n1","annotations":)"
                                    R"({"snug.dev/inventory":"{\"a\":[1,\"]}\\\\\"]}"}}},)"
                                    R"({"kind":"Node","metadata":{"name":"n2"}})"),
                            "f", base::Limits{});
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->nodes.size(), 2U);
  EXPECT_EQ(read->nodes[0].annotations.at("snug.dev/inventory"), R"({"a":[1,"]}\\"]})");
  EXPECT_EQ(read->nodes[1].name, "n2");
}

struct Refused {
  std::string text;
  std::string why;
};

void PrintTo(const Refused& row, std::ostream* out) { *out << row.text.substr(0, 200); }

class ManifestRefusedTest : public testing::TestWithParam<Refused> {};

TEST_P(ManifestRefusedTest, SaysWhere) {
  const auto read = codec::read_manifests(GetParam().text, "f", base::Limits{});
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().message.find("f:"), 0U) << read.error().message;
  EXPECT_NE(read.error().message.find(GetParam().why), std::string::npos) << read.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ManifestRefusedTest,
    testing::Values(
        Refused{"", "the manifest must be an object"}, Refused{"[]", "must be an object"},
        Refused{"{", "not valid JSON"}, Refused{"{}", "f: the manifest's kind is missing"},
        Refused{R"({"kind":7})", "f: the manifest's kind must be a string"},
        Refused{R"({"kind":"Deployment"})", "of kind \"Deployment\"; expected List"},
        Refused{list_of(R"({"kind":"Service"})"), "items[0] is of kind \"Service\"; only Nodes"},
        Refused{list_of(R"({"metadata":{"name":"n1"}})"), "items[0].kind is missing"},
        Refused{list_of(std::string(kNode) + "," + kNode), "items[1]: the node n1 is given twice"},
        Refused{list_of(std::string(kPod) + "," + kPod), "items[1]: the pod ml/p1 is given twice"},
        Refused{list_of(R"({"kind":"Node","metadata":{}})"), "items[0].metadata"},
        Refused{list_of(R"({"kind":"Pod","metadata":{"name":"p","namespace":"d"},"spec":)"
                        R"({"overhead":{"cpu":"x"}}})"),
                "items[0].spec.overhead.cpu must be a Kubernetes quantity"},
        Refused{list_of(R"({"kind":"Node"},)"), "items[0]"},
        Refused{list_of(std::string(kNode) + ","), "items[1]: the JSON text is empty"},
        Refused{list_of(std::string(kNode) + " 7"), "items[0]: the text is not valid JSON"},
        Refused{list_of(kNode) + "x", "not valid JSON"},
        Refused{R"({"kind":"List","items":[)" + std::string(kNode) + "}", "not valid JSON"},
        Refused{R"({"kind":"List","items":[)" + std::string(kNode), "not valid JSON"},
        Refused{R"({"kind":"List","items":{}})", "items must be an array"},
        Refused{R"({"kind":"List","items":[],"items":[]})", "items"},
        Refused{R"({"kind":"List","item\u0073":[{"kind":"Node","metadata":{"name":"n"}}]})",
                "items[0] is under a key"},
        Refused{list_of(std::string(5'000, '[')), "nested too deep"},
        Refused{list_of(std::string(5'000, '[') + std::string(5'000, ']')), "items[0]: the JSON"},
        Refused{"kind: Node\nmetadata: {name: a}\n---\nkind: Node\nmetadata: {name: b}\n",
                "f:4:1: the text continues after its first document; only one document is allowed; "
                "put several objects into one List"},
        Refused{"# " + std::string(300'000, 'x'), "give larger manifests as JSON"}));

TEST(ManifestsTest, NoTwoFilesMayHaveOneObjectOrOneUid) {
  const auto node = [](std::string name) { return model::NodeFacts{.name = std::move(name)}; };
  const auto pod = [](std::string name, std::string uid) {
    return model::PodFacts{.name_space = "ml", .name = std::move(name), .uid = std::move(uid)};
  };
  struct Row {
    codec::Manifests more;
    std::string why;  // empty: it is taken
  };
  const std::vector<Row> rows = {
      {{{node("n2")}, {pod("p2", "u2"), pod("p3", ""), pod("p4", "")}}, ""},
      {{{node("n1")}, {}}, "b: the node n1 is given twice"},
      {{{}, {pod("p1", "u9")}}, "b: the pod ml/p1 is given twice"},
      {{{}, {pod("p2", "u1")}}, "b: the uid u1 is given twice"},
      {{{}, {pod("p2", "u2"), pod("p3", "u2")}}, "b: the uid u2 is given twice"}};
  for (const Row& row : rows) {
    codec::Manifests all{{node("n1")}, {pod("p1", "u1")}};
    const base::Result<void> added = codec::append(all, row.more, "b");
    ASSERT_EQ(added.has_value(), row.why.empty()) << row.why;
    if (!added) {
      EXPECT_EQ(added.error().message.find(row.why), 0U) << added.error().message;
    }
    EXPECT_EQ(all.pods.size(), 1 + (added ? row.more.pods.size() : 0)) << "all or nothing";
  }
}

TEST(ManifestsTest, JsonHasALimitToo) {
  base::Limits limits;
  limits.max_manifest_bytes = 1'024;
  const auto read = codec::read_manifests(std::string(2'000, ' ') + kNode, "f", limits);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, base::ErrorCode::kTooLarge);
  EXPECT_NE(read.error().message.find(" bytes"), std::string::npos);
}

}  // namespace
}  // namespace snug::manifests_test
