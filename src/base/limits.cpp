#include "snug/base/limits.hpp"

#include <array>

namespace snug::base {
namespace {

constexpr auto kLimitRows = std::to_array<LimitRow>({
#define SNUG_LIMIT_ROW(name, key, default_value, smallest, largest, meaning) \
  {key, &Limits::name, default_value, smallest, largest, meaning},
    SNUG_LIMITS(SNUG_LIMIT_ROW)
#undef SNUG_LIMIT_ROW
});

}  // namespace

std::span<const LimitRow> limit_rows() { return kLimitRows; }

}  // namespace snug::base
