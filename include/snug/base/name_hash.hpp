// A hash function for node names. kube-scheduler sends the names of all nodes with every call, so
// hashing is a large part of filter's work. This function is inline and reads 16 bytes per step;
// the hash function of the standard library is not inline and reads 8. The algorithm is folded
// multiplication, as in Wang Yi's wyhash. The seed is different in each process, so that attackers
// cannot choose names that collide. Therefore hashes must not be stored or used for sorting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace snug::base {

namespace name_hash_detail {

__extension__ using Product = unsigned __int128;

inline constexpr std::uint64_t kMultiplierA = 0x9E3779B97F4A7C15U;  // 2^64 / the golden ratio
inline constexpr std::uint64_t kMultiplierB = 0xD1B54A32D192ED03U;  // another odd number

extern const std::uint64_t seed;

inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const Product product = Product{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

template <typename Word>
std::uint64_t load(const char* from) {
  Word word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

}  // namespace name_hash_detail

[[nodiscard]] inline std::uint64_t name_hash(std::string_view name) {
  using namespace name_hash_detail;  // NOLINT(google-build-using-namespace)
  const char* at = name.data();
  std::size_t bytes_left = name.size();
  std::uint64_t hash = (bytes_left * kMultiplierA) ^ seed;
  for (; bytes_left > 16; at += 16, bytes_left -= 16) {
    hash = fold(load<std::uint64_t>(at) ^ kMultiplierB, load<std::uint64_t>(at + 8) ^ hash);
  }
  // `head` gets the first of the remaining bytes, and `tail` the last. The two may share bytes.
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
  if (bytes_left >= 8) {
    head = load<std::uint64_t>(at);
    tail = load<std::uint64_t>(at + bytes_left - 8);
  } else if (bytes_left >= 4) {
    head = load<std::uint32_t>(at);
    tail = load<std::uint32_t>(at + bytes_left - 4);
  } else if (bytes_left > 0) {
    head = static_cast<unsigned char>(at[0]);
    tail =
        (load<std::uint8_t>(at + bytes_left / 2) << 8U) | load<std::uint8_t>(at + bytes_left - 1);
  }
  return fold(head ^ hash ^ kMultiplierA, tail ^ kMultiplierB);
}

}  // namespace snug::base
