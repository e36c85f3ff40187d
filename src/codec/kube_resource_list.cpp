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
  const auto resource_entry = resources.find(name);
  if (resource_entry == resources.end()) return std::nullopt;
  const std::optional<std::int64_t> amount = parse(resource_entry->second);
  if (!amount) {
    walk.fail_at(FieldPath{&list, name}, "must be a Kubernetes quantity of 0 or more, not " +
                                             base::in_quotes(resource_entry->second));
  }
  resources.erase(resource_entry);
  return amount;
}

}  // namespace

model::ListedAmounts take_mirrored_amounts(WalkErrors& walk, const FieldPath& list,
                                           model::StringMap& resources) {
  const auto take = [&](std::string_view name) {
    return take_quantity(walk, list, resources, name, request::parse_quantity);
  };
  return {.milli = take(model::kMilliResource), .memory_mib = take(model::kMemoryResource)};
}

HostRequests take_host_requests(WalkErrors& walk, const FieldPath& list,
                                model::StringMap& resources) {
  HostRequests host_requests;
  if (resources.empty()) return host_requests;
  host_requests.cpu_milli =
      take_quantity(walk, list, resources, "cpu", request::parse_quantity_milli);
  host_requests.memory_bytes =
      take_quantity(walk, list, resources, "memory", request::parse_quantity);
  host_requests.mirrored = take_mirrored_amounts(walk, list, resources);
  return host_requests;
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
