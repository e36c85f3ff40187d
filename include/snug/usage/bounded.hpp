// Keeps the number of rows, and so of metric series, within a bound: the rows with the most compute
// stay, and the others are summed up as one row. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "snug/usage/cluster_usage.hpp"

namespace snug::usage {

/// The name of the row that sums up the others. No namespace has this name. A GPU model may have
/// it, but then no two models get the same series, because its own row is summed up too.
inline constexpr std::string_view kOthers = "_others";

/// At most `max_rows` of the rows, in their order, and then the row kOthers unless there are no
/// others. This row has no cap.
[[nodiscard]] std::vector<NamespaceTotals> bounded(std::span<const NamespaceTotals> rows,
                                                   std::size_t max_rows);
[[nodiscard]] std::vector<ModelUsage> bounded(std::span<const ModelUsage> rows,
                                              std::size_t max_rows);

}  // namespace snug::usage
