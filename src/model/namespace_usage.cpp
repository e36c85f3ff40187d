#include "snug/model/namespace_usage.hpp"

#include <utility>

#include "snug/base/name_hash.hpp"

namespace snug::model {

std::size_t NamespaceUsage::shard_of(std::string_view name_space) {
  return base::name_hash(name_space) % kShards;
}

base::MilliGpu NamespaceUsage::of(std::string_view name_space) const {
  const auto& shard = shards_[shard_of(name_space)];
  if (shard == nullptr) return {};
  const auto usage = shard->find(name_space);
  return usage == shard->end() ? base::MilliGpu{} : usage->second;
}

void NamespaceUsage::add(std::string_view name_space, base::MilliGpu change) {
  if (change.value == 0) return;
  auto& shard = shards_[shard_of(name_space)];
  auto next = shard == nullptr ? std::make_shared<Shard>() : std::make_shared<Shard>(*shard);
  base::MilliGpu& held = (*next)[std::string(name_space)];
  held += change;
  if (held.value == 0) next->erase(next->find(name_space));
  shard = std::move(next);
}

}  // namespace snug::model
