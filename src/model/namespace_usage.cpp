#include "snug/model/namespace_usage.hpp"

#include <utility>

#include "snug/base/name_hash.hpp"

namespace snug::model {

std::size_t NamespaceUsage::shard_of(std::string_view name_space) {
  return base::name_hash(name_space) % kShards;
}

base::MilliGpu NamespaceUsage::of(std::string_view name_space) const {
  const auto& part = shards_[shard_of(name_space)];
  if (part == nullptr) return {};
  const auto found = part->find(name_space);
  return found == part->end() ? base::MilliGpu{} : found->second;
}

void NamespaceUsage::add(std::string_view name_space, base::MilliGpu change) {
  if (change.value == 0) return;
  auto& part = shards_[shard_of(name_space)];
  auto next = part == nullptr ? std::make_shared<Shard>() : std::make_shared<Shard>(*part);
  base::MilliGpu& held = (*next)[std::string(name_space)];
  held += change;
  if (held.value == 0) next->erase(next->find(name_space));
  part = std::move(next);
}

}  // namespace snug::model
