// The naive model's checks of decisions: whether the devices that Snug assigned to a pod are
// allowed, and whether a pod fits on a node.
#include <algorithm>

#include "sim/harness/naive_model.hpp"

namespace snug {

void NaiveModel::check_choice(const model::PodFacts& pod, const PlainHeld& held, const Room& room,
                              Beside beside) {
  const std::string who = pod.uid + " on " + room.node.name;
  if (const char* why = obstacle_to_kind(held.ask, room)) {
    report("decision", who + ": " + why + "; it is given " + show(held.held));
    return;
  }
  if (held.ask.units > 0) {
    const std::map<std::string, std::int64_t> expected{{kGpuUnits, held.ask.units}};
    if (!held.held.devices.empty() || held.held.units != expected) {
      report("decision", who + " asks for units and is given " + show(held.held));
    }
    return;
  }
  std::vector<Take> takes;
  std::map<std::string, std::set<std::size_t>> gpus;  // by container
  for (const Device& device : held.held.devices) {
    const PlainContainer* ask = held.ask.find(device.container);
    const auto gpu = std::ranges::find_if(room.node.gpus, [&](const SimGpu& g) {
      return g.index == device.index && g.uuid == device.uuid;
    });
    if (ask == nullptr || gpu == room.node.gpus.end()) {
      report("decision", who + " is given what is not there or not asked: " + show(held.held));
      return;
    }
    const auto at = static_cast<std::size_t>(gpu - room.node.gpus.begin());
    takes.push_back({static_cast<std::size_t>(ask - held.ask.containers.data()), at});
    gpus[ask->name].insert(at);
    const PlainCard* card = card_of(*gpu);
    const PlainProfile* profile = card == nullptr ? nullptr : card->find(device.slice.profile);
    if ((card != nullptr && profile == nullptr) ||
        (card == nullptr && !device.slice.profile.empty())) {
      report("decision", who + " is given a slice that is none: " + show(held.held));
      return;
    }
    const Amounts cost = card == nullptr ? ask->cost(gpu->memory) : card->cost(*profile);
    if (cost != Amounts{device.memory, device.compute}) {
      report("decision", who + " is charged wrongly: " + show(held.held));
    }
  }
  for (const PlainContainer& ask : held.ask.containers) {
    const auto count = std::ranges::count(held.held.devices, ask.name, &Device::container);
    if (count != ask.count || std::ssize(gpus[ask.name]) != ask.count) {
      report("decision", who + ": " + ask.name + " asks for " + std::to_string(ask.count) +
                             " GPUs: " + show(held.held));
    }
  }
  check_modes(pod, held, room, takes, beside);
  for (std::size_t gpu = 0; gpu < room.node.gpus.size(); ++gpu) {
    if (room.node.gpus[gpu].mig) check_slices(pod, held, room, takes, gpu);
  }
}

/// Checks the assigned slices on one GPU: they have the right profiles, they are free, and slices
/// that exist have their uuids.
void NaiveModel::check_slices(const model::PodFacts& pod, const PlainHeld& held, const Room& room,
                              const std::vector<Take>& takes, std::size_t gpu) {
  const SimGpu& on = room.node.gpus[gpu];
  const PlainCard& card = *card_of(on);
  std::vector<const PlainContainer*> asks;
  std::vector<PlainSlice> given;
  for (std::size_t i = 0; i < takes.size(); ++i) {
    if (takes[i].gpu != gpu) continue;
    asks.push_back(&held.ask.containers[takes[i].container]);
    given.push_back(held.held.devices[i].slice);
  }
  if (asks.empty()) return;
  const auto wrong = [&](const char* why) {
    report("decision",
           pod.uid + " on " + room.node.name + ": " + why + "; it is given " + show(held.held));
  };
  const std::vector<SliceWant> wants = slice_wants(on, room.node.dynamic, asks);
  if (wants.empty()) return wrong("no profile serves that");
  SliceUse use = slices_beside(room, gpu);
  for (std::size_t i = 0; i < wants.size(); ++i) {
    const PlainSlice& slice = given[i];
    const auto there = std::ranges::find_if(
        on.instances, [&](const PlainSlice& s) { return s.same_place(slice); });
    const bool exists = there != on.instances.end();
    if (slice.profile != wants[wants[i].owner].profile->name) wrong("another profile is smaller");
    if (!card.legal(slice)) return wrong("the card has no such slice");
    if (!exists && !room.node.dynamic) wrong("the slice does not exist");
    if (slice.uuid != (exists ? there->uuid : "")) wrong("the slice has another uuid");
    if (wants[i].owner != i) {
      if (slice != given[wants[i].owner]) wrong("an init container has a slice of its own");
      continue;
    }
    if (!use.room_for(card, slice)) wrong("the slice is not free");
    use.add(card, slice);
  }
}

void NaiveModel::check_modes(const model::PodFacts& pod, const PlainHeld& held, const Room& room,
                             const std::vector<Take>& takes, Beside beside) {
  const std::string who = pod.uid + " on " + room.node.name;
  std::map<std::size_t, std::string> modes;
  if (const char* why = obstacle(held.ask, room, takes, modes)) {
    report("decision", who + ": " + why + "; it is given " + show(held.held));
    return;
  }
  for (std::size_t i = 0; i < takes.size(); ++i) {
    const std::string& mode = held.held.devices[i].mode;
    const std::string& expected = modes[takes[i].gpu];
    if (mode == expected) continue;
    const SimGpu& gpu = room.node.gpus[takes[i].gpu];
    // A holder that the model does not see may have set the sharing mode of a GPU that seems empty.
    const bool other_share = beside == Beside::kMore && room.use.gpus[takes[i].gpu].modes.empty() &&
                             mode != "whole" && expected != "whole" &&
                             std::ranges::find(gpu.modes, mode) != gpu.modes.end();
    if (!other_share) report("decision", who + " should be " + expected + ": " + show(held.held));
  }
}

void NaiveModel::check_decision(const service::Binding& binding, const Observed& seen) {
  const auto found = world_.pods().find(binding.uid);
  if (found == world_.pods().end()) return;  // deleted: the binding cannot succeed
  const model::PodFacts& pod = found->second.facts;
  const auto written = binding.annotations.find("snug.dev/reservation");
  const std::string text = written == binding.annotations.end() ? std::string() : written->second;
  if (plain_ask(pod).nothing()) {
    if (!text.empty()) report("decision", pod.uid + " asks for no GPU and gets " + text);
    return;
  }
  // A repeated bind after an unknown outcome keeps its devices, even if they would not be chosen
  // now.
  if (!decided_.emplace(binding.uid, text).second) return;
  const auto held = read_binding(pod, binding);
  const auto node = feed_.told_nodes().find(binding.node);
  if (node == feed_.told_nodes().end()) {
    report("decision", pod.uid + " is bound to the unknown node " + binding.node);
    return;
  }
  const auto check_beside = [&](std::vector<Holder> others, Beside beside) {
    std::erase_if(others, [&](const Holder& other) { return other.uid == binding.uid; });
    const NodeUse use = use_of(node->second, others);
    check_choice(pod, *held,
                 {.node = node->second,
                  .use = use,
                  .policy = policy_,
                  .name_space = pod.name_space,
                  .cap_left = cap_left(pod.name_space, others, feed_.told_nodes())},
                 beside);
  };
  check_beside(holders(true), Beside::kMore);
  // Check also beside the holdings in Snug's ledger, some of which may have ended since.
  const bool promised = std::ranges::find(seen.promises, binding.node, &Observed::Promise::node) !=
                        seen.promises.end();
  check_beside(holders_in(seen), promised ? Beside::kMore : Beside::kNobody);
  check_nominated(pod, binding, seen);
}

std::vector<Holder> NaiveModel::holders_in(const Observed& seen) const {
  std::vector<Holder> all;
  for (const auto& [uid, known] : seen.pods) {
    const model::PodFacts& pod = world_.born(uid);
    auto held = std::make_shared<const PlainHeld>(known.held, plain_ask(pod));
    all.push_back({uid, known.node, &pod, std::move(held), known.terminating});
  }
  return all;
}

bool NaiveModel::finds_room(const model::PodFacts& pod, const SimNode& node,
                            const std::vector<Holder>& all,
                            const std::map<std::string, SimNode>& nodes, Waits waits,
                            const Holder* comer) const {
  std::vector<Holder> stay;
  if (comer != nullptr) stay.push_back(*comer);
  for (const Holder& holder : all) {
    const bool later = holder.terminating ||
                       (waits == Waits::kForAllAfterIt && holder.pod->priority < pod.priority);
    if (waits != Waits::kForNobody && later && holder.node == node.name) continue;
    stay.push_back(holder);
  }
  const NodeUse use = use_of(node, stay);
  return any_choice(plain_ask(pod),
                    {.node = node,
                     .use = use,
                     .policy = policy_,
                     .name_space = pod.name_space,
                     .cap_left = cap_left(pod.name_space, stay, nodes)},
                    [](const auto&) { return true; });
}

NaiveModel::Waits NaiveModel::waits_for(const model::PodFacts& pod, const SimNode& node,
                                        const std::vector<Holder>& all,
                                        const std::map<std::string, SimNode>& nodes) const {
  for (const Waits waits : {Waits::kForNobody, Waits::kForTerminating, Waits::kForAllAfterIt}) {
    if (finds_room(pod, node, all, nodes, waits)) return waits;
  }
  return Waits::kForever;
}

/// Checks that the decision leaves room for the first pod in rank that is nominated to the node.
/// What is kept for the other nominated pods depends on the placement of the first one, so they are
/// not checked.
void NaiveModel::check_nominated(const model::PodFacts& pod, const service::Binding& binding,
                                 const Observed& seen) {
  const model::PodFacts* first = nullptr;
  for (const auto& [uid, node] : seen.nominations) {
    if (node != binding.node || uid == pod.uid) continue;
    const model::PodFacts& other = world_.born(uid);
    if (first == nullptr || comes_before(other, *first)) first = &other;
  }
  if (first == nullptr || !comes_before(*first, pod)) return;
  std::vector<Holder> all = holders_in(seen);
  const auto own = std::ranges::find(all, pod.uid, &Holder::uid);
  if (own == all.end()) return;  // a list has shown meanwhile that the pod ended
  const Holder taken = *own;
  all.erase(own);
  const auto& nodes = feed_.told_nodes();
  const SimNode& node = nodes.at(binding.node);
  const Waits waits = waits_for(*first, node, all, nodes);
  if (waits == Waits::kForever) return;
  if (finds_room(*first, node, all, nodes, waits, &taken)) return;
  report("nominated", pod.uid + " takes what is kept for " + first->uid + " on " + node.name);
}

/// Returns the promises to other pods on the node. If the pod is nominated to the node, omits
/// promises to pods that come after it in rank.
std::vector<Holder> NaiveModel::promised_to_others(const model::PodFacts& pod,
                                                   const std::string& node,
                                                   const std::vector<Observed::Promise>& promises) {
  std::vector<Holder> others;
  for (const Observed::Promise& promise : promises) {
    if (promise.node != node || promise.uid == pod.uid) continue;
    const model::PodFacts& other = world_.born(promise.uid);
    if (pod.nominated_node_name == node && comes_before(pod, other)) continue;
    auto held = std::make_shared<const PlainHeld>(promise.held, plain_ask(other));
    others.push_back({promise.uid, node, &other, std::move(held), false});
  }
  return others;
}

NaiveModel::Fit NaiveModel::fits(const model::PodFacts& pod, const std::string& node_name,
                                 const std::vector<Observed::Promise>& promises) {
  const PlainAsk ask = plain_ask(pod);
  if (ask.nothing()) return Fit::kYes;
  const auto found = world_.nodes().find(node_name);
  if (found == world_.nodes().end()) return Fit::kNo;
  const SimNode& node = found->second;
  std::vector<Holder> all = holders(false);
  const NodeUse use = use_of(node, all);
  const Room room{.node = node,
                  .use = use,
                  .policy = policy_,
                  .name_space = pod.name_space,
                  .cap_left = cap_left(pod.name_space, all, world_.nodes())};
  std::vector<std::pair<const model::PodFacts*, Waits>> kept;
  int nominated = 0;
  for (const auto& [uid, other] : world_.pods()) {
    if (!other.waits() || other.facts.nominated_node_name != node_name || uid == pod.uid) continue;
    const PlainAsk asks = plain_ask(other.facts);
    if (asks.nothing() || asks.malformed || !comes_before(other.facts, pod)) continue;
    ++nominated;
    const Waits waits = waits_for(other.facts, node, all, world_.nodes());
    if (waits != Waits::kForever) kept.emplace_back(&other.facts, waits);
  }
  std::vector<Holder> beside = promised_to_others(pod, node_name, promises);
  beside.insert(beside.end(), all.begin(), all.end());
  const NodeUse use_beside = use_of(node, beside);
  const Room left{.node = node,
                  .use = use_beside,
                  .policy = policy_,
                  .name_space = pod.name_space,
                  .cap_left = room.cap_left};
  // The bind may come before the promised pods are bound. So the choice must also be valid without
  // the promises, with the modes that the GPUs have now.
  const auto for_now = [&](const std::shared_ptr<const PlainHeld>& held) {
    return any_choice(ask, room, [&](const auto& other) { return other->held == held->held; });
  };
  if (!any_choice(ask, left, for_now)) return Fit::kNo;
  if (kept.empty()) return Fit::kYes;
  if (nominated > 1 || ask.containers.size() > 1) return Fit::kUnsure;
  const bool any = any_choice(ask, left, [&](const auto& held) {
    if (!for_now(held)) return false;
    const Holder taken{pod.uid, node_name, &pod, held, false};
    const auto& [first, waits] = kept.front();
    return finds_room(*first, node, all, world_.nodes(), waits, &taken);
  });
  return any ? Fit::kYes : Fit::kNo;
}

}  // namespace snug
