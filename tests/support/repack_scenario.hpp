// A cluster with pods, and an incoming pod for which repacking is tested. Pure.
//
//   RepackScenario on({"n1: A 1000 x2", "n2: A 1000"}, {"a n1 g0:500", "b n2 w0"}, make_whole(1));
//
// The text of a pod is its uid, its node, and words: gI:M (M MiB and M milli-GPU of GPU I; M is the
// same for all GPUs of the pod), wI (GPU I as a whole), mI:PROFILE@START (a slice of GPU I, an A100
// with 40 GB), uN (N units of nvidia.com/gpu), cpu=, ns= (namespace), model= (globs of gpu-model),
// isolation=mps, ending (it is terminating), tied (it has other constraints), suspect, unknown (its
// request could not be parsed), by-hand (it has no reservation annotation). A GPU has 1000 MiB.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/advice/repack.hpp"
#include "snug/fit/tenant.hpp"
#include "support/mig_nodes.hpp"
#include "support/node_states.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug {

inline void set_movable_word(model::Holding& pod, const std::string& word) {
  const std::string value = word.substr(std::min(word.find_first_of(":=") + 1, word.size()));
  model::ContainerRequest& asked = *pod.container_requests.front();
  if (word == "ending") {
    pod.terminating = true;
  } else if (word == "tied") {
    pod.has_other_constraints = true;
  } else if (word == "suspect") {
    pod.suspect = true;
  } else if (word == "unknown") {
    pod.container_requests.front().reset();
  } else if (word == "by-hand") {
    pod.reservation_written = false;
  } else if (word.starts_with("cpu=")) {
    pod.host.cpu_milli = std::stoll(value);
  } else if (word.starts_with("ns=")) {
    pod.name_space = value;
  } else if (word.starts_with("model=")) {
    asked.models.included = split(value, ',');
    asked.text += ";gpu-model=" + value;
  } else if (word == "isolation=mps") {
    asked.isolation = model::Isolation::kMps;
    asked.text += ";gpu-isolation=mps";
    for (model::ReservedDevice& device : std::get<std::vector<model::ReservedDevice>>(
             pod.reservation.containers.front().assigned)) {
      device.mode = model::GpuMode::kMps;
    }
  } else {
    throw std::invalid_argument("unknown word of a pod: " + word);
  }
}

inline constexpr const char* kMigModel = "NVIDIA-A100-SXM4-40GB";
inline constexpr std::int64_t kMigMemory = 40960;

/// Makes a slice from PROFILE@START, such as `1g.5gb@4`, of a GPU of kMigModel.
inline model::ReservedDevice slice_device_named(int index, std::string_view text) {
  const std::size_t at = text.find('@');
  return make_slice_device(index, *mig::find_mig_card(kMigModel, {kMigMemory})->table,
                           std::string(text.substr(0, at)),
                           std::stoi(std::string(text.substr(at + 1))));
}

inline model::HoldingPtr make_movable(std::string_view text) {
  const std::vector<std::string> words = split(text, ' ');
  if (words.size() < 3) throw std::invalid_argument("a pod is UID NODE WORDS…");
  auto pod = make_holding(words[0], words[1], {});
  pod->rank.uid = words[0];
  pod->reservation_written = true;
  std::vector<model::ReservedDevice> devices;
  model::GpuRequest asked;
  std::vector<std::string> others;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool numbered = word.size() > 1 && word[1] >= '0' && word[1] <= '9';
    const int number = numbered ? std::stoi(word.substr(1)) : 0;
    if (numbered && word.starts_with('g')) {
      const int milli = std::stoi(word.substr(word.find(':') + 1));
      devices.push_back(make_share(number, milli, milli));
      asked = make_fraction(milli);
    } else if (numbered && word.starts_with('w')) {
      devices.push_back(make_whole_device(number, 1000));
      asked = make_whole(1);
    } else if (numbered && word.starts_with('m')) {
      const std::string slice = word.substr(word.find(':') + 1);
      devices.push_back(slice_device_named(number, slice));
      asked = make_slice_request(slice.substr(0, slice.find('@')));
    } else if (numbered && word.starts_with('u')) {
      asked = make_units(number);
      pod->reservation.containers.front().assigned = model::KubeletUnits{"nvidia.com/gpu", number};
    } else {
      others.push_back(word);
    }
  }
  for (model::ReservedDevice& device : devices) device.uuid = make_gpu_uuid(words[1], device.index);
  model::ContainerRequest& one = asked.containers.front();
  if (devices.size() > 1) {
    one.count = static_cast<std::int64_t>(devices.size());
    one.text += ";gpu-count=" + std::to_string(devices.size());
  }
  if (!devices.empty()) pod->reservation.containers.front().assigned = std::move(devices);
  pod->container_requests.emplace_back(one);
  for (const std::string& word : others) set_movable_word(*pod, word);
  if (pod->container_requests.front())
    pod->reservation.containers.front().request_text = pod->container_requests.front()->text;
  pod->request_text = pod->reservation.containers.front().request_text;
  return pod;
}

