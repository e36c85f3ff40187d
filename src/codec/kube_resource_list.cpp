#include "codec/kube_resource_list.hpp"

#include <map>
#include <string>

#include "snug/base/text.hpp"
#include "snug/request/quantity.hpp"

namespace snug::codec {
namespace {

using ParseQuantity = std::optional<std::int64_t> (*)(std::string_view text);

std::optional<std::int64_t> take_quantity(WalkErrors& walk, const FieldPath& list,
                                          model::StringMap& resources, std::string_view name,
                                          ParseQuantity parse) {
  const auto found = resources.find(name);
  if (found == resources.end()) return std::nullopt;
  const std::optional<std::int64_t> amount = parse(found->second);
  if (!amount) {
    walk.fail_at(FieldPath{&list, name}, "must be a Kubernetes quantity of 0 or more, not " +
                                             base::in_quotes(found->second));
  }
  resources.erase(found);
  return amount;
}

}  // namespace

HostRequests take_host_requests(WalkErrors& walk, const FieldPath& list,
                                model::StringMap& resources) {
  HostRequests amounts;
  if (resources.empty()) return amounts;
  amounts.cpu_milli = take_quantity(walk, list, resources, "cpu", request::parse_quantity_milli);
  amounts.memory_bytes = take_quantity(walk, list, resources, "memory", request::parse_quantity);
  return amounts;
}

model::HostAllocatable take_allocatable(WalkErrors& walk, const FieldPath& list,
                                        model::StringMap& resources) {
  const auto pods = take_quantity(walk, list, resources, "pods", request::parse_quantity);
  const HostRequests amounts = take_host_requests(walk, list, resources);
  return {.resources = amounts.resources(),
          .pod_slots = pods.value_or(0),
          .known = pods || amounts.cpu_milli || amounts.memory_bytes};
}

}  // namespace snug::codec
