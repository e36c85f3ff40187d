#include "snug/service/admission_service.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "snug/base/text.hpp"
#include "support/fake_ports.hpp"

namespace snug::testing::admission_service_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::Pair;

json new_pod(const json& annotations, const std::string& scheduler = "snug") {
  return {{"metadata", {{"annotations", annotations}}},
          {"spec", {{"schedulerName", scheduler}, {"containers", {{{"name", "main"}}}}}}};
}

std::string review_of(const std::string& operation, const json& object,
                      const json& old_object = nullptr) {
  return json{{"apiVersion", "admission.k8s.io/v1"},
              {"kind", "AdmissionReview"},
              {"request",
               {{"uid", "u"},
                {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
                {"operation", operation},
                {"object", object},
                {"oldObject", old_object}}}}
      .dump();
}

class ReviewMetrics final : public NoMetrics {
 public:
  void review_answered(service::ReviewOutcome outcome) override {
    ++outcomes[std::string(service::kReviewOutcomeNames[outcome])];
  }
  std::map<std::string, int> outcomes;
};

class AdmissionServiceTest : public ::testing::Test {
 protected:
  /// The paths that are added to; "none": there is no patch.
  std::string mutated(std::string review) {
    const service::Reply reply = service_.mutate(review);
    EXPECT_EQ(reply.status, 200) << reply.body;
    const json response = json::parse(reply.body)["response"];
    EXPECT_EQ(response["allowed"], true);
    if (!response.contains("patch")) return "none";
    std::string paths;
    for (const json& each :
         json::parse(*base::decode_base64(response["patch"].get<std::string>()))) {
      paths += each["path"].get<std::string>() + " ";
    }
    return paths;
  }
  /// The sentence; empty: it is allowed.
  std::string refusal(std::string review) {
    const service::Reply reply = service_.validate(review);
    EXPECT_EQ(reply.status, 200) << reply.body;
    const json response = json::parse(reply.body)["response"];
    EXPECT_FALSE(response.contains("patch"));
    return response["allowed"] == true ? "" : response["status"]["message"].get<std::string>();
  }

  ReviewMetrics metrics_;
  service::AdmissionService service_{{}, {"snug", "packer"}, metrics_, {}};
};

TEST_F(AdmissionServiceTest, AmountsAreAddedWhileCardsAreKnown) {
  const std::string review = review_of("CREATE", new_pod({{"gpu-fraction", "0.5"}}));
  const std::string without = mutated(review);
  EXPECT_EQ(without.find("gpu-milli"), std::string::npos) << without;
  service_.set_cards(admission::CardRange{.smallest = {16384}, .largest = {81920}});
  EXPECT_NE(mutated(review).find("limits/snug.dev~1gpu-milli"), std::string::npos);
  service_.set_cards(std::nullopt);
  EXPECT_EQ(mutated(review), without);
}

TEST_F(AdmissionServiceTest, OnlyNewPodsThatAskForGpusAreChanged) {
  EXPECT_EQ(mutated(review_of("CREATE", new_pod(json::object()))), "none");
  EXPECT_EQ(mutated(review_of("UPDATE", new_pod({{"gpu-fraction", "0.5"}}))), "none");
  EXPECT_EQ(mutated(review_of("CREATE", new_pod({{"gpu-fraction", "0.5"},
                                                 {"kubernetes.io/config.mirror", "x"}}))),
            "none");
  EXPECT_NE(mutated(review_of("CREATE", new_pod({{"gpu-fraction", "nonsense"}}))), "none");
}

TEST_F(AdmissionServiceTest, AMalformedPodIsRefusedWithTheSentenceOfFilter) {
  EXPECT_EQ(refusal(review_of("CREATE", new_pod({{"gpu-fraction", "0.5"}}))), "");
  EXPECT_EQ(
      refusal(review_of("CREATE", new_pod({{"gpu-fraction", "1.5"}}))),
      "Malformed: gpu-fraction is \"1.5\"; expected a number above 0 and below 1 with at most "
      "3 decimals (0.25), or a whole number of GPUs from 1 to 999");
  EXPECT_EQ(refusal(review_of("CREATE", new_pod({{"gpu-fraction", "1.5"},
                                                 {"kubernetes.io/config.mirror", "x"}}))),
            "");
}

TEST_F(AdmissionServiceTest, AnUpdateIsRefusedOnlyIfItChangesTheRequest) {
  const json good = new_pod({{"gpu-fraction", "0.5"}});
  const json bad = new_pod({{"gpu-fraction", "x"}});
  json noted = bad;
  noted["metadata"]["annotations"]["note"] = "1";
  EXPECT_NE(refusal(review_of("UPDATE", bad, good)), "");
  EXPECT_EQ(refusal(review_of("UPDATE", noted, bad)), "");
  EXPECT_EQ(refusal(review_of("UPDATE", good, bad)), "");
  EXPECT_EQ(refusal(review_of("UPDATE", new_pod(json::object()), good)), "");
  EXPECT_EQ(refusal(review_of("UPDATE", new_pod({{"gpu-fraction", "0.5"}}, "stranger"), bad)), "");
}

TEST_F(AdmissionServiceTest, ASchedulerThatDoesNotAskSnugIsRefused) {
  const json pod = new_pod({{"gpu-fraction", "0.5"}}, "stranger");
  EXPECT_EQ(refusal(review_of("CREATE", pod)),
            "the pod asks for GPUs by annotation, but its scheduler \"stranger\" does not ask Snug "
            "for them; expected spec.schedulerName snug or packer");
  EXPECT_EQ(refusal(review_of("CREATE", new_pod({{"gpu-fraction", "0.5"}}, "packer"))), "");
  EXPECT_EQ(refusal(review_of("CREATE", new_pod(json::object(), "stranger"))), "");
  const service::AdmissionService serves_all{{}, {}, metrics_, {}};
  std::string review = review_of("CREATE", pod);
  EXPECT_EQ(json::parse(serves_all.validate(review).body)["response"]["allowed"], true);
}

TEST_F(AdmissionServiceTest, WhatIsNoReviewGetsA400WithASentence) {
  std::string body = "{}";
  service::Reply reply = service_.mutate(body);
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.body,
            R"({"Error":"the body must be an AdmissionReview of admission.k8s.io/v1"})");
  body = "[";
  EXPECT_EQ(service_.validate(body).status, 400);
  body = std::string(1000, '[') + std::string(1000, ']');
  EXPECT_EQ(service_.validate(body).status, 413);
}

