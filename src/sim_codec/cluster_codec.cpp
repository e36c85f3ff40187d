#include "snug/sim_codec/cluster_codec.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sim_codec/cluster_objects.hpp"
#include "sim_codec/other_systems.hpp"
#include "sim_codec/simulation_warnings.hpp"
#include "snug/codec/inventory_codec.hpp"
#include "snug/request/near_misses.hpp"
#include "snug/service/bound_holding.hpp"

namespace snug::sim_codec {
namespace {

bool has_all_gpus_of(const model::Holding& holding, const model::NodeInventory& inventory) {
  return std::ranges::all_of(
      holding.reservation.containers, [&](const model::ReservedContainer& container) {
        return std::ranges::all_of(container.devices(), [&](const model::ReservedDevice& device) {
          return inventory.find_gpu(device.index, device.uuid).has_value();
        });
      });
}

/// Joins the objects of the files to a cluster.
class ClusterBuilder {
 public:
  ClusterBuilder(const ClusterObjects& objects, const base::Limits& limits)
      : objects_(objects), limits_(limits), systems_(systems_in_use(objects)) {}

  void add_node(model::NodeFacts facts) {
    const auto object = objects_.nodes.find(facts.name);
    sim::ClusterNode& node = read_.cluster.nodes.emplace_back();
    if (object != objects_.nodes.end()) {
      translate_node(object->second, systems_, facts);
      node.traits = object->second.traits;
    }
    node.inventory = codec::read_inventory(facts, limits_);
    const std::string& closed = node.inventory.closed_message;
    if (!closed.empty())
      sentences_.count("node", facts.name, "that Snug would not use fully: " + closed);
    positions_.emplace(facts.name, read_.cluster.nodes.size() - 1);
  }

  /// The nodes must have been added before.
  void add_pod(model::PodFacts facts) {
    if (facts.finished) return;
    if (facts.uid.empty()) facts.uid = facts.name_space + "/" + facts.name;
    const auto found = objects_.pods.find({facts.name_space, facts.name});
    static const PodObject nothing;
    const PodObject& object = found == objects_.pods.end() ? nothing : found->second;
    const PodTranslation translation = translate_pod(object, systems_, facts);
    const auto info = std::make_shared<const service::PodInfo>(std::move(facts));
    describe(*info, object, translation);
    const model::HoldingPtr holding = holding_of(*info, translation);
    if (translation.is_placeholder) {
      if (holding != nullptr) read_.cluster.leaving.push_back(holding);
      return;
    }
    if (info->request && info->request->empty()) {
      ++read_.other_pods;
      if (holding != nullptr) read_.cluster.staying.push_back(holding);
      return;
    }
    if (info->facts.gated) return;
    read_.cluster.pods.push_back({info, object.selection, holding});
  }

  ReadCluster finish() {
    std::ranges::sort(read_.cluster.nodes, {}, [](const sim::ClusterNode& node) {
      return std::string_view(node.inventory.name);
    });
    // Pods without a time of creation come last, in the order of the files.
    std::ranges::stable_sort(read_.cluster.pods, {}, [](const sim::ClusterPod& pod) {
      const std::string_view created = pod.info->facts.creation_timestamp;
      return std::pair(created.empty(), created);
    });
    count_unknown_models(read_.cluster, sentences_);
    read_.warnings = sentences_.sentences();
    return std::move(read_);
  }

