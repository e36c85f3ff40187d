#include "codec/kube_amounts.hpp"

#include <map>
#include <string>

#include "snug/base/text.hpp"
#include "snug/request/quantity.hpp"

namespace snug {
namespace {

using ParseQuantity = std::optional<std::int64_t> (*)(std::string_view text);

std::optional<std::int64_t> take(WalkErrors& walk, const Where& list, StringMap& resources,
                                 std::string_view name, ParseQuantity parse) {
  const auto found = resources.find(name);
  if (found == resources.end()) return std::nullopt;
  const std::optional<std::int64_t> amount = parse(found->second);
  if (!amount) {
    walk.fail_at(Where{&list, name},
                 "must be a Kubernetes quantity of 0 or more, not " + in_quotes(found->second));
  }
  resources.erase(found);
  return amount;
}

}  // namespace

AmountList take_amounts(WalkErrors& walk, const Where& list, StringMap& resources) {
  AmountList amounts;
  if (resources.empty()) return amounts;
  amounts.cpu_milli = take(walk, list, resources, "cpu", parse_quantity_milli);
  amounts.memory_bytes = take(walk, list, resources, "memory", parse_quantity);
  return amounts;
}

HostCapacity take_capacity(WalkErrors& walk, const Where& list, StringMap& resources) {
  const auto pods = take(walk, list, resources, "pods", parse_quantity);
  const AmountList amounts = take_amounts(walk, list, resources);
  return {.amounts = amounts.amounts(),
          .pods = pods.value_or(0),
          .known = pods || amounts.cpu_milli || amounts.memory_bytes};
}

}  // namespace snug
