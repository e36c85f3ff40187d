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
  int exponent10;  // exponent of ten
  int exponent2;   // exponent of two
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

struct DecimalNumber {
  std::uint64_t mantissa = 0;
  int exponent10 = 0;  // the number is mantissa × 10^exponent10
  int digits = 0;      // without leading zeros; if above kMaxDigits, the mantissa is rounded up
  bool has_point = false;
};

/// Removes digits and at most one decimal point from the front of `text`, and returns them as a
/// number.
std::optional<DecimalNumber> take_number(std::string_view& text) {
  DecimalNumber decimal;
  bool has_digits = false;
  bool dropped_nonzero = false;  // whether a digit other than 0 was dropped
  while (!text.empty() && (is_digit(text.front()) || text.front() == '.')) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '.') {
      if (decimal.has_point) return std::nullopt;
      decimal.has_point = true;
      continue;
    }
    has_digits = true;
    if (decimal.mantissa != 0 || c != '0') ++decimal.digits;
    if (decimal.digits > kMaxDigits) {
      dropped_nonzero = dropped_nonzero || c != '0';
      if (!decimal.has_point) ++decimal.exponent10;
      continue;
    }
    decimal.mantissa = decimal.mantissa * 10 + static_cast<std::uint64_t>(c - '0');
    if (decimal.has_point) --decimal.exponent10;
  }
  if (!has_digits) return std::nullopt;
  if (dropped_nonzero) ++decimal.mantissa;
  return decimal;
}

/// The exponents of ten and of two that a suffix stands for. Nullopt if the suffix is unknown.
std::optional<std::pair<int, int>> read_suffix(std::string_view quantity_tail) {
  for (const Suffix& suffix : kSuffixes) {
    if (quantity_tail == suffix.text) return std::pair{suffix.exponent10, suffix.exponent2};
  }
  return std::nullopt;
}

std::optional<std::pair<int, int>> read_exponent(std::string_view quantity_tail) {
  if (quantity_tail.size() < 2 || (quantity_tail.front() != 'e' && quantity_tail.front() != 'E'))
    return std::nullopt;
  quantity_tail.remove_prefix(1);
  const bool negative = quantity_tail.front() == '-';
  if (negative || quantity_tail.front() == '+') quantity_tail.remove_prefix(1);
  if (quantity_tail.empty() || quantity_tail.size() > 3) return std::nullopt;
  int exponent = 0;
  for (const char c : quantity_tail) {
    if (!is_digit(c)) return std::nullopt;
    exponent = exponent * 10 + (c - '0');
  }
  return std::pair{negative ? -exponent : exponent, 0};
}

struct RoundedUp {
  Wide value = 0;
  bool below_one = false;  // whether the number was below 1 before it was rounded up
};

/// Computes ceil(mantissa × 10^exponent10 × 2^exponent2). If this exceeds 2^64, the result is an
/// arbitrary number above 2^64. The computation does not overflow 128 bits: the mantissa has at
/// most 64 bits, `exponent2` is at most 60, and a number above 2^64 is not multiplied by 10 again.
RoundedUp round_up(std::uint64_t mantissa, int exponent10, int exponent2) {
  constexpr Wide kBound = Wide{1} << 64;
  if (mantissa == 0) return {0, true};
  Wide scaled = Wide{mantissa} << exponent2;
  for (; exponent10 > 0 && scaled <= kBound; --exponent10) scaled *= 10;
  if (exponent10 > 0) return {scaled};
  Wide divisor = 1;
  for (; exponent10 < 0; ++exponent10) {
    divisor *= 10;
    if (divisor > scaled) return {1, true};
  }
  return {(scaled + divisor - 1) / divisor};
}

/// Converts mantissa × 10^exponent10 × 2^exponent2 bytes to MiB, at most kMaxMebiBytes. Nullopt if
/// it is below 1 byte.
std::optional<std::int64_t> to_mebibytes(std::uint64_t mantissa, int exponent10, int exponent2) {
  constexpr Wide kBytesPerMebiByte = Wide{1} << 20;
  const RoundedUp bytes = round_up(mantissa, exponent10, exponent2);
  if (bytes.below_one) return std::nullopt;
  const Wide mebibytes = (bytes.value + kBytesPerMebiByte - 1) / kBytesPerMebiByte;
  return static_cast<std::int64_t>(std::min(mebibytes, static_cast<Wide>(kMaxMebiBytes)));
}

/// The exponents of ten and of two that the suffix or exponent part of a quantity stands for.
/// Nullopt if it is malformed.
std::optional<std::pair<int, int>> read_host_tail(std::string_view quantity_tail) {
  if (quantity_tail.empty()) return std::pair{0, 0};
  for (const Suffix& suffix : kSmallSuffixes) {
    if (quantity_tail == suffix.text) return std::pair{suffix.exponent10, suffix.exponent2};
  }
  const auto suffix = read_suffix(quantity_tail);
  return suffix ? suffix : read_exponent(quantity_tail);
}

/// Parses a quantity, multiplies it by 10^extra_exponent, and rounds up. Nullopt if malformed or
/// negative.
std::optional<std::int64_t> parse_scaled(std::string_view text, int extra_exponent) {
  constexpr Wide kLargest = std::numeric_limits<std::int64_t>::max();
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::optional<DecimalNumber> decimal = take_number(text);
  if (!decimal) return std::nullopt;
  const auto tail = read_host_tail(text);
  if (!tail) return std::nullopt;
  const RoundedUp rounded_up =
      round_up(decimal->mantissa, decimal->exponent10 + tail->first + extra_exponent, tail->second);
  return static_cast<std::int64_t>(std::min(rounded_up.value, kLargest));
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
  const std::optional<DecimalNumber> decimal = take_number(text);
  if (!decimal || decimal->mantissa == 0 || decimal->digits > kMaxMemoryDigits) {
    return std::unexpected(kAllowed);
  }
  int exponent10 = decimal->exponent10;
  int exponent2 = 0;
  if (!text.empty()) {
    const auto suffix = read_suffix(text);
    if (!suffix) return std::unexpected(kAllowed);
    exponent10 += suffix->first;
    exponent2 = suffix->second;
  } else {
    // 4096.0 and +4096 are bytes in Kubernetes, but a user probably means MiB here. They are
    // refused, so that no number is read in the wrong unit.
    if (sign || decimal->has_point) return std::unexpected(kAllowed);
    exponent2 = 20;
  }
  const std::optional<std::int64_t> mebibytes =
      to_mebibytes(decimal->mantissa, exponent10, exponent2);
  if (!mebibytes) return std::unexpected(kAllowed);
  return base::MebiBytes{*mebibytes};
}

}  // namespace snug::request
