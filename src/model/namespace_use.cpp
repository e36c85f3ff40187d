#include "snug/model/namespace_use.hpp"

#include <utility>

#include "snug/base/name_hash.hpp"

namespace snug {

std::size_t NamespaceUse::part_of(std::string_view name_space) {
  return name_hash(name_space) % kParts;
}

MilliGpu NamespaceUse::of(std::string_view name_space) const {
  const auto& part = parts_[part_of(name_space)];
  if (part == nullptr) return {};
  const auto found = part->find(name_space);
  return found == part->end() ? MilliGpu{} : found->second;
}

void NamespaceUse::add(std::string_view name_space, MilliGpu change) {
  if (change.value == 0) return;
  auto& part = parts_[part_of(name_space)];
  auto next = part == nullptr ? std::make_shared<Part>() : std::make_shared<Part>(*part);
  MilliGpu& held = (*next)[std::string(name_space)];
  held += change;
  if (held.value == 0) next->erase(next->find(name_space));
  part = std::move(next);
}

}  // namespace snug
