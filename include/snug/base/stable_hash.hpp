// A hash that is the same in every process and version, so that names can be made of it: FNV-1a
// with 64 bits. Whoever chooses the text also chooses the hash, so tables use name_hash.hpp.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

namespace snug::base {

[[nodiscard]] std::uint64_t stable_hash(std::string_view text);

}  // namespace snug::base
