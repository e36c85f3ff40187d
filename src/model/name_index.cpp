#include "snug/model/name_index.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <utility>

namespace snug {

std::uint32_t NameIndex::hash_of(std::string_view name) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
}

void NameIndex::reserve(std::size_t names) {
  entries_.reserve(names);
  if (2 * names > cells_.size()) rehash(std::bit_ceil(2 * names));
}

void NameIndex::emplace(std::string name, NodeIndex node) {
  reserve(entries_.size() + 1);
  const std::uint32_t hash = hash_of(name);
  entries_.push_back({std::move(name), node});
  put(hash, static_cast<std::uint32_t>(entries_.size()));
}

std::optional<NodeIndex> NameIndex::find(std::string_view name) const {
  return find(name, hash_of(name));
}

std::optional<NodeIndex> NameIndex::find(std::string_view name, std::uint32_t hash) const {
  if (cells_.empty()) return std::nullopt;
  const std::size_t mask = cells_.size() - 1;
  for (std::size_t at = hash & mask; cells_[at].entry != 0; at = (at + 1) & mask) {
    const Entry& entry = entries_[cells_[at].entry - 1];
    if (cells_[at].hash == hash && entry.name == name) return entry.node;
  }
  return std::nullopt;
}

std::vector<std::optional<NodeIndex>> NameIndex::find_all(
    std::span<const std::string_view> names) const {
  constexpr std::size_t kAtOnce = 32;
  std::vector<std::optional<NodeIndex>> found(names.size());
  if (cells_.empty()) return found;
  const std::size_t mask = cells_.size() - 1;
  std::array<std::uint32_t, kAtOnce> hashes{};
  for (std::size_t first = 0; first < names.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, names.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = hash_of(names[first + i]);
      __builtin_prefetch(&cells_[hashes[i] & mask]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t entry = cells_[hashes[i] & mask].entry;
      if (entry != 0) __builtin_prefetch(&entries_[entry - 1]);
    }
    for (std::size_t i = 0; i < count; ++i) found[first + i] = find(names[first + i], hashes[i]);
  }
  return found;
}

void NameIndex::rehash(std::size_t cells) {
  cells_.assign(cells, {});
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    put(hash_of(entries_[i].name), static_cast<std::uint32_t>(i + 1));
  }
}

void NameIndex::put(std::uint32_t hash, std::uint32_t entry) {
  const std::size_t mask = cells_.size() - 1;
  std::size_t at = hash & mask;
  while (cells_[at].entry != 0) at = (at + 1) & mask;
  cells_[at] = {hash, entry};
}

}  // namespace snug
