// The forms in which a pod may write a number, and those that look like one and are refused.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "support/test_objects.hpp"
#include "unit/request/asked.hpp"

namespace snug::number_forms_test {
namespace {

/// Whether each of the keys takes the value.
struct Row {
  std::string_view value;
  bool fraction, memory, count, compute;
};

constexpr auto kRows = std::to_array<Row>({
    {"1", true, true, true, true},
    {"2", true, true, true, true},
    {"100", true, true, true, true},
    {"101", true, true, true, false},
    {"999", true, true, true, false},
    {"1000", false, true, false, false},
    {"4096", false, true, false, false},
    {"007", false, true, false, false},
    {"0", false, false, false, false},
    {"00", false, false, false, false},
    {"0.25", true, false, false, false},
    {"0.333", true, false, false, false},
    {"0.5Gi", false, true, false, false},
    {".5Gi", false, true, false, false},
    {"5.Gi", false, true, false, false},
    {"4G", false, true, false, false},
    {"4Gi", false, true, false, false},
    {"4k", false, true, false, false},
    {"4E", false, true, false, false},  // exa
    {"+4G", false, true, false, false},
    {"", false, false, false, false},
    {"0.0", false, false, false, false},
    {"0.3333", false, false, false, false},
    {".5", false, false, false, false},
    {"1.0", false, false, false, false},
    {"1.5", false, false, false, false},
    {"4096.0", false, false, false, false},
    {"4096.", false, false, false, false},
    {"1e3", false, false, false, false},
    {"1E3", false, false, false, false},
    {"1e+3", false, false, false, false},
    {"1e0", false, false, false, false},
    {"2e-1", false, false, false, false},
    {"1e3Mi", false, false, false, false},
    {"4096.0e0", false, false, false, false},
    {"+4", false, false, false, false},
    {"+4096", false, false, false, false},
    {"+0.5", false, false, false, false},
    {"-4", false, false, false, false},
    {"-4G", false, false, false, false},
    {"0x10", false, false, false, false},
    {"1_000", false, false, false, false},
    {"1,000", false, false, false, false},
    {"50%", false, false, false, false},
    {"1/2", false, false, false, false},
    {"4 G", false, false, false, false},
    {" 4", false, false, false, false},
    {"4 ", false, false, false, false},
    {"4\n", false, false, false, false},
    {"4K", false, false, false, false},
    {"4g", false, false, false, false},
    {"4GB", false, false, false, false},
    {"4000m", false, false, false, false},
    {"\xD9\xA4", false, false, false, false},  // U+0664, an Arabic digit
    {"\xD9\xA4G", false, false, false, false},
    {"\xEF\xBC\x94", false, false, false, false},  // U+FF14, a full-width digit
    {"NaN", false, false, false, false},
    {"inf", false, false, false, false},
});

/// `key` as `value`, beside `other` where something else has to ask.
bool takes(std::string key, std::string_view value, model::StringMap beside = {}) {
  beside[key] = value;
  const std::string asked = asked_by(make_pod("p", beside));
  const bool taken = asked.starts_with("main{");
  if (!taken) {
    EXPECT_TRUE(asked.starts_with(key + " is \"")) << asked;
    EXPECT_NE(asked.find("\"; expected "), std::string::npos) << asked;
  }
  return taken;
}

TEST(NumberFormsTest, EachKeyTakesItsOwnForms) {
  for (const Row& row : kRows) {
    EXPECT_EQ(takes("gpu-fraction", row.value), row.fraction) << row.value;
    EXPECT_EQ(takes("gpu-memory", row.value), row.memory) << row.value;
    EXPECT_EQ(takes("gpu-count", row.value, {{"gpu-memory", "4G"}}), row.count) << row.value;
    EXPECT_EQ(takes("gpu-compute", row.value, {{"gpu-memory", "4G"}}), row.compute) << row.value;
  }
}

TEST(NumberFormsTest, ANumberWithoutAUnitIsSaidToBeMiB) {
  for (const std::string value : {"1e3", "1E3", "4096.0", "0.5"}) {
    EXPECT_EQ(asked_by(make_pod("p", {{"gpu-memory", value}})),
              "gpu-memory is \"" + value +
                  "\"; expected a Kubernetes quantity of at least 1 byte with a unit (4G, 4Gi, "
                  "4096Mi), of at most 18 digits; a number without a unit is a whole number of MiB "
                  "(4096)");
  }
}

}  // namespace
}  // namespace snug::number_forms_test
