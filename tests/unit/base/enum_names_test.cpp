#include "snug/base/enum_names.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace snug::enum_names_test {
namespace {

enum class Color : std::uint8_t { kRed, kGreen, kBlue };

constexpr base::EnumNames kColorNames{std::array{base::EnumName{Color::kRed, "red"},
                                                 base::EnumName{Color::kGreen, "green"},
                                                 base::EnumName{Color::kBlue, "blue"}}};

TEST(EnumNamesTest, EachEnumeratorHasItsNameAndEachNameItsEnumerator) {
  EXPECT_EQ(kColorNames[Color::kRed], "red");
  EXPECT_EQ(kColorNames[Color::kBlue], "blue");
  EXPECT_EQ(kColorNames.find("green"), Color::kGreen);
  EXPECT_EQ(kColorNames.find("Green"), std::nullopt);
  EXPECT_EQ(kColorNames.find(""), std::nullopt);
  EXPECT_EQ(kColorNames.size(), 3U);
  EXPECT_EQ(kColorNames.values(), (std::array{Color::kRed, Color::kGreen, Color::kBlue}));
}

// What the constructor goes by to find an enumerator without a name.
TEST(EnumNamesTest, AValueBehindTheLastEnumeratorIsNone) {
  EXPECT_TRUE((base::internal::is_enumerator<Color, Color::kBlue>()));
  EXPECT_FALSE((base::internal::is_enumerator<Color, static_cast<Color>(3)>()));
}

}  // namespace
}  // namespace snug::enum_names_test