TEST_F(AdmissionServiceTest, ANewPodThatCannotBeReadIsLeftToTheApiServerAndThenRefused) {
  json pod = new_pod({{"gpu-fraction", "0.5"}});
  pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "-1";
  EXPECT_EQ(mutated(review_of("CREATE", pod)), "none");
  EXPECT_EQ(
      refusal(review_of("CREATE", pod)),
      "the pod's spec.containers[0].resources.limits.cpu must be a Kubernetes quantity of 0 or "
      "more, not \"-1\"");
  EXPECT_EQ(mutated(review_of("UPDATE", pod, pod)), "none");
  EXPECT_EQ(refusal(review_of("UPDATE", pod, pod)), "") << "its finalizers may be removed";
}

TEST_F(AdmissionServiceTest, AnUpdateKeepsTheTolerationsThatWereAdded) {
  json created = new_pod({{"gpu-fraction", "0.5"}});
  created["spec"]["tolerations"] = {
      {{"key", "mine"}, {"operator", "Exists"}},
      {{"key", "snug.dev/only"}, {"operator", "Exists"}},
      {{"key", "nvidia.com/gpu"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}};
  json applied = created;
  applied["spec"]["tolerations"].erase(1);
  EXPECT_EQ(mutated(review_of("UPDATE", applied, created)), "/spec/tolerations/- ");
  applied["spec"].erase("tolerations");
  EXPECT_EQ(mutated(review_of("UPDATE", applied, created)),
            "/spec/tolerations /spec/tolerations/- ");
  EXPECT_EQ(mutated(review_of("UPDATE", created, created)), "none");
  applied["metadata"]["annotations"] = json::object();
  EXPECT_NE(mutated(review_of("UPDATE", applied, created)), "none");
  created["metadata"]["annotations"] = json::object();
  EXPECT_EQ(mutated(review_of("UPDATE", applied, created)), "none");
}

TEST_F(AdmissionServiceTest, AnswersAreCounted) {
  const json asks = new_pod({{"gpu-fraction", "0.5"}});
  mutated(review_of("CREATE", asks));
  mutated(review_of("CREATE", new_pod(json::object())));
  mutated(review_of("UPDATE", asks));
  refusal(review_of("CREATE", asks));
  refusal(review_of("CREATE", new_pod({{"gpu-fraction", "1.5"}})));
  std::string body = "{}";
  EXPECT_EQ(service_.mutate(body).status, 400);
  EXPECT_THAT(metrics_.outcomes,
              ElementsAre(Pair("allowed", 1), Pair("denied", 1), Pair("patched", 1),
                          Pair("unchanged", 2), Pair("unreadable", 1)));
}

}  // namespace
}  // namespace snug::testing::admission_service_test
