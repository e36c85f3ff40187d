#include "snug/request/quantity.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "snug/model/host_resources.hpp"

namespace snug::request {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kMaxDigits = 19;  // any mantissa of 19 digits fits into 64 bits
constexpr int kMaxMemoryDigits = 18;
/// 2^63 bytes in MiB. It is the limit of Kubernetes quantities, and more than any GPU has.
constexpr std::int64_t kMaxMebiBytes = std::int64_t{1} << 43;

struct Suffix {
  std::string_view text;
  int ten;  // exponent of ten
  int two;  // exponent of two
};
constexpr auto kSuffixes = std::to_array<Suffix>({{"Ki", 0, 10},
                                                  {"Mi", 0, 20},
                                                  {"Gi", 0, 30},
                                                  {"Ti", 0, 40},
                                                  {"Pi", 0, 50},
                                                  {"Ei", 0, 60},
                                                  {"k", 3, 0},
                                                  {"M", 6, 0},
                                                  {"G", 9, 0},
                                                  {"T", 12, 0},
                                                  {"P", 15, 0},
                                                  {"E", 18, 0}});

/// Suffixes for factors below 1. `gpu-memory` does not accept them.
constexpr auto kSmallSuffixes = std::to_array<Suffix>({{"m", -3, 0}, {"u", -6, 0}, {"n", -9, 0}});

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Number {
  std::uint64_t mantissa = 0;
  int ten = 0;     // the number is mantissa × 10^ten
  int digits = 0;  // without leading zeros; if above kMaxDigits, the mantissa is rounded up
  bool has_point = false;
};

/// Removes digits and at most one decimal point from the front of `text`, and returns them as a
/// number.
std::optional<Number> take_number(std::string_view& text) {
  Number number;
  bool has_digits = false;
  bool rest = false;  // whether a digit other than 0 was dropped
  while (!text.empty() && (is_digit(text.front()) || text.front() == '.')) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '.') {
      if (number.has_point) return std::nullopt;
      number.has_point = true;
      continue;
    }
    has_digits = true;
    if (number.mantissa != 0 || c != '0') ++number.digits;
    if (number.digits > kMaxDigits) {
      rest = rest || c != '0';
      if (!number.has_point) ++number.ten;
      continue;
    }
    number.mantissa = number.mantissa * 10 + static_cast<std::uint64_t>(c - '0');
    if (number.has_point) --number.ten;
  }
  if (!has_digits) return std::nullopt;
  if (rest) ++number.mantissa;
  return number;
}

/// The exponents of ten and of two that a suffix stands for. Nullopt if the suffix is unknown.
std::optional<std::pair<int, int>> read_suffix(std::string_view tail) {
  for (const Suffix& suffix : kSuffixes) {
    if (tail == suffix.text) return std::pair{suffix.ten, suffix.two};
  }
  return std::nullopt;
}

std::optional<std::pair<int, int>> read_exponent(std::string_view tail) {
  if (tail.size() < 2 || (tail.front() != 'e' && tail.front() != 'E')) return std::nullopt;
  tail.remove_prefix(1);
  const bool negative = tail.front() == '-';
  if (negative || tail.front() == '+') tail.remove_prefix(1);
  if (tail.empty() || tail.size() > 3) return std::nullopt;
  int exponent = 0;
  for (const char c : tail) {
    if (!is_digit(c)) return std::nullopt;
    exponent = exponent * 10 + (c - '0');
  }
  return std::pair{negative ? -exponent : exponent, 0};
}

struct Whole {
  Wide value = 0;
  bool below_one = false;  // whether the number was below 1 before it was rounded up
};

/// Computes ceil(mantissa × 10^ten × 2^two). If this exceeds 2^64, the result is an arbitrary
/// number above 2^64. The computation does not overflow 128 bits: the mantissa has at most 64 bits,
/// `two` is at most 60, and a number above 2^64 is not multiplied by 10 again.
Whole round_up(std::uint64_t mantissa, int ten, int two) {
  constexpr Wide kBound = Wide{1} << 64;
  if (mantissa == 0) return {0, true};
  Wide value = Wide{mantissa} << two;
  for (; ten > 0 && value <= kBound; --ten) value *= 10;
  if (ten > 0) return {value};
  Wide divisor = 1;
  for (; ten < 0; ++ten) {
    divisor *= 10;
    if (divisor > value) return {1, true};
  }
  return {(value + divisor - 1) / divisor};
}

