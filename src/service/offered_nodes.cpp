#include "snug/service/offered_nodes.hpp"

#include <functional>
#include <string_view>
#include <utility>

#include "snug/plan/plan.hpp"

namespace snug::service {
namespace {

constexpr std::size_t kBits = 64;

bool has_bit(std::span<const std::uint64_t> bits, std::size_t slot) {
  return slot / kBits < bits.size() && (bits[slot / kBits] >> slot % kBits & 1U) != 0;
}

}  // namespace

OfferedNodes::OfferedNodes(const model::Snapshot& snapshot, std::vector<std::uint64_t> bits,
                           std::size_t unknown_nodes)
    : names_(snapshot.names), bits_(std::move(bits)), unknown_nodes_(unknown_nodes) {
  const std::string_view bytes(reinterpret_cast<const char*>(bits_.data()),
                               bits_.size() * sizeof(std::uint64_t));
  hash_ = std::hash<std::string_view>{}(bytes) ^
          std::hash<const model::NameIndex*>{}(snapshot.names.get()) ^ unknown_nodes_;
}

OfferedNodesPtr OfferedNodes::make(const model::Snapshot& snapshot,
                                   std::span<const std::uint32_t> slots) {
  std::vector<std::uint64_t> bits(snapshot.nodes.size() / kBits + 1);
  std::size_t known = 0;
  std::size_t unknown = 0;
  for (const std::uint32_t slot : slots) {
    if (slot == plan::kNoSlot) {
      ++unknown;
    } else if (!has_bit(bits, slot)) {
      bits[slot / kBits] |= std::uint64_t{1} << slot % kBits;
      ++known;
    }
  }
  if (unknown == 0 && known >= snapshot.names->size()) return nullptr;
  return OfferedNodesPtr(new OfferedNodes(snapshot, std::move(bits), unknown));
}

std::optional<std::vector<std::uint32_t>> OfferedNodes::slots_in(
    const model::Snapshot& snapshot) const {
  if (names_.lock() != snapshot.names) return std::nullopt;
  std::vector<std::uint32_t> slots;
  for (std::uint32_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    if (snapshot.nodes[slot] != nullptr && has_bit(bits_, slot)) slots.push_back(slot);
  }
  return slots;
}

bool OfferedNodes::is_same_as(const OfferedNodes& other) const {
  return hash_ == other.hash_ && unknown_nodes_ == other.unknown_nodes_ &&
         !names_.owner_before(other.names_) && !other.names_.owner_before(names_) &&
         bits_ == other.bits_;
}

}  // namespace snug::service
