#include "snug/codec/admission_review.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "snug/base/text.hpp"

namespace snug::admission_review_test {
namespace {

using nlohmann::json;

json review_of(const std::string& operation, const json& object) {
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request",
           {{"uid", "u-1"},
            {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
            {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
            {"operation", operation},
            {"object", object},
            {"oldObject", nullptr},
            {"dryRun", false}}}};
}

json minimal_pod() {
  return {{"metadata", {{"annotations", {{"gpu-fraction", "0.5"}, {"other", "x"}}}}},
          {"spec", {{"containers", {{{"name", "main"}}}}}}};
}

base::Result<codec::AdmissionReview> read_text(std::string text, const base::Limits& limits = {}) {
  return codec::read_admission_review(text, limits);
}

std::string problem_of(const json& review) {
  const auto read = read_text(review.dump());
  if (!read) return read.error().message;
  EXPECT_FALSE(read->pod && !read->unreadable_new_pod.empty());
  return read->unreadable_new_pod.empty() ? "read" : "unreadable: " + read->unreadable_new_pod;
}

TEST(AdmissionReview, APodWithoutANameIsRead) {
  const auto review = read_text(review_of("CREATE", minimal_pod()).dump());
  ASSERT_TRUE(review) << review.error().message;
  EXPECT_EQ(review->uid, "u-1");
  ASSERT_TRUE(review->pod);
  EXPECT_TRUE(review->pod->creates);
  EXPECT_EQ(review->pod->pod.facts.annotations, (model::StringMap{{"gpu-fraction", "0.5"}}));
  EXPECT_EQ(review->pod->pod.facts.annotation_bytes, 21U);
  ASSERT_EQ(review->pod->pod.containers.size(), 1U);
  EXPECT_EQ(review->pod->pod.facts.scheduler_name, "");
  EXPECT_FALSE(review->pod->pod.tolerations || review->pod->pod.runtime_class);
  EXPECT_FALSE(review->pod->pod.containers[0].variables ||
               review->pod->pod.containers[0].has_resources);
}

TEST(AdmissionReview, AllThatAdditionsDependOnIsRead) {
  json pod = minimal_pod();
  pod["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "x";
  pod["spec"]["schedulerName"] = "s";
  pod["spec"]["runtimeClassName"] = "r";
  pod["spec"]["tolerations"] = json::parse(
      R"([{"operator":"Exists"},{"key":"k","operator":"Equal","effect":"NoExecute","value":"v"}])");
  pod["spec"]["initContainers"] = json::parse(
      R"([{"name":"i","restartPolicy":"Always","env":[{"name":"A","value":"1"},{"name":"B"}]}])");
  pod["spec"]["containers"][0]["resources"] =
      json::parse(R"({"limits":{"cpu":"1","snug.dev/gpu-milli":250},"requests":{}})");
  const auto review = read_text(review_of("CREATE", pod).dump());
  ASSERT_TRUE(review) << review.error().message;
  EXPECT_TRUE(review->pod->pod.is_mirror_pod);
  EXPECT_EQ(review->pod->pod.facts.scheduler_name, "s");
  EXPECT_EQ(review->pod->pod.runtime_class, "r");
  ASSERT_EQ(review->pod->pod.tolerations->size(), 2U);
  EXPECT_FALSE(review->pod->pod.tolerations->front().key);
  EXPECT_EQ(review->pod->pod.tolerations->back().effect, "NoExecute");
  EXPECT_EQ(review->pod->pod.init_containers.at(0).variables, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(review->pod->pod.facts.containers.at(0).type, model::ContainerType::kSidecar);
  EXPECT_EQ(review->pod->pod.containers[0].limits,
            (model::StringMap{{"snug.dev/gpu-milli", "250"}}));
  EXPECT_EQ(review->pod->pod.containers[0].requests, model::StringMap{});
}

TEST(AdmissionReview, TheAnnotationsBeforeAnUpdateAreRead) {
  json review = review_of("UPDATE", minimal_pod());
  review["request"]["oldObject"] = {{"metadata", {{"annotations", {{"gpu-memory", "1G"}}}}}};
  const auto read = read_text(review.dump());
  ASSERT_TRUE(read && read->pod);
  EXPECT_FALSE(read->pod->creates);
  EXPECT_EQ(read->pod->annotations_before, (model::StringMap{{"gpu-memory", "1G"}}));
}

TEST(AdmissionReview, WhatIsNoPodIsLetAlone) {
  const auto has_pod = [](const json& review) {
    const auto read = read_text(review.dump());
    return read && read->pod;
  };
  EXPECT_TRUE(has_pod(review_of("CREATE", minimal_pod())));
  EXPECT_FALSE(has_pod(review_of("DELETE", nullptr)));
  EXPECT_FALSE(has_pod(review_of("CONNECT", "no pod at all")));
  for (const auto& [key, value] :
       {std::pair{"group", "apps"}, std::pair{"version", "v2"}, std::pair{"resource", "nodes"}}) {
    json review = review_of("CREATE", minimal_pod());
    review["request"]["resource"][key] = value;
    EXPECT_FALSE(has_pod(review)) << key;
  }
  json review = review_of("UPDATE", minimal_pod());
  review["request"]["subResource"] = "status";
  EXPECT_FALSE(has_pod(review));
}

TEST(AdmissionReview, WhatCannotBeReadIsNamed) {
  const auto changed = [](const std::string& pointer, const json& value) {
    json review = review_of("CREATE", minimal_pod());
    review[json::json_pointer(pointer)] = value;
    return problem_of(review);
  };
  const std::string no_review = "the body must be an AdmissionReview of admission.k8s.io/v1";
  EXPECT_EQ(changed("/apiVersion", "admission.k8s.io/v1beta1"), no_review);
  EXPECT_EQ(changed("/kind", "Pod"), no_review);
  EXPECT_EQ(changed("/request", nullptr), "request is missing or null");
  EXPECT_EQ(changed("/request/uid", ""), "request.uid must be a string of 1 to 253 characters");
  EXPECT_EQ(changed("/request/uid", std::string(254, 'u')),
            "request.uid must be a string of 1 to 253 characters");
  EXPECT_EQ(changed("/request/object", nullptr),
            "request.object is missing or null; it must be a pod");
  EXPECT_EQ(changed("/request/resource", nullptr), "request.resource is missing");
  EXPECT_EQ(changed("/request/object/spec/containers/0/env", "x"),
            "unreadable: the pod's spec.containers[0].env must be an array, not a string");
  EXPECT_EQ(changed("/request/object/metadata/annotations/gpu-fraction", 1),
            "unreadable: the pod's metadata.annotations.gpu-fraction must be a string, not a "
            "number");
  EXPECT_EQ(changed("/request/object/spec/tolerations", json::array({1})),
            "unreadable: the pod's spec.tolerations[0] must be an object, not a number");
  EXPECT_EQ(
      changed("/request/object/spec/containers/0/resources",
              {{"limits", {{"snug.dev/gpu-milli", "-1"}}}}),
      "unreadable: the pod's spec.containers[0].resources.limits.snug.dev/gpu-milli must be a "
      "Kubernetes quantity of 0 or more, not \"-1\"");
  EXPECT_EQ(changed("/request/oldObject", {{"spec", {{"tolerations", 1}}}}),
            "unreadable: the old pod's spec.tolerations must be an array, not a number");
}

TEST(AdmissionReview, AnUpdateOfAPodThatCannotBeReadHasNoPod) {
  json bad = minimal_pod();
  bad["spec"]["tolerations"] = 1;
  for (const bool is_old : {false, true}) {
    json review = review_of("UPDATE", is_old ? minimal_pod() : bad);
    review["request"]["oldObject"] = is_old ? bad : minimal_pod();
    const auto read = read_text(review.dump());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_FALSE(read->pod);
    EXPECT_EQ(read->unreadable_new_pod, "");
  }
}

TEST(AdmissionReview, HostileTextsAreRefused) {
  const std::string good = review_of("CREATE", minimal_pod()).dump();
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(read_text(good.substr(0, length))) << length;
  }
  EXPECT_FALSE(read_text(good + "{}"));
  EXPECT_FALSE(read_text(std::string(100'000, '[')));
  EXPECT_FALSE(read_text("[]"));
  EXPECT_FALSE(read_text("\xff"));
  std::string twice = good;
  twice.insert(twice.find(R"("uid")"), R"("uid":"other",)");
  const auto read = read_text(twice);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "request.uid is given twice");
  std::string key_twice = good;
  key_twice.insert(key_twice.find(R"("gpu-fraction")"), R"("gpu-fraction":"1",)");
  const auto pod_unreadable = read_text(key_twice);
  ASSERT_TRUE(pod_unreadable);
  EXPECT_EQ(pod_unreadable->unreadable_new_pod,
            "the pod's metadata.annotations.gpu-fraction is given twice");
  EXPECT_EQ(pod_unreadable->uid, "u-1");
  EXPECT_FALSE(pod_unreadable->pod);
}

TEST(AdmissionReview, TheReplyHasAPatchWithEscapedPaths) {
  const json reply = json::parse(codec::write_allowed(
      "u-\"1", {{{"spec", "a/b~c", "-"}, std::string("text")},
                {{"spec", "tolerations"}, admission::EmptyList{}},
                {{"o"}, admission::EmptyObject{}},
                {{"t"}, admission::NewToleration{"k"}},
                {{"v"}, admission::NewVariable{"N", "metadata.annotations['x.y']"}}}));
  EXPECT_EQ(reply["apiVersion"], "admission.k8s.io/v1");
  EXPECT_EQ(reply["kind"], "AdmissionReview");
  EXPECT_EQ(reply["response"]["uid"], "u-\"1");
  EXPECT_EQ(reply["response"]["allowed"], true);
  EXPECT_EQ(reply["response"]["patchType"], "JSONPatch");
  const auto patch = base::decode_base64(reply["response"]["patch"].get<std::string>());
  ASSERT_TRUE(patch);
  EXPECT_EQ(json::parse(*patch), json::parse(R"([
      {"op":"add","path":"/spec/a~1b~0c/-","value":"text"},
      {"op":"add","path":"/spec/tolerations","value":[]},
      {"op":"add","path":"/o","value":{}},
      {"op":"add","path":"/t","value":{"key":"k","operator":"Exists"}},
      {"op":"add","path":"/v","value":{"name":"N",
       "valueFrom":{"fieldRef":{"fieldPath":"metadata.annotations['x.y']"}}}}])"));
}

TEST(AdmissionReview, WithoutAdditionsTheReplyHasNoPatch) {
  EXPECT_EQ(
      codec::write_allowed("u", {}),
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","allowed":true}})");
}

TEST(AdmissionReview, ADenialHasASentence) {
  const json reply = json::parse(codec::write_denied("u", "Malformed: x"));
  EXPECT_EQ(reply["response"]["allowed"], false);
  EXPECT_EQ(reply["response"]["status"],
            json::parse(R"({"code":422,"reason":"Invalid","message":"Malformed: x"})"));
}

}  // namespace
}  // namespace snug::admission_review_test
