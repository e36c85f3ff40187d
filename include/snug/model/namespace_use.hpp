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

namespace snug {

class NamespaceUse {
 public:
  [[nodiscard]] MilliGpu of(std::string_view name_space) const;
  /// `change` may be negative.
  void add(std::string_view name_space, MilliGpu change);

 private:
  static constexpr std::size_t kParts = 64;
  using Part = std::map<std::string, MilliGpu, std::less<>>;

  [[nodiscard]] static std::size_t part_of(std::string_view name_space);

  std::array<std::shared_ptr<const Part>, kParts> parts_;  // null: empty
};

}  // namespace snug
