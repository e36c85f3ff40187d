// Files of manifests, as the embedded mode, `snugctl explain` and `snugctl simulate` read them, and
// the YAML below them.
#include <nlohmann/json.hpp>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/codec/manifests.hpp"
#include "snug/codec/pod_templates.hpp"
#include "snug/codec/yaml.hpp"
#include "snug/sim_codec/cluster_codec.hpp"
#include "target.hpp"
#include "yaml_position.hpp"

namespace snug::fuzz {
namespace {

void read_cluster(std::string_view input, const base::Limits& limits) {
  sim_codec::ClusterReader reader(limits);
  if (const auto added = reader.add({input, "f"}); !added) {
    return require(added.error().message.starts_with("f"), "an error names the file");
  }
  const auto read = reader.finish();
  if (!read) return require(!read.error().message.empty(), "an error has a message");
  require(!read->cluster.nodes.empty(), "a cluster has nodes");
}

}  // namespace

void take_input(std::string_view input) {
  const base::Limits limits;
  if (const auto yaml = codec::parse_yaml(input, "f", limits); yaml) {
    require(nlohmann::json::accept(codec::to_json(*yaml)), "YAML can be written as JSON");
  } else {
    require_position(yaml.error());
  }
  if (auto read = codec::read_manifests(input, "f", limits); read) {
    codec::Manifests all;
    const std::size_t count = read->nodes.size() + read->pods.size();
    if (codec::append(all, *std::move(read), "f")) {
      require(all.nodes.size() + all.pods.size() == count, "all objects are there");
    }
  } else {
    require(!read.error().message.empty(), "an error has a message");
  }
  if (const auto pods = codec::read_pod_templates(input, "f", "default", limits); pods) {
    require(!pods->empty(), "a file without pods is an error");
    for (const auto& pod : *pods) require(!pod.pod.name_space.empty(), "a pod has a namespace");
  }
  read_cluster(input, limits);
}

}  // namespace snug::fuzz
