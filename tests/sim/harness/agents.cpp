#include "sim/harness/agents.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace snug {

void Agents::act(const std::string& name) {
  const auto found = world_.nodes().find(name);
  if (found == world_.nodes().end() || !found->second.dynamic) return;
  const SimNode node = found->second;
  Hardware& hardware = nodes_[name];
  hardware.published = false;
  // The agent may report a failure again although the pod of the failure is gone.
  std::vector<SimFailure> before = std::exchange(hardware.failures, {});
  for (const model::GpuInfo& gpu : node.gpus) {
    if (!gpu.mig_enabled) continue;
    serve(name, gpu, hardware);
    check(name, gpu, hardware);
  }
  for (SimFailure& failure : before) {
    const bool ended = !world_.pods().contains(failure.pod);
    if (ended && random_.chance(30)) hardware.failures.push_back(std::move(failure));
  }
}

std::vector<Agents::Wanted> Agents::wanted(const std::string& node, const std::string& gpu) const {
  std::vector<Wanted> all;
  for (const auto& [uid, pod] : world_.pods()) {
    const auto text = pod.facts.annotations.find("snug.dev/reservation");
    if (!pod.holds() || pod.facts.node_name != node || text == pod.facts.annotations.end())
      continue;
    const auto json = nlohmann::json::parse(text->second, nullptr, false);
    if (!json.is_object() || json.value("uid", "") != uid || json.value("node", "") != node)
      continue;
    for (const auto& container : json.at("containers")) {
      for (const auto& device : container.value("devices", nlohmann::json::array())) {
        if (device.value("uuid", "") != gpu || !device.contains("mig")) continue;
        const auto& json_slice = device.at("mig");
        Wanted want{{json_slice.at("profile").get<std::string>(), json_slice.at("start").get<int>(),
                     json_slice.at("size").get<int>(), json_slice.value("uuid", "")},
                    uid};
        // Several containers of a pod may have the same slice.
        if (std::ranges::find(all, want) == all.end()) all.push_back(std::move(want));
      }
    }
  }
  return all;
}

std::vector<model::Slice> Agents::in_use(const std::string& node, const std::string& gpu) {
  std::vector<model::Slice> all;
  for (const auto& [uid, pod] : world_.pods()) {
    if (!pod.holds() || pod.facts.node_name != node) continue;
    for (const auto& [container, device] : model_.held(pod).devices) {
      if (device.uuid == gpu && device.slice) all.push_back(*device.slice);
    }
  }
  return all;
}

void Agents::serve(const std::string& node, const model::GpuInfo& gpu, Hardware& hardware) {
  Card& card = hardware.cards[gpu.uuid];
  if (card.model != gpu.model) card = {gpu.model, {}};
  for (const Wanted& want : wanted(node, gpu.uuid)) {
    if (card_of(gpu)->find(want.slice) == nullptr) continue;
    auto there = std::ranges::find_if(
        card.slices, [&](const model::Slice& slice) { return same_place(slice, want.slice); });
    if (there == card.slices.end()) {
      const bool failed = !make_room(node, gpu, want.slice, card) || random_.chance(6);
      if (failed) {
        note_("  cannot create" + show(want.slice) + " on " + gpu.uuid + " for " + want.pod);
        hardware.failures.push_back({gpu.uuid, want.slice, want.pod});
        ++counts_.failed;
        continue;
      }
      model::Slice slice = want.slice;
      slice.uuid = "MIG-" + std::to_string(++last_serial_);
      note_("  creates" + show(slice) + " on " + gpu.uuid + " for " + want.pod);
      there = card.slices.insert(card.slices.end(), std::move(slice));
      ++counts_.created;
    } else if (!hardware.served.contains({want.pod, there->uuid})) {
      ++counts_.reused;
    }
    if (hardware.served.emplace(want.pod, there->uuid).second) {
      const bool other = !want.slice.uuid.empty() && want.slice.uuid != there->uuid;
      counts_.other_uuids += other ? 1 : 0;
    }
  }
}

/// False: what is in the way is reserved.
bool Agents::make_room(const std::string& node, const model::GpuInfo& gpu,
                       const model::Slice& slice, Card& card) {
  const LiteralCard& plain = *card_of(gpu);
  const std::vector<Wanted> reserved = wanted(node, gpu.uuid);
  const std::vector<model::Slice> used = in_use(node, gpu.uuid);
  const auto stands_in = [](const auto& all, const model::Slice& one) {
    return std::ranges::any_of(all,
                               [&](const model::Slice& each) { return same_place(each, one); });
  };
  SliceUse use;
  std::vector<model::Slice> reserved_slices;
  for (const Wanted& want : reserved) reserved_slices.push_back(want.slice);
  // What is reserved stays. Of the others those that are not in the way: an engine can be, too.
  std::vector<model::Slice> kept;
  for (const model::Slice& there : card.slices) {
    if (!stands_in(reserved_slices, there)) continue;
    use.add(plain, there);
    kept.push_back(there);
  }
  if (!use.room_for(plain, slice)) return false;
  use.add(plain, slice);
  for (const model::Slice& there : card.slices) {
    if (stands_in(reserved_slices, there)) continue;
    if (use.room_for(plain, there)) {
      use.add(plain, there);
      kept.push_back(there);
      continue;
    }
    ++counts_.removed;
    if (stands_in(used, there)) {
      model_.report("removed", "for" + show(slice) + " on " + gpu.uuid + " of " + node + " goes" +
                                   show(there) + ", which a living pod has");
    }
  }
  card.slices = std::move(kept);
  return true;
}

/// Whoever says that it has a slice finds it, or the agent says that it could not be.
void Agents::check(const std::string& node, const model::GpuInfo& gpu, const Hardware& hardware) {
  const std::vector<model::Slice>& there = hardware.cards.at(gpu.uuid).slices;
  for (const Wanted& want : wanted(node, gpu.uuid)) {
    if (card_of(gpu)->find(want.slice) == nullptr) continue;
    const bool exists = std::ranges::any_of(
        there, [&](const model::Slice& slice) { return same_place(slice, want.slice); });
    const bool told = std::ranges::any_of(hardware.failures, [&](const SimFailure& failure) {
      return failure.gpu == gpu.uuid && same_place(failure.slice, want.slice);
    });
    if (exists == told) {
      model_.report("agent", want.pod + " has" + show(want.slice) + " on " + gpu.uuid + " of " +
                                 node +
                                 (exists ? ", which failed, too" : ", which does not exist"));
    }
  }
}

void Agents::publish(const std::string& name) {
  const auto found = world_.nodes().find(name);
  Hardware& hardware = nodes_[name];
  if (hardware.published || found == world_.nodes().end()) return;
  hardware.published = true;
  SimNode node = found->second;
  for (model::GpuInfo& gpu : node.gpus) {
    const auto card = hardware.cards.find(gpu.uuid);
    if (!gpu.mig_enabled || card == hardware.cards.end() || card->second.model != gpu.model)
      continue;
    gpu.mig_instances = card->second.slices;
  }
  node.failures = hardware.failures;
  note_("  " + name + " says what is there");
  world_.put_node(std::move(node));
}

}  // namespace snug
