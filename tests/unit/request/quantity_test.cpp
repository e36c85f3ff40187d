#include "snug/request/quantity.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "snug/request/pod_request_parser.hpp"

namespace snug::quantity_test {
namespace {

struct Row {
  std::string text;
  std::int64_t mebibytes;
};

TEST(QuantityTest, EveryFormIsReadAndRoundedUpToMebiBytes) {
  const std::vector<Row> rows = {
      {"4G", 3815},
      {"4Gi", 4096},
      {"4096Mi", 4096},
      {"4096", 4096},  // a bare integer means MiB
      {"1", 1},
      {"007", 7},
      {"1E", 953'674'316'407},  // a suffix: exa
      {"9.2E", 8'773'803'710'938},
      {"1Ei", 1'099'511'627'776},
      {"1P", 953'674'317},
      {"1Pi", 1'073'741'824},
      {"1T", 953'675},
      {"1Ti", 1'048'576},
      {"0.5Gi", 512},
      {".5Gi", 512},
      {"5.Gi", 5120},
      {"1.5G", 1431},
      {"123.456G", 117'737},
      {"0.9999999Gi", 1024},
      {"1.0000001Mi", 2},
      {"+4Gi", 4096},
      {"1M", 1},
      {"1Mi", 1},
      {"1048576k", 1000},
      {"1048577Ki", 1025},
      {"1k", 1},
      {"1Ki", 1},
      {"0.1Ki", 1},
      {"0.001k", 1},
      {"0.00000000123456789012345678Ei", 1358},  // needs more than 64 bits on the way
      {"8Ei", std::int64_t{1} << 43},
      {std::string(500, '0') + "4Gi", 4096},
  };
  for (const Row& row : rows) {
    const auto read = request::parse_gpu_memory(row.text);
    ASSERT_TRUE(read.has_value()) << row.text;
    EXPECT_EQ(read->value, row.mebibytes) << row.text;
  }
}

constexpr auto kOtherTexts = std::to_array<std::string_view>({"",
                                                              "4096.0",
                                                              "1e3",
                                                              "1E3",
                                                              "4E3",
                                                              "1e0",
                                                              "1e9",
                                                              "1e+9",
                                                              "1e-3",
                                                              "12e8",
                                                              "4096.0e0",
                                                              "1000000000000e-3",
                                                              "1e3Mi",
                                                              "4e0G",
                                                              "4096.",
                                                              "1.5",
                                                              "+1.5",
                                                              "+",
                                                              "-",
                                                              ".",
                                                              "E",
                                                              "e9",
                                                              "Gi",
                                                              ".Gi",
                                                              "0",
                                                              "0G",
                                                              "0.0Gi",
                                                              "-1",
                                                              "-4Gi",
                                                              "--1",
                                                              "+-1",
                                                              "+4096",
                                                              "4000m",
                                                              "1u",
                                                              "1n",
                                                              "4K",
                                                              "4g",
                                                              "4gi",
                                                              "4GB",
                                                              "4GiB",
                                                              "4GI",
                                                              "4mi",
                                                              " 4G",
                                                              "4G ",
                                                              "4 G",
                                                              "4,0G",
                                                              "1_000",
                                                              "0x10",
                                                              "1e",
                                                              "1e+",
                                                              "1e-",
                                                              "1e+-3",
                                                              "1e1.5",
                                                              "1e9Gi",
                                                              "1Gi1",
                                                              "1.2.3",
                                                              "..5",
                                                              "1..5G",
                                                              "inf",
                                                              "nan",
                                                              "1e9999",
                                                              "1\n",
                                                              "4G\t",
                                                              "\xEF\xBC\x91",
                                                              "1e 9",
                                                              "1Mi.",
                                                              "100%",
                                                              "1/2Gi",
                                                              "\"4G\"",
                                                              "4G;",
                                                              "٤",
                                                              "1'000",
                                                              "1e\xC2"
                                                              "9"});

TEST(QuantityTest, OtherTextIsRefusedAndNeverFallsBackToAnotherMeaning) {
  for (const std::string_view text : kOtherTexts) {
    EXPECT_FALSE(request::parse_gpu_memory(text).has_value()) << '"' << text << '"';
  }
  EXPECT_FALSE(request::parse_gpu_memory(std::string("4G\0", 3)).has_value());
  EXPECT_FALSE(request::parse_gpu_memory(std::string("4\0G", 3)).has_value());
}

TEST(QuantityTest, LessThanOneByteIsRefused) {
  for (const std::string_view text :
       {"0.5", "0.999", "0.0009Ki", "0.0009k", "0.00000000000000001Pi",
        "0.0000000000000000000000000000000000000000000001Ei"}) {
    EXPECT_FALSE(request::parse_gpu_memory(text).has_value()) << text;
  }
  EXPECT_FALSE(request::parse_gpu_memory("0." + std::string(10'000, '0') + "1Ei").has_value());
}

TEST(QuantityTest, AbsurdSizesAreCappedAndDoNotWrapAround) {
  for (const std::string_view text :
       {"8Ei", "9Ei", "16Ei", "9.3E", "16777216Ti", "999999999999999999E", "999999999999999999Ei",
        "8796093022208", "8796093022209", "999999999999999999"}) {
    EXPECT_EQ(request::parse_gpu_memory(text), (base::MebiBytes{std::int64_t{1} << 43})) << text;
  }
}

TEST(QuantityTest, MoreThan18DigitsAreRefused) {
  for (const std::string_view text :
       {"9223372036854775807", "18446744073709551616", "18446744073709551617Mi",
        "1.000000000000000000Gi", "340282366920938463463374607431768211457"}) {
    EXPECT_FALSE(request::parse_gpu_memory(text).has_value()) << text;
  }
  EXPECT_FALSE(request::parse_gpu_memory(std::string(100'000, '9')).has_value());
}

TEST(QuantityTest, TheRefusalSaysWhatIsAllowed) {
  EXPECT_EQ(request::parse_gpu_memory("4000m").error(),
            "a Kubernetes quantity of at least 1 byte with a unit (4G, 4Gi, 4096Mi), of at most 18 "
            "digits; a number without a unit is a whole number of MiB (4096)");
}

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

TEST(QuantityTest, WhatAHostHasIsRoundedUpAsKubernetesDoes) {
  struct HostRow {
    std::string text;
    std::int64_t whole;
    std::int64_t milli;
  };
  const std::vector<HostRow> rows = {
      {"0", 0, 0},
      {"0.0", 0, 0},
      {"0Gi", 0, 0},
      {"0m", 0, 0},
      {"1", 1, 1'000},
      {"+1", 1, 1'000},
      {"007", 7, 7'000},
      {"500m", 1, 500},
      {"1500m", 2, 1'500},
      {"0.5", 1, 500},
      {".5", 1, 500},
      {"2.", 2, 2'000},
      {"0.0001", 1, 1},
      {"1.0001", 2, 1'001},
      {"100u", 1, 1},
      {"2500000u", 3, 2'500},
      {"2500000001n", 3, 2'501},
      {"1n", 1, 1},
      {"12e3", 12'000, 12'000'000},
      {"12E-3", 1, 12},
      {"1e-999", 1, 1},
      {"2k", 2'000, 2'000'000},
      {"1Gi", std::int64_t{1} << 30, 1'000 * (std::int64_t{1} << 30)},
      {"1.5Gi", 1'610'612'736, 1'610'612'736'000},
      {"128974848", 128'974'848, 128'974'848'000},
      {"128974848000m", 128'974'848, 128'974'848'000},
      {"123Mi", 128'974'848, 128'974'848'000},
      {"9223372036854771712", 9'223'372'036'854'771'712, kLargest},  // a cgroup without a limit
      {"9223372036854775807", kLargest, kLargest},
      {"9223372036854775808", kLargest, kLargest},
      {"8Ei", kLargest, kLargest},
      {"999999999999999999Ei", kLargest, kLargest},
      {"1e999", kLargest, kLargest},
      {"123456789012345678901234567890", kLargest, kLargest},
      {"12345678901234567890123Ei", kLargest, kLargest},
      {"1.00000000000000000000001", 2, 1'001},
      {"1.00000000000000000000000", 1, 1'000},
      {"0.00000000000000000000001", 1, 1},
      {std::string(500, '0') + "4", 4, 4'000},
      {"4." + std::string(500, '0'), 4, 4'000},
  };
  for (const HostRow& row : rows) {
    EXPECT_EQ(request::parse_quantity(row.text), row.whole) << row.text;
    EXPECT_EQ(request::parse_quantity_milli(row.text), row.milli) << row.text;
  }
}

TEST(QuantityTest, AHostHasNothingThatIsNoQuantity) {
  for (const std::string_view text :
       {"",     "-1",    "-0",  "+",   "+-1", ".",   "m",           "Gi", "e3",
        "1 ",   " 1",    "1x",  "1K",  "1mm", "1mi", "1Gim",        "1e", "1e+",
        "1e3m", "1.2.3", "0x1", "inf", "nan", "1,5", "\xEF\xBC\x91"}) {
    EXPECT_FALSE(request::parse_quantity(text).has_value()) << '"' << text << '"';
    EXPECT_FALSE(request::parse_quantity_milli(text).has_value()) << '"' << text << '"';
  }
}

}  // namespace
}  // namespace snug::quantity_test