/// Describes a reservation as its node and the indices of its devices, such as `n1:0+1`. A slice is
/// followed by its start, such as `n1:0@4`. If the kubelet assigns the devices, the text is `n1:`.
inline std::string place_text(const model::Reservation& reservation) {
  std::string text = reservation.node + ":";
  for (const model::ReservedContainer& container : reservation.containers) {
    for (const model::ReservedDevice& device : container.devices()) {
      text += (text.ends_with(':') ? "" : "+") + std::to_string(device.index);
      if (device.slice) text += "@" + std::to_string(device.slice->start);
    }
  }
  return text;
}

/// The incoming pod has the uid `new` and is in the namespace `default`.
class RepackScenario {
 public:
  RepackScenario(const std::vector<std::string>& nodes, const std::vector<std::string>& pods,
                 model::GpuRequest asked)
      : incoming(std::move(asked)) {
    for (const std::string& text : nodes) inventories.push_back(make_mig_node(text));
    for (const std::string& text : pods) holdings.push_back(make_movable(text));
  }

  [[nodiscard]] model::Snapshot snapshot() const {
    model::Snapshot all;
    std::vector<model::NodeStatePtr> states;
    auto names = std::make_shared<model::NameIndex>();
    for (const model::NodeInventory& inventory : inventories) {
      std::vector<model::HoldingPtr> on_it;
      for (const model::HoldingPtr& pod : holdings) {
        if (pod->reservation.node == inventory.name) on_it.push_back(pod);
      }
      for (const model::HoldingPtr& pod : on_it) {
        all.namespace_usage.add(pod->name_space, fit::held_compute(*pod, &inventory));
      }
      names->emplace(inventory.name, base::NodeIndex{static_cast<std::uint32_t>(states.size())});
      const auto more = unlisted.find(inventory.name);
      states.push_back(fit::build_node_state(
          std::make_shared<const model::NodeInventory>(inventory), std::move(on_it),
          more == unlisted.end() ? fit::CpuOnlyHoldings{} : more->second));
    }
    all.nodes = model::NodeTable(states);
    all.names = std::move(names);
    for (const model::HoldingPtr& intent : intents) {
      all.intents[all.names->find(intent->reservation.node)->value].push_back(intent);
    }
    for (const model::NominationPtr& pod : nominated) {
      all.nominations[all.names->find(pod->node)->value].push_back(pod);
    }
    return all;
  }
  [[nodiscard]] advice::RepackAdvice advice() const {
    const model::Snapshot all = snapshot();
    return advice::repack(
        {.snapshot = all, .incoming = incoming.view(), .protected_uids = protected_uids});
  }
  /// Describes the advice: `fits n1:0` if the request fits now; `a n1:0>n2:0, b n1:1>n2:0; n1:0+1`
  /// for two moves (pod, old place, new place) and then the place of the incoming pod; or the
  /// explanation why there is none.
  [[nodiscard]] std::string text() const {
    const advice::RepackAdvice found = advice();
    if (!found.reservation) return found.explanation;
    if (found.fits_now) return "fits " + place_text(*found.reservation);
    std::string all;
    for (const advice::PodMove& move : found.moves) {
      all += (all.empty() ? "" : ", ") + move.from->uid + " " + place_text(move.from->reservation) +
             ">" + place_text(move.to);
    }
    return all + "; " + place_text(*found.reservation);
  }

  OwnedIncomingPod incoming;
  std::vector<model::NodeInventory> inventories;
  std::vector<model::HoldingPtr> holdings;
  std::map<std::string, fit::CpuOnlyHoldings>
      unlisted;  // by node: CPU-only pods, which the node state does not list
  std::vector<model::HoldingPtr> intents;
  std::vector<model::NominationPtr> nominated;
  std::vector<std::string_view> protected_uids;  // sorted uids
};

}  // namespace snug
