#include "snug/model/node_name_index.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "snug/base/check.hpp"
#include "snug/base/name_hash.hpp"

namespace snug::model {

std::uint32_t NameIndex::hash_of(std::string_view name) {
  return static_cast<std::uint32_t>(base::name_hash(name));
}

void NameIndex::reserve(std::size_t names) {
  if (2 * names <= cells_.size()) return;
  const std::vector<Cell> before = std::exchange(cells_, {});
  cells_.resize(std::bit_ceil(2 * names));
  for (const Cell& cell : before) {
    if (cell.length_plus_one != 0) insert_cell(cell);
  }
}

void NameIndex::emplace(std::string_view name, base::NodeIndex node) {
  const std::size_t text = text_.size();
  SNUG_CHECK(name.size() < UINT32_MAX && text + name.size() <= UINT32_MAX);
  reserve(name_count_ + 1);
  text_ += name;
  insert_cell({.hash = hash_of(name),
               .length_plus_one = static_cast<std::uint32_t>(name.size() + 1),
               .text = static_cast<std::uint32_t>(text),
               .node = node.value});
  ++name_count_;
}

std::optional<base::NodeIndex> NameIndex::find(std::string_view name) const {
  return find(name, hash_of(name));
}

std::optional<base::NodeIndex> NameIndex::find(std::string_view name, std::uint32_t hash) const {
  if (cells_.empty()) return std::nullopt;
  const std::size_t mask = cells_.size() - 1;
  for (std::size_t cell_index = hash & mask; cells_[cell_index].length_plus_one != 0;
       cell_index = (cell_index + 1) & mask) {
    const Cell& cell = cells_[cell_index];
    if (cell.hash == hash && cell.length_plus_one == name.size() + 1 &&
        std::memcmp(text_.data() + cell.text, name.data(), name.size()) == 0) {
      return base::NodeIndex{cell.node};
    }
  }
  return std::nullopt;
}

std::vector<std::optional<base::NodeIndex>> NameIndex::find_all(
    std::span<const std::string_view> names) const {
  constexpr std::size_t kAtOnce = 32;
  std::vector<std::optional<base::NodeIndex>> node_slots(names.size());
  if (cells_.empty()) return node_slots;
  const std::size_t mask = cells_.size() - 1;
  std::array<std::uint32_t, kAtOnce> hashes{};
  for (std::size_t first = 0; first < names.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, names.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = hash_of(names[first + i]);
      __builtin_prefetch(&cells_[hashes[i] & mask]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      __builtin_prefetch(text_.data() + cells_[hashes[i] & mask].text);
    }
    for (std::size_t i = 0; i < count; ++i)
      node_slots[first + i] = find(names[first + i], hashes[i]);
  }
  return node_slots;
}

void NameIndex::insert_cell(const Cell& cell) {
  const std::size_t mask = cells_.size() - 1;
  std::size_t cell_index = cell.hash & mask;
  while (cells_[cell_index].length_plus_one != 0) cell_index = (cell_index + 1) & mask;
  cells_[cell_index] = cell;
}

}  // namespace snug::model
