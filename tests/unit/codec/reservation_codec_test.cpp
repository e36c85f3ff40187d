#include "snug/codec/reservation_codec.hpp"

#include <gtest/gtest.h>

#include <ostream>

namespace snug::reservation_codec_test {
namespace {

model::ReservedDevice device(int index, std::string uuid, model::GpuMode mode, std::int64_t memory,
                             std::int64_t compute) {
  return {index, std::move(uuid), mode, {memory}, {compute}, std::nullopt};
}

model::Reservation share_reservation() {
  return {"uid-1",
          "n1",
          {{"main", "gpu-fraction=0.25",
            std::vector{device(3, "GPU-d", model::GpuMode::kTimeSlicing, 20480, 250)}}}};
}

model::PodFacts pod_with(std::map<std::string, std::string, std::less<>> annotations) {
  model::PodFacts pod;
  pod.annotations = std::move(annotations);
  return pod;
}

TEST(ReservationCodecTest, AShareIsWrittenAsTheContractSays) {
  const model::StringMap written =
      codec::write_reservation(share_reservation(), "main", model::PodFacts{});
  const model::StringMap expected{
      {"snug.dev/reservation",
       R"({"version":1,"uid":"uid-1","node":"n1","containers":[{"name":"main",)"
       R"("request":"gpu-fraction=0.25","devices":[{"index":3,"uuid":"GPU-d",)"
       R"("mode":"time-slicing","memoryMiB":20480,"computeMilli":250}]}]})"},
      {"snug.dev/visible-devices", "GPU-d"},
      {"snug.dev/visible-devices.main", "GPU-d"},
      {"snug.dev/memory-limit", "0=20480M"},
      {"snug.dev/memory-limit.main", "0=20480M"},
      {"snug.dev/compute-percent", "25"},
      {"snug.dev/compute-percent.main", "25"}};
  EXPECT_EQ(written, expected);
}

TEST(ReservationCodecTest, EveryOtherKeyOfOursIsBlanked) {
  const model::PodFacts pod = pod_with({{"snug.dev/reservation", "forged"},
                                        {"snug.dev/visible-devices.other", "GPU-x"},
                                        {"snug.dev/anything", "x"},
                                        {"gpu-fraction", "0.25"}});
  const model::StringMap written = codec::write_reservation(share_reservation(), "main", pod);
  EXPECT_EQ(written.at("snug.dev/visible-devices.other"), "");
  EXPECT_EQ(written.at("snug.dev/anything"), "");
  EXPECT_NE(written.at("snug.dev/reservation"), "forged");
  EXPECT_FALSE(written.contains("gpu-fraction"));
  EXPECT_EQ(codec::blank_annotations(pod), (model::StringMap{{"snug.dev/reservation", ""},
                                                             {"snug.dev/visible-devices.other", ""},
                                                             {"snug.dev/anything", ""}}));
}

TEST(ReservationCodecTest, OnlyTheMainContainerHasUnsuffixedKeys) {
  model::Reservation reservation = share_reservation();
  reservation.containers.push_back(
      {"side", "gpu-memory=4G", std::vector{device(0, "GPU-a", model::GpuMode::kMps, 3815, 93)}});
  const model::StringMap written = codec::write_reservation(reservation, "side", model::PodFacts{});
  EXPECT_EQ(written.at("snug.dev/visible-devices"), "GPU-a");
  EXPECT_EQ(written.at("snug.dev/compute-percent"), "9");
  EXPECT_EQ(written.at("snug.dev/visible-devices.main"), "GPU-d");
  EXPECT_EQ(written.at("snug.dev/visible-devices.side"), "GPU-a");

  const model::StringMap without =
      codec::write_reservation(reservation, "third", model::PodFacts{});
  EXPECT_FALSE(without.contains("snug.dev/visible-devices"));
  EXPECT_FALSE(without.contains("snug.dev/memory-limit"));
  EXPECT_FALSE(without.contains("snug.dev/compute-percent"));
}

TEST(ReservationCodecTest, SeveralDevicesAreNumberedAsTheContainerSeesThem) {
  model::Reservation reservation = share_reservation();
  reservation.containers[0].assigned =
      std::vector{device(5, "GPU-f", model::GpuMode::kWhole, 81920, 1000),
                  device(2, "GPU-c", model::GpuMode::kWhole, 40960, 1000)};
  const model::StringMap written = codec::write_reservation(reservation, "main", model::PodFacts{});
  EXPECT_EQ(written.at("snug.dev/visible-devices"), "GPU-c,GPU-f");
  EXPECT_EQ(written.at("snug.dev/memory-limit"), "0=40960M,1=81920M");
  EXPECT_EQ(written.at("snug.dev/compute-percent"), "100");
}

TEST(ReservationCodecTest, ADeviceWithoutUuidMakesIndicesOfAll) {
  model::Reservation reservation = share_reservation();
  reservation.containers[0].assigned =
      std::vector{device(1, "", model::GpuMode::kWhole, 10, 1000),
                  device(2, "GPU-c", model::GpuMode::kWhole, 10, 1000)};
  EXPECT_EQ(codec::write_reservation(reservation, "main", model::PodFacts{})
                .at("snug.dev/visible-devices"),
            "1,2");
}

TEST(ReservationCodecTest, ComputeIsNeverBelowOnePercent) {
  for (const auto& [milli, percent] :
       {std::pair{1, "1"}, {9, "1"}, {10, "1"}, {19, "1"}, {20, "2"}, {999, "99"}}) {
    model::Reservation reservation = share_reservation();
    reservation.containers[0].assigned =
        std::vector{device(0, "G", model::GpuMode::kMps, 10, milli)};
    EXPECT_EQ(codec::write_reservation(reservation, "main", model::PodFacts{})
                  .at("snug.dev/compute-percent"),
              percent);
  }
}

TEST(ReservationCodecTest, ASliceStillToBeCreatedIsVoid) {
  model::Reservation reservation = share_reservation();
  model::ReservedDevice slice = device(0, "GPU-a", model::GpuMode::kMig, 9856, 285);
  slice.slice = model::Slice{"2g.10gb", 2, 2, ""};
  reservation.containers[0].assigned = std::vector{slice};
  model::StringMap written = codec::write_reservation(reservation, "main", model::PodFacts{});
  EXPECT_EQ(written.at("snug.dev/visible-devices"), "void");
  EXPECT_NE(
      written.at("snug.dev/reservation").find(R"("mig":{"profile":"2g.10gb","start":2,"size":2}})"),
      std::string::npos);

  slice.slice->uuid = "MIG-1";
  reservation.containers[0].assigned = std::vector{slice};
  written = codec::write_reservation(reservation, "main", model::PodFacts{});
  EXPECT_EQ(written.at("snug.dev/visible-devices"), "MIG-1");
}

TEST(ReservationCodecTest, KubeletAssignedContainersHaveOnlyTheReservation) {
  const model::Reservation reservation{
      "u", "n", {{"main", "nvidia.com/gpu=2", model::KubeletUnits{"nvidia.com/gpu", 2}}}};
  const model::StringMap written = codec::write_reservation(reservation, "main", model::PodFacts{});
  EXPECT_EQ(written,
            (model::StringMap{{"snug.dev/reservation",
                               R"({"version":1,"uid":"u","node":"n","containers":[{"name":"main",)"
                               R"("request":"nvidia.com/gpu=2","assignedBy":"kubelet",)"
                               R"("resource":"nvidia.com/gpu","count":2}]})"}}));
}

struct Written {
  std::vector<model::ReservedContainer> containers;
  std::string json;  // of the containers
};

void PrintTo(const Written& row, std::ostream* out) { *out << row.json; }

class ReservationWrittenTest : public testing::TestWithParam<Written> {};

TEST_P(ReservationWrittenTest, ByteForByte) {
  const model::Reservation reservation{"u\"1", "n\xC3\xA9", GetParam().containers};
  EXPECT_EQ(
      codec::write_reservation(reservation, "m", model::PodFacts{}).at("snug.dev/reservation"),
      "{\"version\":1,\"uid\":\"u\\\"1\",\"node\":\"n\xC3\xA9\",\"containers\":" + GetParam().json +
          "}");
}

model::ReservedDevice sliced(std::string uuid, model::Slice slice) {
  return {3, std::move(uuid), model::GpuMode::kMig, {9856}, {285}, std::move(slice)};
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ReservationWrittenTest,
    testing::Values(
        Written{{}, "[]"},
        Written{{{"m", "", std::vector<model::ReservedDevice>{}}},
                R"([{"name":"m","request":"","devices":[]}])"},
        Written{{{"m", "r", std::vector{device(0, "", model::GpuMode::kMps, 0, 0)}}},
                R"([{"name":"m","request":"r","devices":[{"index":0,"mode":"mps",)"
                R"("memoryMiB":0,"computeMilli":0}]}])"},
        Written{{{"m", "r",
                  std::vector{device(0, "A", model::GpuMode::kWhole, 81920, 1000),
                              device(15, "", model::GpuMode::kWhole, 1'000'000'000, 1000)}}},
                R"([{"name":"m","request":"r","devices":[{"index":0,"uuid":"A","mode":"whole",)"
                R"("memoryMiB":81920,"computeMilli":1000},{"index":15,"mode":"whole",)"
                R"("memoryMiB":1000000000,"computeMilli":1000}]}])"},
        Written{{{"m", "r", std::vector{sliced("G", {"2g.10gb", 2, 2, "MIG-1"})}}},
                R"([{"name":"m","request":"r","devices":[{"index":3,"uuid":"G","mode":"mig",)"
                R"("memoryMiB":9856,"computeMilli":285,"mig":{"profile":"2g.10gb","start":2,)"
                R"("size":2,"uuid":"MIG-1"}}]}])"},
        Written{{{"m", "r", std::vector{sliced("", {"1g.5gb+me", 0, 1, ""})}}},
                R"([{"name":"m","request":"r","devices":[{"index":3,"mode":"mig",)"
                R"("memoryMiB":9856,"computeMilli":285,"mig":{"profile":"1g.5gb+me","start":0,)"
                R"("size":1}}]}])"},
        Written{{{"a", "nvidia.com/gpu=2", model::KubeletUnits{"nvidia.com/gpu", 2}},
                 {"b", "r", std::vector{device(1, "", model::GpuMode::kTimeSlicing, 1, 1)}}},
                R"([{"name":"a","request":"nvidia.com/gpu=2","assignedBy":"kubelet",)"
                R"("resource":"nvidia.com/gpu","count":2},{"name":"b","request":"r",)"
                R"("devices":[{"index":1,"mode":"time-slicing","memoryMiB":1,)"
                R"("computeMilli":1}]}])"},
        Written{
            {{"\"\\/\b\f\n\r\t\x01\x7F", "cut \xC3", model::KubeletUnits{"\xE2\x82\xAC\xFF", -1}}},
            "[{\"name\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7F\",\"request\":"
            "\"cut \xEF\xBF\xBD\",\"assignedBy\":\"kubelet\",\"resource\":"
            "\"\xE2\x82\xAC\xEF\xBF\xBD\",\"count\":-1}]"}));

TEST(ReservationCodecTest, WhatIsWrittenIsReadBack) {
  model::ReservedDevice slice = device(7, "", model::GpuMode::kMig, 9856, 285);
  slice.slice = model::Slice{"2g.10gb", 2, 2, "MIG-1"};
  model::Reservation mixed = share_reservation();
  mixed.containers.push_back({"b", "gpu-memory=8G", std::vector{slice}});
  mixed.containers.push_back({"c \"\n", "gpu-fraction=2",
                              std::vector{device(0, "", model::GpuMode::kWhole, 1, 1000),
                                          device(1, "GPU-1", model::GpuMode::kWhole, 1, 1000)}});
  const model::Reservation kubelet{
      "u", "n", {{"main", "nvidia.com/gpu=2", model::KubeletUnits{"nvidia.com/gpu", 2}}}};
  model::Reservation two_resources = kubelet;
  two_resources.containers.push_back(
      {"main", "nvidia.com/mig-1g.5gb=1", model::KubeletUnits{"nvidia.com/mig-1g.5gb", 1}});
  for (const model::Reservation& reservation :
       {share_reservation(), mixed, kubelet, two_resources}) {
    const auto read = codec::read_reservation(
        codec::write_reservation(reservation, "main", model::PodFacts{}).at("snug.dev/reservation"),
        base::Limits{});
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->reservation, reservation);
    EXPECT_FALSE(read->suspect) << read->suspect_reason;
  }
}

struct Malformed {
  std::string json;
  std::string why;
};

void PrintTo(const Malformed& row, std::ostream* out) { *out << row.json.substr(0, 200); }

class ReservationMalformedTest : public testing::TestWithParam<Malformed> {};

TEST_P(ReservationMalformedTest, SaysWhere) {
  const auto read = codec::read_reservation(GetParam().json, base::Limits{});
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().message.find(GetParam().why), std::string::npos) << read.error().message;
}

std::string with_containers(const std::string& containers) {
  return R"({"version":1,"uid":"u","node":"n","containers":[)" + containers + "]}";
}

std::string with_device(const std::string& text) {
  return with_containers(R"({"name":"m","request":"later=1","devices":[)" + text + "]}");
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ReservationMalformedTest,
    testing::Values(
        Malformed{"", "it is not valid JSON at byte 1"},
        Malformed{R"({"version":1,"x":1e400})", "a number that is too large"},
        Malformed{"7", "must be an object"}, Malformed{R"({"uid":"u"})", "version is missing"},
        Malformed{R"({"version":2,"uid":"u"})", "version must be an integer from 1 to 1"},
        Malformed{R"({"version":1,"version":1})", "the key \"version\" twice"},
        Malformed{R"({"version":1})", "uid is missing"},
        Malformed{R"({"version":1,"uid":""})", "uid must not be empty"},
        Malformed{R"({"version":1,"uid":"u"})", "node is missing"},
        Malformed{R"({"version":1,"uid":"u","node":7})", "node must be a string"},
        Malformed{R"({"version":1,"uid":"u","node":"n"})", "containers is missing"},
        Malformed{with_containers(""), "containers must not be empty"},
        Malformed{with_containers("7"), "containers[0] must be an object"},
        Malformed{with_containers(R"({"request":"x","devices":[]})"), "containers[0].name is miss"},
        Malformed{with_containers(R"({"name":"m","devices":[]})"), "containers[0].request is miss"},
        Malformed{with_containers(R"({"name":"m","request":""})"), "either devices or assignedBy"},
        Malformed{
            with_containers(R"({"name":"m","request":"","devices":[],"assignedBy":"kubelet"})"),
            "containers[0] must have either devices or assignedBy"},
        Malformed{with_containers(R"({"name":"m","request":"","assignedBy":"me"})"),
                  "containers[0].assignedBy must be kubelet"},
        Malformed{
            with_containers(
                R"({"name":"m","request":"","assignedBy":"kubelet","resource":"r","count":0})"),
            "containers[0].count must be an integer from 1"},
        Malformed{with_containers(R"({"name":"m","request":"","assignedBy":"kubelet","count":1})"),
                  "containers[0].resource is missing"},
        Malformed{with_device(""), "containers[0].devices must have 1 to 64 entries"},
        Malformed{with_device("7"), "containers[0].devices[0] must be an object"},
        Malformed{with_device(R"({"mode":"mps","memoryMiB":1,"computeMilli":1})"),
                  "devices[0].index is missing"},
        Malformed{with_device(R"({"index":-1,"mode":"mps","memoryMiB":1,"computeMilli":1})"),
                  "devices[0].index must be an integer from 0"},
        Malformed{
            with_device(R"({"index":0,"uuid":"","mode":"mps","memoryMiB":1,"computeMilli":1})"),
            "devices[0].uuid must not be empty"},
        Malformed{with_device(R"({"index":0,"mode":"none","memoryMiB":1,"computeMilli":1})"),
                  "devices[0].mode must be whole, time-slicing, mps or mig"},
        Malformed{with_device(R"({"index":0,"mode":"mps","memoryMiB":-1,"computeMilli":1})"),
                  "devices[0].memoryMiB must be an integer from 0"},
        Malformed{with_device(R"({"index":0,"mode":"mps","memoryMiB":1.5,"computeMilli":1})"),
                  "devices[0].memoryMiB must be an integer from 0"},
        Malformed{with_device(R"({"index":0,"mode":"mps","memoryMiB":1,"computeMilli":1001})"),
                  "devices[0].computeMilli must be an integer from 0 to 1000"},
        Malformed{with_device(R"({"index":0,"mode":"mig","memoryMiB":1,"computeMilli":1})"),
                  "devices[0].mig must be present if mode is mig, and only then"},
        Malformed{
            with_device(R"({"index":0,"mode":"mps","memoryMiB":1,"computeMilli":1,"mig":{}})"),
            "devices[0].mig must be present if mode is mig, and only then"},
        Malformed{
            with_device(R"({"index":0,"mode":"mig","memoryMiB":1,"computeMilli":1,"mig":{}})"),
            "devices[0].mig.profile is missing"},
        Malformed{
            with_containers(R"({"name":"m","request":"","assignedBy":"kubelet","resource":"r",)"
                            R"("count":1},{"name":"m","request":"","assignedBy":"kubelet",)"
                            R"("resource":"r","count":1})"),
            "containers[1] repeats the name of an earlier container"},
        Malformed{std::string(10'000, '['), "nested too deeply"}));

TEST(ReservationCodecTest, SizeHasALimit) {
  const auto read = codec::read_reservation(std::string(65'537, ' '), base::Limits{});
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, base::ErrorCode::kTooLarge);
}

struct Suspicion {
  std::string request;
  std::vector<model::ReservedDevice> devices;
  bool suspect;
};

void PrintTo(const Suspicion& row, std::ostream* out) { *out << row.request; }

class ReservationSuspectTest : public testing::TestWithParam<Suspicion> {};

TEST_P(ReservationSuspectTest, IsWhatDisagreesWithItsOwnRequest) {
  const model::Reservation reservation{"u", "n", {{"m", GetParam().request, GetParam().devices}}};
  const auto read = codec::read_reservation(
      codec::write_reservation(reservation, "m", model::PodFacts{}).at("snug.dev/reservation"),
      base::Limits{});
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->suspect, GetParam().suspect) << read->suspect_reason;
  EXPECT_EQ(read->suspect_reason.empty(), !GetParam().suspect);
}

model::ReservedDevice share(std::int64_t memory, std::int64_t compute) {
  return device(0, "", model::GpuMode::kTimeSlicing, memory, compute);
}

model::ReservedDevice whole(int index) {
  return device(index, "", model::GpuMode::kWhole, 40960, 1000);
}

model::ReservedDevice mps(int index) { return device(index, "", model::GpuMode::kMps, 10240, 250); }

model::ReservedDevice slice_of(int index) {
  model::ReservedDevice result = device(index, "", model::GpuMode::kMig, 9856, 285);
  result.slice = model::Slice{"2g.10gb", 0, 2, ""};
  return result;
}

model::ReservedDevice second_slice_of(int index) {
  model::ReservedDevice result = slice_of(index);
  result.slice->start = 2;
  return result;
}

constexpr const char* kSlice = "gpu-mig-profile=2g.10gb";

INSTANTIATE_TEST_SUITE_P(
    Slices, ReservationSuspectTest,
    testing::Values(
        Suspicion{kSlice, {slice_of(0)}, false}, Suspicion{kSlice, {share(9856, 285)}, true},
        Suspicion{kSlice, {mps(0)}, true}, Suspicion{kSlice, {whole(0)}, true},
        Suspicion{"gpu-mig-profile=2g.10gb;gpu-isolation=mig", {slice_of(0)}, false},
        Suspicion{"gpu-mig-profile=2g.10gb;gpu-isolation=mps", {slice_of(0)}, true},
        Suspicion{"gpu-mig-profile=1c.2g.10gb", {slice_of(0)}, true},
        Suspicion{"gpu-mig-profile=2g.10gb;gpu-count=2", {slice_of(0), slice_of(1)}, false},
        Suspicion{"gpu-mig-profile=2g.10gb;gpu-count=2", {slice_of(0)}, true},
        Suspicion{"gpu-mig-profile=2g.10gb;gpu-count=2", {slice_of(0), second_slice_of(0)}, true},
        Suspicion{"gpu-mig-profile=2g.10gb;gpu-count=2", {slice_of(0), mps(1)}, true},
        Suspicion{"gpu-memory=8G;gpu-count=2", {slice_of(0), slice_of(1)}, false},
        Suspicion{"gpu-memory=8G;gpu-count=2", {slice_of(0), second_slice_of(0)}, true},
        Suspicion{"gpu-memory=8G", {slice_of(0)}, false},
        Suspicion{"gpu-memory=8G;gpu-compute=20", {slice_of(0)}, false},
        Suspicion{"gpu-fraction=1", {slice_of(0)}, true},
        Suspicion{"nvidia.com/mig-2g.10gb=1", {slice_of(0)}, true}));

INSTANTIATE_TEST_SUITE_P(
    Rows, ReservationSuspectTest,
    testing::Values(Suspicion{"gpu-fraction=0.25", {share(10240, 250)}, false},
                    Suspicion{"gpu-fraction=0.250", {share(10240, 250)}, false},
                    Suspicion{"gpu-fraction=0.2", {share(8192, 200)}, false},
                    Suspicion{"gpu-fraction=0.25", {share(1, 1), share(1, 250)}, true},
                    Suspicion{"gpu-fraction=0.25", {whole(0)}, true},
                    Suspicion{"gpu-fraction=0.25", {slice_of(0)}, false},
                    Suspicion{"gpu-fraction=1", {whole(0)}, false},
                    Suspicion{"gpu-fraction=2", {whole(0), whole(1)}, false},
                    Suspicion{"gpu-fraction=2", {whole(0)}, true},
                    Suspicion{"gpu-fraction=2", {whole(1), whole(1)}, true},
                    Suspicion{"gpu-fraction=1", {share(40960, 1000)}, true},
                    Suspicion{"gpu-memory=4G", {share(3815, 93)}, false},
                    Suspicion{"gpu-memory=4096", {share(4096, 100)}, false},
                    Suspicion{"gpu-memory=4Gi", {share(4096, 100), share(4096, 100)}, true},
                    Suspicion{"gpu-memory=4G", {whole(0)}, true},
                    Suspicion{"nvidia.com/gpu=1", {share(40960, 1000)}, true},
                    Suspicion{"nvidia.com/gpu=1", {whole(0)}, true},
                    Suspicion{"gpu-memory=4x", {share(1, 1)}, true},
                    Suspicion{"gpu-fraction=0.25x", {share(1, 1)}, true},
                    Suspicion{"gpu-fraction=0.25,gpu-count=2", {share(1, 1)}, true},
                    Suspicion{"gpu-fraction=0.25;gpu-count=2", {mps(0), mps(1)}, false},
                    Suspicion{"gpu-fraction=0.25;gpu-count=2", {mps(0)}, true},
                    Suspicion{"gpu-fraction=0.25;gpu-count=2", {mps(0), mps(0)}, true},
                    Suspicion{"gpu-fraction=0.25;gpu-count=1", {mps(0)}, false},
                    Suspicion{"gpu-count=1;gpu-fraction=0.25", {mps(0)}, true},
                    Suspicion{"gpu-fraction=0.25;gpu-compute=9;gpu-model=A*", {mps(0)}, false},
                    Suspicion{"gpu-fraction=0.25;gpu-isolation=any", {mps(0)}, false},
                    Suspicion{"gpu-fraction=0.25;gpu-isolation=any", {share(1, 1)}, false},
                    Suspicion{"gpu-fraction=0.25;gpu-isolation=any", {whole(0)}, true},
                    Suspicion{"gpu-fraction=0.25;gpu-isolation=mps", {mps(0)}, false},
                    Suspicion{"gpu-fraction=0.25;gpu-isolation=mps", {share(1, 1)}, true},
                    Suspicion{"gpu-fraction=0.25;gpu-isolation=mps", {slice_of(0)}, true},
                    Suspicion{"gpu-fraction=0.25;gpu-isolation=mps", {whole(0)}, true},
                    Suspicion{"gpu-fraction=0.25;gpu-isolation=time-slicing", {share(1, 1)}, false},
                    Suspicion{"gpu-fraction=0.25;gpu-isolation=time-slicing", {mps(0)}, true},
                    Suspicion{"gpu-fraction=0.25;gpu-isolation=time-slicing", {slice_of(0)}, true},
                    Suspicion{"gpu-fraction=0.25;gpu-isolation=mig", {slice_of(0)}, false},
                    Suspicion{"gpu-fraction=0.25;gpu-isolation=mig", {mps(0)}, true},
                    Suspicion{"gpu-fraction=1;gpu-isolation=any", {whole(0)}, false},
                    Suspicion{"gpu-fraction=1;gpu-isolation=any", {mps(0)}, true},
                    Suspicion{"gpu-fraction=1;gpu-isolation=mps", {mps(0)}, true},
                    Suspicion{"", {share(1, 1)}, true}));

TEST(ReservationCodecTest, AShareMayBeHadOfAGpuThatAnotherContainerHoldsWhole) {
  struct Row {
    std::string_view why;
    model::ReservedContainer init;
    model::ReservedContainer app;
    bool suspect;
  };
  const std::string half = "gpu-fraction=0.5";
  const std::string two = "gpu-fraction=2";
  const std::vector both{whole(0), whole(1)};
  model::ReservedDevice other_uuid = whole(0);
  other_uuid.uuid = "GPU-x";
  const std::vector<Row> rows = {
      {"the app's first", {"i", half, std::vector{whole(0)}}, {"a", two, both}, false},
      {"its second", {"i", half, std::vector{whole(1)}}, {"a", two, both}, false},
      {"one of its own in its mode", {"i", half, std::vector{mps(2)}}, {"a", two, both}, false},
      {"both", {"i", "gpu-memory=1G;gpu-count=2", both}, {"a", two, both}, false},
      {"one that the app has not", {"i", half, std::vector{whole(2)}}, {"a", two, both}, true},
      {"another of that index", {"i", half, std::vector{other_uuid}}, {"a", two, both}, true},
      {"shared with the app", {"i", half, std::vector{whole(0)}}, {"a", half, both}, true},
      {"an app whose request is not understood",
       {"i", half, std::vector{whole(0)}},
       {"a", "later=1", both},
       true},
      {"that must be kept apart as the GPU is not",
       {"i", "gpu-fraction=0.5;gpu-isolation=mps", std::vector{whole(0)}},
       {"a", two, both},
       true},
      {"units are no devices",
       {"i", half, std::vector{whole(0)}},
       {"a", two, model::KubeletUnits{"nvidia.com/gpu", 2}},
       true}};
  for (const Row& row : rows) {
    for (const bool init_first : {true, false}) {
      model::Reservation reservation{"u", "n", {row.init, row.app}};
      if (!init_first) std::swap(reservation.containers[0], reservation.containers[1]);
      const auto read = codec::read_reservation(
          codec::write_reservation(reservation, "a", model::PodFacts{}).at("snug.dev/reservation"),
          base::Limits{});
      ASSERT_TRUE(read.has_value()) << read.error().message;
      EXPECT_EQ(read->suspect, row.suspect) << row.why << ": " << read->suspect_reason;
    }
  }
}

TEST(ReservationCodecTest, WhatEachContainerAsksIsReadFromItsText) {
  const model::Reservation reservation{"u",
                                       "n",
                                       {{"a", "gpu-fraction=0.25", std::vector{share(10240, 250)}},
                                        {"b", "later=1", std::vector{share(1, 1)}},
                                        {"c", "gpu-memory=4G", std::vector{share(3815, 93)}}}};
  const auto read = codec::read_reservation(
      codec::write_reservation(reservation, "a", model::PodFacts{}).at("snug.dev/reservation"),
      base::Limits{});
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->container_requests.size(), 3U);
  EXPECT_EQ(read->container_requests[0].value().device,
            model::DeviceRequest(model::FractionRequest{250}));
  EXPECT_FALSE(read->container_requests[1]);
  EXPECT_EQ(read->container_requests[2].value().device,
            model::DeviceRequest(model::MemoryRequest{{3815}}));
  EXPECT_TRUE(read->suspect);
  EXPECT_NE(read->suspect_reason.find("\"b\""), std::string::npos) << read->suspect_reason;
}

TEST(ReservationCodecTest, UnitsOtherThanTheirRequestAreSuspect) {
  for (const auto& [request, suspect] : {std::pair{"nvidia.com/gpu=2", false},
                                         {"nvidia.com/gpu=1", true},
                                         {"nvidia.com/gpu.shared=2", true},
                                         {"nvidia.com/x=2", true},
                                         {"gpu-fraction=2", true},
                                         {"gpu-fraction=0.5", true},
                                         {"later=2", true}}) {
    const model::Reservation reservation{
        "u", "n", {{"m", request, model::KubeletUnits{"nvidia.com/gpu", 2}}}};
    const auto read = codec::read_reservation(
        codec::write_reservation(reservation, "m", model::PodFacts{}).at("snug.dev/reservation"),
        base::Limits{});
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->suspect, suspect) << request;
  }
}

}  // namespace
}  // namespace snug::reservation_codec_test
