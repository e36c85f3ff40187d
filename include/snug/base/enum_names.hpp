// Names of enumerators in messages, JSON and metric labels. EnumNames is a table with one row for
// each enumerator. The table does not compile if a row is missing, duplicated or out of order.
//
//   enum class Color : std::uint8_t { kRed, kGreen };
//   inline constexpr EnumNames kColorNames{std::array{
//       EnumName{Color::kRed, "red"}, EnumName{Color::kGreen, "green"}}};
//   kColorNames[Color::kGreen] == "green"
//
// The values of the enumerators must be 0, 1, 2, … without gaps.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

namespace snug::base {

template <typename Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

namespace internal {

// Whether `kValue` is an enumerator of `Enum`. In __PRETTY_FUNCTION__, compilers print an
// enumerator by its name and any other value as a cast, such as "(Color)2".
template <typename Enum, Enum kValue>
consteval bool is_enumerator() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t value = text.rfind("kValue = ");
  return value != std::string_view::npos && text[value + 9] != '(';
}

}  // namespace internal

template <typename Enum, std::size_t kSize>
class EnumNames {
 public:
  consteval explicit EnumNames(const std::array<EnumName<Enum>, kSize>& rows) {
    for (std::size_t i = 0; i < kSize; ++i) {
      if (static_cast<std::size_t>(rows[i].value) != i) throw "an enumerator is out of order";
      names_[i] = rows[i].name;
    }
    if (internal::is_enumerator<Enum, static_cast<Enum>(kSize)>()) {
      throw "the last enumerators have no name";
    }
  }

  constexpr std::string_view operator[](Enum value) const {
    return names_[static_cast<std::size_t>(value)];
  }
  constexpr std::optional<Enum> find(std::string_view name) const {
    for (std::size_t i = 0; i < kSize; ++i) {
      if (names_[i] == name) return static_cast<Enum>(i);
    }
    return std::nullopt;
  }
  // All names, in the order of the enumerators.
  constexpr const std::array<std::string_view, kSize>& names() const { return names_; }
  static constexpr std::array<Enum, kSize> values() {
    std::array<Enum, kSize> values{};
    for (std::size_t i = 0; i < kSize; ++i) values[i] = static_cast<Enum>(i);
    return values;
  }
  static constexpr std::size_t size() { return kSize; }

 private:
  std::array<std::string_view, kSize> names_{};
};

}  // namespace snug::base
