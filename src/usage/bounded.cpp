#include "snug/usage/bounded.hpp"

#include <algorithm>
#include <string>

namespace snug::usage {
namespace {

const std::string& name_of(const NamespaceTotals& row) { return row.name_space; }
const std::string& name_of(const ModelUsage& row) { return row.model; }
base::MilliGpu compute_of(const NamespaceTotals& row) { return row.compute; }
base::MilliGpu compute_of(const ModelUsage& row) { return {row.gpus * base::kWholeGpu.value}; }

void add_to(NamespaceTotals& sum, const NamespaceTotals& row) {
  sum.pods += row.pods;
  sum.memory += row.memory;
  sum.compute += row.compute;
}

void add_to(ModelUsage& sum, const ModelUsage& row) {
  sum.gpus += row.gpus;
  sum.memory += row.memory;
  sum.memory_held += row.memory_held;
  sum.compute_held += row.compute_held;
  sum.free_whole_gpus += row.free_whole_gpus;
}

/// For each row: whether it is one of the `max_rows` rows with the most compute and, among equals,
/// with the lowest names. The row that is named like the sum of the others is not.
template <typename Row>
std::vector<bool> largest(std::span<const Row> rows, std::size_t max_rows) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (name_of(rows[i]) != kOthers) order.push_back(i);
  }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    if (compute_of(rows[a]) != compute_of(rows[b]))
      return compute_of(rows[a]) > compute_of(rows[b]);
    return name_of(rows[a]) < name_of(rows[b]);
  });
  std::vector<bool> stays(rows.size(), false);
  for (std::size_t i = 0; i < std::min(max_rows, order.size()); ++i) stays[order[i]] = true;
  return stays;
}

template <typename Row>
std::vector<Row> bounded_rows(std::span<const Row> rows, std::size_t max_rows, Row others) {
  const std::vector<bool> stays = largest(rows, max_rows);
  std::vector<Row> bounded_rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (stays[i]) {
      bounded_rows.push_back(rows[i]);
    } else {
      add_to(others, rows[i]);
    }
  }
  if (bounded_rows.size() < rows.size()) bounded_rows.push_back(others);
  return bounded_rows;
}

}  // namespace

std::vector<NamespaceTotals> bounded(std::span<const NamespaceTotals> rows, std::size_t max_rows) {
  return bounded_rows(rows, max_rows, NamespaceTotals{.name_space = std::string(kOthers)});
}

std::vector<ModelUsage> bounded(std::span<const ModelUsage> rows, std::size_t max_rows) {
  return bounded_rows(rows, max_rows, ModelUsage{.model = std::string(kOthers)});
}

}  // namespace snug::usage
