// The naive model's checks of decisions: whether the devices that Snug assigned to a pod are
// allowed, and whether a pod fits on a node.
#include <algorithm>

#include "sim/harness/naive_model.hpp"

namespace snug {
namespace {

/// Null: the device is there, and its slice, if it is one, is called as the node says.
const char* flaw_of(const Device& device, const SimNode& node) {
  const auto& [container, given] = device;
  const auto gpu = std::ranges::find_if(node.gpus, [&](const model::GpuInfo& g) {
    return g.index == given.index && g.uuid == given.uuid;
  });
  if (gpu == node.gpus.end()) return "the GPU is not there";
  const LiteralCard* card = card_of(*gpu);
  if ((card != nullptr) != given.slice.has_value()) return "the GPU is not shared in that way";
  if (card == nullptr) return nullptr;
  if (card->find(*given.slice) == nullptr) return "the card has no such slice";
  const auto there = std::ranges::find_if(gpu->mig_instances, [&](const model::Slice& slice) {
    return same_place(slice, *given.slice);
  });
  const std::string uuid = there == gpu->mig_instances.end() ? "" : there->uuid;
  return given.slice->uuid == uuid ? nullptr : "the slice has another uuid";
}

}  // namespace

void NaiveModel::check_choice(const model::PodFacts& pod, const PlainHeld& held,
                              const SimNode& node, const FitOracle& oracle,
                              FitOracle::Beside beside) {
  const auto wrong = [&](const std::string& why) {
    report("decision",
           pod.uid + " on " + node.name + ": " + why + "; it is given " + show(held.held));
  };
  const auto& asking = held.ask.request.containers;
  if (held.ask.malformed) return wrong("the request is malformed");
  for (const Device& device : held.held.devices) {
    if (const char* why = flaw_of(device, node)) return wrong(why);
  }
  std::map<std::string, std::int64_t> units;
  if (held.ask.request.is_kubelet_assigned()) units[kGpuUnits] = asking.front().count;
  if (held.held.units != units) return wrong("it asks for other units");
  if (held.holding->reservation.containers.size() != asking.size()) {
    return wrong("other containers ask");
  }
  const std::string why = oracle.obstacle(held.ask.request, oracle.takes_of(*held.holding), beside);
  if (!why.empty()) wrong(why);
}

void NaiveModel::check_decision(const model::Binding& binding, const Observed& seen) {
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
  const auto check_beside = [&](std::vector<Holder> others, FitOracle::Beside beside) {
    std::erase_if(others, [&](const Holder& other) { return other.uid == binding.uid; });
    const auto oracle =
        oracle_of(node->second, others, asker_of(pod.name_space, others, feed_.told_nodes()));
    check_choice(pod, *held, node->second, oracle, beside);
  };
  check_beside(holders(true), FitOracle::Beside::kMore);
  // And beside what Snug believes to be taken, which may have ended since.
  const bool promised = std::ranges::find(seen.promises, binding.node, &Observed::Promise::node) !=
                        seen.promises.end();
  check_beside(holders_in(seen), promised ? FitOracle::Beside::kMore : FitOracle::Beside::kNobody);
  check_nominated(pod, binding, seen);
}

std::vector<Holder> NaiveModel::holders_in(const Observed& seen) const {
  std::vector<Holder> all;
  for (const auto& [uid, known] : seen.pods) {
    const model::PodFacts& pod = world_.born(uid);
    all.push_back({uid, known.node, &pod, held_as(pod, known.node, known.held), known.terminating});
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
  return oracle_of(node, stay, asker_of(pod.name_space, stay, nodes))
      .possible(plain_ask(pod).request);
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
void NaiveModel::check_nominated(const model::PodFacts& pod, const model::Binding& binding,
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
    others.push_back({promise.uid, node, &other, held_as(other, node, promise.held), false});
  }
  return others;
}

NaiveModel::Fit NaiveModel::fits(const model::PodFacts& pod, const std::string& node_name,
                                 const std::vector<Observed::Promise>& promises) {
  const PlainAsk ask = plain_ask(pod);
  if (ask.nothing()) return Fit::kYes;
  if (ask.malformed) return Fit::kNo;
  const auto found = world_.nodes().find(node_name);
  if (found == world_.nodes().end()) return Fit::kNo;
  const SimNode& node = found->second;
  std::vector<Holder> all = holders(false);
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
  const Asker asker = asker_of(pod.name_space, all, world_.nodes());
  const FitOracle now = oracle_of(node, all, asker);
  const FitOracle left = oracle_of(node, beside, asker);
  // It may be made good before the promises are, in whichever mode the GPUs are then.
  const auto for_now = [&](const FitOracle::Takes& takes) {
    return now.accepts(ask.request, takes);
  };
  if (!left.any_choice(ask.request, for_now)) return Fit::kNo;
  if (kept.empty()) return Fit::kYes;
  if (nominated > 1 || ask.request.containers.size() > 1) return Fit::kUnsure;
  const bool any = left.any_choice(ask.request, [&](const FitOracle::Takes& takes) {
    if (!for_now(takes)) return false;
    auto held = std::make_shared<PlainHeld>();
    held->holding = left.holding(ask.request, takes);
    const Holder taken{pod.uid, node_name, &pod, std::move(held), false};
    const auto& [first, waits] = kept.front();
    return finds_room(*first, node, all, world_.nodes(), waits, &taken);
  });
  return any ? Fit::kYes : Fit::kNo;
}

}  // namespace snug
