// A node's GPUs, from the annotation snug.dev/inventory, or from labels and amounts: lines
// `KEY=VALUE` and `RESOURCE:ALLOCATABLE/CAPACITY`. Whatever the node says, it can be scheduled on
// or has a reason why not.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/codec/inventory_codec.hpp"
#include "snug/request/pod_request_parser.hpp"
#include "support/node_states.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

std::vector<model::GpuRequest> requests() {
  std::vector<model::GpuRequest> all;
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"gpu-fraction", "0.5"},
                                                        {"gpu-fraction", "2"},
                                                        {"gpu-memory", "8G"},
                                                        {"gpu-mig-profile", "1g.5gb"},
                                                        {"gpu-mig-profile", "2g.10gb"}}) {
    model::PodFacts pod;
    pod.name = pod.name_space = pod.uid = "p";
    pod.containers = {{.name = "main"}};
    pod.annotations.emplace(key, value);
    all.push_back(request::parse_request(pod).value());
  }
  return all;
}

void check(const model::NodeFacts& facts) {
  const base::Limits limits;
  const model::NodeInventory node = codec::read_inventory(facts, limits);
  require(node == codec::read_inventory(facts, limits), "the same facts, the same inventory");
  const bool open = node.closed_to_all == model::ReasonCode::kNone &&
                    node.closed_to_annotated == model::ReasonCode::kNone;
  require(!open || node.closed_message.empty(), "only a closed node says why it is closed");
  require(open || !node.closed_message.empty() || node.closed_to_all == model::ReasonCode::kNoGpu,
          "a closed node says why");
  require(node.gpus.size() <= static_cast<std::size_t>(limits.max_gpus_per_node), "too many GPUs");
  require(std::ranges::adjacent_find(node.gpus, std::ranges::greater_equal{},
                                     &model::GpuInfo::index) == node.gpus.end(),
          "GPUs ascend by index");
  const model::NodeStatePtr state =
      fit::build_node_state(std::make_shared<const model::NodeInventory>(node), {});
  static const std::vector<model::GpuRequest> kRequests = requests();
  for (const model::GpuRequest& request : kRequests) {
    fit::FitMemo memo(request);
    const FitResult fitted = fit_all(*state, request);
    require((fitted.reason == model::ReasonCode::kNone) == fit::can_fit(*state, {}, memo),
            "can_fit() agrees with fit()");
    require(fitted.options.empty() == (fitted.reason != model::ReasonCode::kNone),
            "a placement or a reason");
    require(open || fitted.options.empty(), "nothing fits on a closed node");
  }
}

model::NodeFacts facts_from_lines(std::string_view text) {
  model::NodeFacts facts{.name = "n"};
  for (const std::string& line : split(text, '\n')) {
    if (const auto equals = line.find('='); equals != line.npos) {
      facts.labels.insert_or_assign(line.substr(0, equals), line.substr(equals + 1));
    } else if (const auto colon = line.find(':'); colon != line.npos) {
      const auto slash = std::min(line.find('/', colon), line.size());
      const std::string resource = "nvidia.com/" + line.substr(0, colon);
      facts.allocatable[resource] = line.substr(colon + 1, slash - colon - 1);
      facts.capacity[resource] = line.substr(std::min(slash + 1, line.size()));
    }
  }
  return facts;
}

}  // namespace

void take_input(std::string_view input) {
  model::NodeFacts facts = facts_from_lines(input);
  check(facts);
  facts.annotations["snug.dev/inventory"] = input;
  check(facts);
  facts.annotations["snug.dev/inventory"] =
      R"({"version":1,"gpus":[{"index":0,"uuid":"GPU-a","model":"A","memoryMiB":1}]})";
  const model::NodeInventory without_usage = codec::read_inventory(facts, {});
  facts.annotations["snug.dev/usage"] = input;
  model::NodeInventory with_usage = codec::read_inventory(facts, {});
  for (model::GpuInfo& gpu : with_usage.gpus) gpu.load.reset();
  require(with_usage == without_usage, "usage changes nothing but loads");
}

}  // namespace snug::fuzz
