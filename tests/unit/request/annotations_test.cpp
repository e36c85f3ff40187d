#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/request/pod_request_parser.hpp"
#include "support/test_objects.hpp"

namespace snug::annotations_test {
namespace {

constexpr std::string_view kFractionAllowed =
    "a number above 0 and below 1 with at most 3 decimals (0.25), or a whole number of GPUs from 1 "
    "to 999";
constexpr std::string_view kMemoryAllowed =
    "a Kubernetes quantity of at least 1 byte with a unit (4G, 4Gi, 4096Mi), of at most 18 digits; "
    "a number without a unit is a whole number of MiB (4096)";

/// The sentence of the refusal, or why there is none.
std::string refusal_of(const model::PodFacts& pod) {
  const auto request = request::parse_request(pod);
  if (request) return "accepted: " + model::to_text(*request);
  EXPECT_EQ(request.error().code, model::ReasonCode::kMalformed);
  return request.error().sentence;
}

std::string is_not(std::string_view key, std::string_view value, std::string_view allowed) {
  return std::string(key) + " is \"" + std::string(value) + "\"; expected " + std::string(allowed);
}

TEST(AnnotationsTest, TheReservationMustFitIntoWhatKubernetesAllows) {
  model::PodFacts share = make_pod("p", {{"gpu-fraction", "0.5"}});
  model::PodFacts eight = make_pod("p", {{"gpu-fraction", "8"}});
  model::PodFacts two = make_pod("p", {{"gpu-fraction.main", "3"}, {"gpu-fraction.side", "0.5"}});
  two.containers.push_back({.name = "side"});
  for (const auto& [pod, most] : {std::pair{&share, 262'144 - 2'048 - 512},
                                  {&eight, 262'144 - 2'048 - 8 * 512},
                                  {&two, 262'144 - 2'048 - 4 * 512 - 1'024}}) {
    pod->annotation_bytes = static_cast<std::size_t>(most);
    EXPECT_TRUE(request::parse_request(*pod).has_value());
    ++pod->annotation_bytes;
    EXPECT_NE(refusal_of(*pod).find("too large to add its reservation"), std::string::npos);
  }
  model::PodFacts plain = make_pod("p");
  plain.annotation_bytes = 262'144;
  EXPECT_TRUE(request::parse_request(plain).has_value()) << "nothing is added to it";
}

TEST(AnnotationsTest, APodThatAsksNothingHasAnEmptyRequest) {
  for (const model::PodFacts& pod :
       {make_pod("p"), make_pod("p", {{"snug.dev/room", "7"}, {"gpu", "1"}, {"gpu-size", "1"}}),
        make_pod("p", {{"kubectl.kubernetes.io/default-container", "main"}}), model::PodFacts{}}) {
    const auto request = request::parse_request(pod);
    ASSERT_TRUE(request.has_value());
    EXPECT_TRUE(request->empty());
  }
}

TEST(AnnotationsTest, AFractionIsThousandthsOfOneGpu) {
  struct Row {
    std::string value;
    int thousandths;
  };
  for (const Row& row : std::vector<Row>{{"0.25", 250},
                                         {"0.5", 500},
                                         {"0.333", 333},
                                         {"0.001", 1},
                                         {"0.01", 10},
                                         {"0.10", 100},
                                         {"0.100", 100},
                                         {"0.999", 999}}) {
    const auto request = request::parse_request(make_pod("p", {{"gpu-fraction", row.value}}));
    ASSERT_TRUE(request.has_value()) << row.value;
    EXPECT_EQ(request->main_container, "main");
    EXPECT_EQ(
        request->containers,
        std::vector{(model::ContainerRequest{.container = "main",
                                             .device = model::FractionRequest{row.thousandths},
                                             .text = "gpu-fraction=" + row.value})});
  }
}

TEST(AnnotationsTest, AWholeNumberAsksForThatManyGpus) {
  for (const int count : {1, 2, 9, 10, 16, 999}) {
    const std::string value = std::to_string(count);
    const auto request = request::parse_request(make_pod("p", {{"gpu-fraction", value}}));
    ASSERT_TRUE(request.has_value()) << value;
    EXPECT_EQ(request->containers,
              std::vector{(model::ContainerRequest{.container = "main",
                                                   .device = model::WholeGpuRequest{},
                                                   .count = count,
                                                   .text = "gpu-fraction=" + value})});
  }
}

TEST(AnnotationsTest, MemoryIsMebiBytesOnOneGpu) {
  const auto request = request::parse_request(make_pod("p", {{"gpu-memory", "4G"}}));
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(
      request->containers,
      std::vector{(model::ContainerRequest{
          .container = "main", .device = model::MemoryRequest{{3815}}, .text = "gpu-memory=4G"})});
}

TEST(AnnotationsTest, AHugeSizeIsUnderstoodAndLeftToFit) {
  const auto request = request::parse_request(make_pod("p", {{"gpu-memory", "99Ei"}}));
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->containers.front().device,
            model::DeviceRequest(model::MemoryRequest{{std::int64_t{1} << 43}}));
}

TEST(AnnotationsTest, MalformedFractionsAreRefusedWithKeyValueAndWhatIsAllowed) {
  for (const std::string_view value :
       {"",     "0",    "0.",    "0.0",  "0.00", "0.000",      "0.0000", "0.25x", "x0.25", "1.5",
        "1.0",  "-1",   "-0.5",  "+0.5", "+1",   ".5",         "0.1234", "00.5",  "01",    "1000",
        "1e0",  "0.5e", "1e-1",  " 0.5", "0.5 ", "0 .5",       "0,5",    "50%",   "1/2",   "half",
        "0.-5", "0.5.", "0.5.5", "0x1",  "NaN",  "4294967297", "0.2 5",  "25m",   "1.",    "2 "}) {
    EXPECT_EQ(refusal_of(make_pod("p", {{"gpu-fraction", std::string(value)}})),
              is_not("gpu-fraction", value, kFractionAllowed));
  }
}

TEST(AnnotationsTest, MalformedMemoryIsRefusedWithKeyValueAndWhatIsAllowed) {
  for (const std::string_view value : {"", "0", "-1", "4000m", "4GB", "four", "4 G", "0.5",
                                       "4096.0", "1e9999", "9223372036854775807"}) {
    EXPECT_EQ(refusal_of(make_pod("p", {{"gpu-memory", std::string(value)}})),
              is_not("gpu-memory", value, kMemoryAllowed));
  }
}

TEST(AnnotationsTest, AMessageShowsAtMost63PrintableCharactersOfTheValue) {
  struct Row {
    std::string value;
    std::string shown;
  };
  const std::vector<Row> rows = {{std::string(63, 'a'), std::string(63, 'a')},
                                 {std::string(64, 'a'), std::string(63, 'a') + "..."},
                                 {std::string(1'000'000, '1'), std::string(63, '1') + "..."},
                                 {"0.5\n0.25\t\x1b[31m\x7f", "0.5?0.25??[31m?"},
                                 {"\xC2\xBD", "??"},
                                 {std::string("0.5\0x", 5), "0.5?x"}};
  for (const Row& row : rows) {
    EXPECT_EQ(refusal_of(make_pod("p", {{"gpu-fraction", row.value}})),
              is_not("gpu-fraction", row.shown, kFractionAllowed));
  }
}

TEST(AnnotationsTest, AQuantityTooLongToBeRepeatedInAReservationIsRefused) {
  const std::string longest = std::string(61, '0') + "4G";
  EXPECT_EQ(refusal_of(make_pod("p", {{"gpu-memory", longest}})),
            "accepted: gpu-memory=" + longest);
  EXPECT_EQ(refusal_of(make_pod("p", {{"gpu-memory", "0" + longest}})),
            is_not("gpu-memory", ("0" + longest).substr(0, 63) + "...",
                   "a quantity of at most 63 characters"));
}

TEST(AnnotationsTest, RequestKeysAreToldFromOthers) {
  for (const std::string_view key : {"gpu-fraction",
                                     "gpu-memory",
                                     "gpu-container",
                                     "gpu-count",
                                     "gpu-compute",
                                     "gpu-model",
                                     "gpu-mig-profile",
                                     "gpu-isolation",
                                     "gpu-policy",
                                     "gpu-fraction.main",
                                     "gpu-memory.a.b",
                                     "gpu-count.main",
                                     "gpu-compute.main",
                                     "gpu-mig-profile.main",
                                     "gpu-isolation.main",
                                     "gpu-model.main",
                                     "gpu-memory.",
                                     "gpu-fraction-num-devices",
                                     "gpu-fraction-num-devices.main",
                                     "gpu-fraction-container-name",
                                     "gpu-policy.main",
                                     "gpu-container.",
                                     "gpu-fraction-container-name.main"}) {
    EXPECT_TRUE(request::is_request_key(key)) << key;
  }
  for (const std::string_view key :
       {"", "gpu", "gpu-", "gpu-fractio", "gpu-fractions", "gpu-fraction-", "gpu-memory-limit",
        "snug.dev/reservation", "GPU-fraction", "gpu-policys", "gpu-container-main",
        "gpu-fraction-container-names", "gpu-counts", "gpu-count/main", "x/gpu-fraction",
        "kubectl.kubernetes.io/default-container"}) {
    EXPECT_FALSE(request::is_request_key(key)) << key;
  }
}

TEST(AnnotationsTest, ContainerNamesOver47CharactersAreRefusedOnlyBesideGpuAnnotations) {
  model::PodFacts pod = make_pod("p", {{"gpu-fraction", "0.5"}});
  pod.containers.push_back({.name = std::string(47, 'c')});
  EXPECT_TRUE(request::parse_request(pod).has_value());
  pod.containers.back().name = std::string(48, 'c');
  EXPECT_EQ(refusal_of(pod), "the container name " + std::string(48, 'c') +
                                 " is too long for a pod with GPU annotations; expected at most 47 "
                                 "characters");
  pod.annotations.clear();
  EXPECT_TRUE(request::parse_request(pod).has_value());
  pod.containers.back().gpu_resources = {{"nvidia.com/gpu", "1"}};
  EXPECT_TRUE(request::parse_request(pod).has_value());
}

}  // namespace
}  // namespace snug::annotations_test
