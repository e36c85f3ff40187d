// How much GPU compute each namespace holds in the cluster, for caps. A value type with
// copy-on-write parts, so that a snapshot is cheap however many namespaces there are.
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
  /// `change` may be negative.
  void add(std::string_view name_space, base::MilliGpu change);

 private:
  static constexpr std::size_t kShards = 64;
  using Shard = std::map<std::string, base::MilliGpu, std::less<>>;

  [[nodiscard]] static std::size_t shard_of(std::string_view name_space);

  std::array<std::shared_ptr<const Shard>, kShards> shards_;  // null: empty
};

}  // namespace snug::model
