#include "snug/base/name_hash.hpp"

namespace snug::base::name_hash_detail {

/// From where the kernel has loaded the program, which it chooses at random. Nothing is hashed
/// before main().
const std::uint64_t seed = fold(reinterpret_cast<std::uintptr_t>(&seed), kMultiplierB);

}  // namespace snug::base::name_hash_detail