 private:
  /// What the pod holds now; null: it is not bound, or its node is not in the files.
  model::HoldingPtr holding_of(const service::PodInfo& info, const PodTranslation& translation) {
    const std::string& node = info.facts.node_name;
    if (node.empty()) return nullptr;
    const auto position = positions_.find(node);
    if (position == positions_.end()) {
      if (info.asks_for_gpus()) {
        sentences_.count("pod", info.full_name(), "bound to a node that is not in the files");
      }
      return nullptr;
    }
    model::HoldingPtr holding = service::read_holding(info, limits_).holding;
    const auto& assigned = translation.assignment.containers;
    if (!assigned.empty()) {
      auto assigned_holding = std::make_shared<model::Holding>(*holding);
      assigned_holding->unplaced = false;
      assigned_holding->reservation.containers = assigned;
      holding = std::move(assigned_holding);
    }
    const auto count = [&](std::string_view about) {
      sentences_.count("pod", info.full_name(), about);
    };
    // describe() has counted a pod whose assignment is unreadable.
    if (holding->unplaced && !translation.assignment.is_partly_unreadable) {
      count(
          "bound without an assignment that the simulation can read: counted as holding no GPU "
          "now");
    }
    if (!has_all_gpus_of(*holding, read_.cluster.nodes[position->second].inventory))
      count("on a GPU that its node does not list: counted as holding nothing of it now");
    return holding;
  }

  void describe(const service::PodInfo& info, const PodObject& object,
                const PodTranslation& translation) {
    const std::string name = info.full_name();
    const auto count = [&](std::string_view about) { sentences_.count("pod", name, about); };
    for (const std::string& resource : translation.not_understood)
      count("requesting " + resource + ", which the simulation cannot read: left where they are");
    if (object.claims_devices)
      count("claiming devices by a ResourceClaim, which the simulation does not read");
    if (translation.assignment.is_partly_unreadable) {
      count("with devices of another system that the simulation cannot read: they count as free");
    }
    for (const request::NearMiss& near_miss : request::near_misses(info.facts)) {
      if (!near_miss.of_other_system) count("with a likely mistake: " + near_miss.sentence);
    }
    if (translation.is_placeholder)
      count("holding a GPU for pods of KAI Scheduler: not simulated, unlike those pods");
    if (!translation.system.empty()) {
      count("stating the request in the form of " + translation.system +
            ": simulated with the same amounts");
    }
    if (info.request && info.request->empty()) return;
    if (info.facts.gated) {
      count("with scheduling gates: not simulated");
      return;
    }
    if (object.has_other_rules || translation.needs_other_resources) {
      count(
          "with host ports, volume claims, pod affinity, spreading or other resources, which the "
          "simulation ignores");
    }
  }

  const ClusterObjects& objects_;
  const base::Limits& limits_;
  const SystemsInUse systems_;
  std::map<std::string, std::size_t, std::less<>> positions_;  // by node: in Cluster::nodes
  CountedSentences sentences_;
  ReadCluster read_;
};

}  // namespace

struct ClusterReader::State {
  base::Limits limits;
  codec::Manifests manifests;
  ClusterObjects objects;
};

ClusterReader::ClusterReader(const base::Limits& limits)
    : state_(std::make_unique<State>(State{.limits = limits, .manifests = {}, .objects = {}})) {}

ClusterReader::~ClusterReader() = default;

base::Result<void> ClusterReader::add(const TraceFile& file) {
  auto manifests = codec::read_manifests(file.text, file.source, state_->limits);
  if (!manifests) return std::unexpected(manifests.error());
  if (auto added = codec::append(state_->manifests, *std::move(manifests), file.source); !added)
    return added;
  return read_cluster_objects(file.text, file.source, state_->limits, state_->objects);
}

base::Result<ReadCluster> ClusterReader::finish() {
  codec::Manifests& manifests = state_->manifests;
  if (manifests.nodes.empty()) {
    return base::fail(base::ErrorCode::kInvalid,
                      "--cluster has no node; expected the output of kubectl get nodes,pods -A -o "
                      "json");
  }
  ClusterBuilder builder(state_->objects, state_->limits);
  for (model::NodeFacts& node : manifests.nodes) builder.add_node(std::move(node));
  for (model::PodFacts& pod : manifests.pods) builder.add_pod(std::move(pod));
  return builder.finish();
}

}  // namespace snug::sim_codec