/// Converts mantissa × 10^ten × 2^two bytes to MiB, at most kMaxMebiBytes. Nullopt if it is below 1
/// byte.
std::optional<std::int64_t> to_mebibytes(std::uint64_t mantissa, int ten, int two) {
  constexpr Wide kBytesPerMebiByte = Wide{1} << 20;
  const Whole bytes = round_up(mantissa, ten, two);
  if (bytes.below_one) return std::nullopt;
  const Wide result = (bytes.value + kBytesPerMebiByte - 1) / kBytesPerMebiByte;
  return static_cast<std::int64_t>(std::min(result, static_cast<Wide>(kMaxMebiBytes)));
}

/// The exponents of ten and of two that the suffix or exponent part of a quantity stands for.
/// Nullopt if it is malformed.
std::optional<std::pair<int, int>> read_host_tail(std::string_view tail) {
  if (tail.empty()) return std::pair{0, 0};
  for (const Suffix& suffix : kSmallSuffixes) {
    if (tail == suffix.text) return std::pair{suffix.ten, suffix.two};
  }
  const auto suffix = read_suffix(tail);
  return suffix ? suffix : read_exponent(tail);
}

/// Parses a quantity, multiplies it by 10^more, and rounds up. Nullopt if malformed or negative.
std::optional<std::int64_t> parse_scaled(std::string_view text, int more) {
  constexpr Wide kLargest = std::numeric_limits<std::int64_t>::max();
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::optional<Number> number = take_number(text);
  if (!number) return std::nullopt;
  const auto tail = read_host_tail(text);
  if (!tail) return std::nullopt;
  const Whole whole = round_up(number->mantissa, number->ten + tail->first + more, tail->second);
  return static_cast<std::int64_t>(std::min(whole.value, kLargest));
}

}  // namespace

std::optional<std::int64_t> parse_quantity(std::string_view text) { return parse_scaled(text, 0); }

std::optional<std::int64_t> parse_quantity_milli(std::string_view text) {
  return parse_scaled(text, 3);
}

std::optional<std::int64_t> parse_unit_count(std::string_view text) {
  std::int64_t factor = 1;
  if (text.ends_with('k')) factor = 1'000;
  if (text.ends_with('M')) factor = 1'000'000;
  if (text.ends_with('G')) factor = 1'000'000'000;
  if (factor > 1) text.remove_suffix(1);
  if (text.empty()) return std::nullopt;
  std::int64_t units = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    units = units * 10 + (c - '0');
    if (units * factor > base::kLargestQuantity) return std::nullopt;
  }
  return units * factor;
}

std::expected<base::MebiBytes, std::string_view> parse_gpu_memory(std::string_view text) {
  constexpr std::string_view kAllowed =
      "a Kubernetes quantity of at least 1 byte with a unit (4G, 4Gi, 4096Mi), of at most 18 "
      "digits; a number without a unit is a whole number of MiB (4096)";
  const bool sign = !text.empty() && text.front() == '+';
  if (sign) text.remove_prefix(1);
  const std::optional<Number> number = take_number(text);
  if (!number || number->mantissa == 0 || number->digits > kMaxMemoryDigits) {
    return std::unexpected(kAllowed);
  }
  int ten = number->ten;
  int two = 0;
  if (!text.empty()) {
    const auto suffix = read_suffix(text);
    if (!suffix) return std::unexpected(kAllowed);
    ten += suffix->first;
    two = suffix->second;
  } else {
    // 4096.0 and +4096 are bytes in Kubernetes, but a user probably means MiB here. They are
    // refused, so that no number is read in the wrong unit.
    if (sign || number->has_point) return std::unexpected(kAllowed);
    two = 20;
  }
  const std::optional<std::int64_t> result = to_mebibytes(number->mantissa, ten, two);
  if (!result) return std::unexpected(kAllowed);
  return base::MebiBytes{*result};
}

}  // namespace snug::request
