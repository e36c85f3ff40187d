// The GPU compute that the pods of each namespace hold in the cluster. It is compared with the caps
// of namespaces. Copies share their parts until one is changed (copy-on-write), so a copy for a
// snapshot is cheap even with many namespaces.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "snug/base/units.hpp"

namespace snug::model {

class NamespaceUsage {
 public:
  [[nodiscard]] base::MilliGpu of(std::string_view name_space) const;
  /// Adds `change`, which may be negative, to the compute of the namespace.
  void add(std::string_view name_space, base::MilliGpu change);

 private:
  static constexpr std::size_t kShards = 64;
  using Shard = std::map<std::string, base::MilliGpu, std::less<>>;

  [[nodiscard]] static std::size_t shard_of(std::string_view name_space);

  std::array<std::shared_ptr<const Shard>, kShards> shards_;  // null means empty
};

}  // namespace snug::model
