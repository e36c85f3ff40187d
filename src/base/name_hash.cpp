#include "snug/base/name_hash.hpp"

namespace snug::base::name_hash_detail {

/// The seed is derived from an address in the program, which the kernel loads at a random address.
/// name_hash() must not be called before main(), because the seed is not initialized then.
const std::uint64_t seed = fold(reinterpret_cast<std::uintptr_t>(&seed), kMultiplierB);

}  // namespace snug::base::name_hash_detail
