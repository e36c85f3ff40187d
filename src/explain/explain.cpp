#include "snug/explain/explain.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "explain/changed_nodes.hpp"
#include "explain/making_room.hpp"
#include "explain/node_sentences.hpp"
#include "explain/operator_changes.hpp"
#include "explain/smaller_request.hpp"
#include "explain/trial.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/text.hpp"

namespace snug::explain {
namespace {

/// Whether the node is refused because of the kind of the pod, whatever its GPUs are.
bool is_about_kind_of_pod(model::ReasonCode reason) {
  using enum model::ReasonCode;
  return reason == kWrongPool || reason == kNotEnforced;
}

/// Whether other pods are in the way.
bool is_about_pods(model::ReasonCode reason) {
  using enum model::ReasonCode;
  return model::reason_row(reason).distance <= model::reason_row(kOtherKind).distance ||
         reason == kNodeClosed;
}

std::string share_text(const model::ContainerRequest& container_request) {
  const auto each = [&](const std::string& what) {
    return container_request.count == 1
               ? what + " one GPU"
               : what + " each of " + std::to_string(container_request.count) + " GPUs of one node";
  };
  if (const auto* fraction = std::get_if<model::FractionRequest>(&container_request.device)) {
    return each(base::percent_of_gpu({fraction->thousandths}) +
                (container_request.compute_percent ? " of the memory of"
                                                   : " of the memory and compute of"));
  }
  const auto* memory = std::get_if<model::MemoryRequest>(&container_request.device);
  return each(std::to_string(memory == nullptr ? 0 : memory->memory.value) + " MiB of");
}

std::string device_text(const model::ContainerRequest& container_request) {
  const std::int64_t count = container_request.count;
  if (std::holds_alternative<model::WholeGpuRequest>(container_request.device))
    return count == 1 ? "one whole GPU" : std::to_string(count) + " whole GPUs of one node";
  if (const auto* slice = std::get_if<model::SliceRequest>(&container_request.device)) {
    return count == 1 ? "one MIG slice " + slice->profile
                      : "a MIG slice " + slice->profile + " on each of " + std::to_string(count) +
                            " GPUs of one node";
  }
  if (const auto* kubelet = std::get_if<model::KubeletRequest>(&container_request.device))
    return std::to_string(count) + " of " + kubelet->resource + ", which the kubelet assigns";
  return share_text(container_request);
}

std::string asks_text(const model::ContainerRequest& container_request) {
  std::string text = device_text(container_request);
  if (container_request.compute_percent)
    text += ", " + std::to_string(*container_request.compute_percent) + " % of its compute";
  if (container_request.isolation != model::Isolation::kAny)
    text.append(", isolation ").append(model::kIsolationNames[container_request.isolation]);
  for (const std::string& model : container_request.models.included)
    text.append(", model ").append(model);
  for (const std::string& model : container_request.models.excluded)
    text.append(", not model ").append(model);
  return text;
}

std::size_t count_nodes(const model::Snapshot& snapshot) {
  std::size_t count = 0;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot)
    count += snapshot.nodes[slot] == nullptr ? 0 : 1;
  return count;
}

/// The offered nodes in the order of their names.
std::vector<Slot> slots_by_name(const ExplainInput& input) {
  const model::Snapshot& snapshot = input.snapshot;
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
    const auto slot = static_cast<Slot>(i);
    if (snapshot.nodes[slot] != nullptr && input.is_offered(slot)) slots.push_back(slot);
  }
  std::ranges::sort(slots, {},
                    [&](Slot slot) -> std::string_view { return snapshot.nodes[slot]->name(); });
  return slots;
}

std::int32_t largest_free_milli(const model::NodeState& node) {
  std::int32_t most = 0;
  for (const model::GpuState& gpu : node.gpus) most = std::max(most, gpu.free_milli);
  return most;
}

std::int64_t largest_memory(const model::NodeState& node) {
  std::int64_t most = 0;
  for (const model::GpuState& gpu : node.gpus) most = std::max(most, gpu.memory.value);
  return most;
}

/// The verdicts on the offered nodes, and the nodes that the searches for advice try first.
class Survey {
 public:
  explicit Survey(const ExplainInput& input)
      : trial_(input.snapshot, input.incoming), slots_(slots_by_name(input)) {
    reasons_.reserve(slots_.size());
    shortfalls_.resize(slots_.size());
    for (std::size_t i = 0; i < slots_.size(); ++i) judge(i);
  }

  [[nodiscard]] Trial& trial() { return trial_; }

  /// What the node at a position lacks.
  [[nodiscard]] NodeReason node_reason(std::size_t i) {
    const model::HostResources& host = trial_.incoming().host;
    if (lacks_host_only(i)) return {node(i).name(), reasons_[i], host_sentence(node(i), host)};
    std::string sentence = node_sentence(trial_, node(i), reasons_[i], shortfalls_[i]);
    if (!trial_.host_fits(slots_[i]))
      sentence += "; the node also " + host_text(host_shortfall_of(node(i), host));
    return {node(i).name(), reasons_[i], std::move(sentence)};
  }
  [[nodiscard]] std::vector<NodeReason> node_reasons() {
    std::vector<NodeReason> reasons;
    reasons.reserve(slots_.size());
    for (std::size_t i = 0; i < slots_.size(); ++i) reasons.push_back(node_reason(i));
    return reasons;
  }

  void count(Explanation& explanation) const {
    std::array<std::size_t, 256> counts{};
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (reasons_[i] != model::ReasonCode::kNone) {
        ++counts[static_cast<std::size_t>(reasons_[i])];
      } else if (lacks_host_only(i)) {
        ++explanation.lacking_host_resources;
      } else {
        ++explanation.feasible;
      }
    }
    for (const auto& [score_class, i] : best_) explanation.best_nodes.emplace_back(node(i).name());
    explanation.nodes = slots_.size();
    explanation.known_nodes = count_nodes(trial_.snapshot());
    for (std::size_t code = 0; code < counts.size(); ++code) {
      if (counts[code] != 0)
        explanation.reasons.push_back({static_cast<model::ReasonCode>(code), counts[code]});
    }
    std::ranges::stable_sort(explanation.reasons, {}, [](const ReasonCount& count) {
      return model::reason_row(count.code).distance;
    });
  }

  /// The position of the node that needs the smallest change; nullopt: there is no such node.
  [[nodiscard]] std::optional<std::size_t> nearest() {
    // Of nodes that lack as much, the one with the largest GPU.
    using Key = std::tuple<std::uint16_t, std::int64_t, std::int64_t, std::size_t>;
    std::optional<Key> best;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (is_feasible(i)) continue;
      const std::uint16_t distance = distance_of(i);
      if (best && distance > std::get<0>(*best)) continue;
      const Key key{distance, thousandths_lacking(i), -largest_memory(node(i)), i};
      if (!best || key < *best) best = key;
    }
    if (!best) return std::nullopt;
    return std::get<3>(*best);
  }

  /// The nodes, those with the most room on one GPU first.
  [[nodiscard]] std::vector<Slot> roomiest_first() const {
    std::vector<std::pair<std::int32_t, Slot>> keys;
    keys.reserve(slots_.size());
    for (std::size_t i = 0; i < slots_.size(); ++i)
      keys.emplace_back(-largest_free_milli(node(i)), slots_[i]);
    std::ranges::stable_sort(keys, {}, &std::pair<std::int32_t, Slot>::first);
    std::vector<Slot> slots;
    slots.reserve(keys.size());
    for (const auto& key : keys) slots.push_back(key.second);
    return slots;
  }

  /// At most `most` nodes: of each reason the roomiest ones, reasons in turn.
  [[nodiscard]] std::vector<Slot> sample(std::size_t most) const {
    std::vector<std::tuple<std::uint32_t, std::uint16_t, std::size_t>> keys;
    keys.reserve(slots_.size());
    std::array<std::uint32_t, 256> taken{};
    std::vector<std::size_t> order(slots_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {},
                             [&](std::size_t i) { return -std::int64_t{node(i).free_milli_sum}; });
    for (const std::size_t i : order) {
      if (is_feasible(i)) continue;
      keys.emplace_back(taken.at(static_cast<std::size_t>(reasons_[i]))++,
                        model::reason_row(reasons_[i]).distance, i);
    }
    std::ranges::sort(keys);
    if (keys.size() > most) keys.resize(most);
    std::vector<Slot> slots;
    slots.reserve(keys.size());
    for (const auto& key : keys) slots.push_back(slots_[std::get<2>(key)]);
    return slots;
  }

  [[nodiscard]] const model::NodeState& node(std::size_t i) const {
    return *trial_.snapshot().nodes[slots_[i]];
  }

 private:
  /// The nodes are judged in the order of their names, which decides between equal classes.
  void judge(std::size_t i) {
    const plan::Verdict verdict = trial_.verdict(slots_[i]);
    reasons_.push_back(verdict.reason);
    if (!is_feasible(i)) return;
    const auto place = std::ranges::find_if(
        best_, [&](const auto& other) { return verdict.score_class > other.first; });
    best_.insert(place, {verdict.score_class, i});
    if (best_.size() > 2) best_.pop_back();
  }

  [[nodiscard]] bool is_feasible(std::size_t i) const {
    return reasons_[i] == model::ReasonCode::kNone && trial_.host_fits(slots_[i]);
  }
  [[nodiscard]] bool lacks_host_only(std::size_t i) const {
    return reasons_[i] == model::ReasonCode::kNone && !trial_.host_fits(slots_[i]);
  }

  /// How much must change before the node takes the pod (Explanation::nearest). A node that is
  /// refused as a whole, and has no suitable GPU, is farther than every other.
  [[nodiscard]] std::uint16_t distance_of(std::size_t i) {
    const model::NodeState& state = node(i);
    if (lacks_host_only(i)) return distance(host_shortfall_of(state, trial_.incoming().host));
    if (is_about_kind_of_pod(reasons_[i]) && !could_serve(state)) return model::kNoDistance;
    return model::reason_row(reasons_[i]).distance;
  }

  /// Whether a node that is refused as a whole has a GPU that could serve the pod. True if the
  /// kubelet would choose the GPU.
  [[nodiscard]] bool could_serve(const model::NodeState& state) {
    if (trial_.incoming().request.is_kubelet_assigned()) return true;
    for (std::size_t gpu = 0; gpu < state.gpus.size(); ++gpu)
      if (trial_.is_suitable(state, gpu)) return true;
    return false;
  }

  /// How much the node lacks, in thousandths of a GPU or of its CPU, memory or pod slots.
  [[nodiscard]] std::int64_t thousandths_lacking(std::size_t i) {
    if (lacks_host_only(i)) return host_shortfall_of(node(i), trial_.incoming().host).thousandths;
    return shortfalls_[i].emplace(shortfall_of(trial_, node(i))).thousandths;
  }

  Trial trial_;
  std::vector<Slot> slots_;  // by name
  std::vector<model::ReasonCode> reasons_;
  std::vector<std::optional<GpuShortfall>> shortfalls_;  // nullopt: not computed yet
  /// Score class and position of at most two feasible nodes, the best first.
  std::vector<std::pair<std::int64_t, std::size_t>> best_;
};

/// Whether the pod fits on the node after the moves. repack() counts the intents of other pods as
/// bound pods, but a share may not open an empty GPU in a mode that only an intent gives it.
bool fits_after(const model::Snapshot& snapshot, const plan::IncomingPod& incoming,
                std::string_view node, std::span<const advice::PodMove> moves) {
  ChangedNodes nodes(snapshot);
  for (const advice::PodMove& move : moves) {
    nodes.remove_pod(move.from->reservation.node, move.from->uid);
    auto moved = std::make_shared<model::Holding>(*move.from);
    moved->reservation = move.to;
    nodes.add_pod(move.to.node, std::move(moved));
  }
  const model::Snapshot after = nodes.snapshot();
  const auto slot = snapshot.names->find(node);
  return slot && Trial(after, incoming).takes(slot->value);
}

/// The nodes between which moves are tried: the roomiest of the offered ones, and to move pods to
/// also the roomiest of the others.
std::vector<Slot> nodes_for_moves(const ExplainInput& input, std::span<const Slot> offered) {
  std::vector<std::pair<std::int32_t, Slot>> others;
  for (std::size_t i = 0; i < input.snapshot.nodes.size(); ++i) {
    const model::NodeStatePtr& node = input.snapshot.nodes[i];
    if (node != nullptr && !input.is_offered(static_cast<Slot>(i)))
      others.emplace_back(-largest_free_milli(*node), static_cast<Slot>(i));
  }
  std::ranges::sort(others);
  const std::size_t most = base::kMaxExplainMoveNodes;
  const std::size_t most_offered = std::max(most / 2, most - std::min(most, others.size()));
  const std::span<const Slot> roomiest = offered.first(std::min(offered.size(), most_offered));
  std::vector<Slot> slots(roomiest.begin(), roomiest.end());
  for (const auto& [room, slot] : others) {
    if (slots.size() == most) break;
    slots.push_back(slot);
  }
  return slots;
}

/// `node n1, GPU 0`: where a reservation has its devices.
std::string place_text(const model::Reservation& reservation) {
  std::set<int> gpus;
  for (const model::ReservedContainer& container : reservation.containers) {
    for (const model::ReservedDevice& device : container.devices()) gpus.insert(device.index);
  }
  std::string text = "node " + reservation.node;
  for (const int gpu : gpus) text += ", GPU " + std::to_string(gpu);
  return text;
}

/// Advice to move pods, as repack() gives it within a part of its usual work. `offered`: the
/// offered nodes, the roomiest first.
std::optional<Advice> move_pods(const ExplainInput& input, std::span<const Slot> offered) {
  const std::vector<Slot> slots = nodes_for_moves(input, offered);
  const model::Snapshot part = ChangedNodes(input.snapshot, slots).snapshot();
  advice::RepackAdvice repacked = advice::repack({.snapshot = part,
                                                  .incoming = input.incoming,
                                                  .protected_uids = input.protected_uids,
                                                  .max_work = base::kMaxExplainMoveWork,
                                                  .targets = input.offered});
  if (!repacked.reservation || repacked.moves.empty() ||
      !fits_after(part, input.incoming, repacked.reservation->node, repacked.moves))
    return std::nullopt;
  std::string text;
  for (const advice::PodMove& move : repacked.moves) {
    text.append(text.empty() ? "" : ", then ")
        .append(move.from->name_space)
        .append("/")
        .append(move.from->pod)
        .append(" from ")
        .append(place_text(move.from->reservation))
        .append(" to ")
        .append(place_text(move.to));
  }
  return Advice{.kind = AdviceKind::kMove,
                .sentence = "the pod will fit on node " + repacked.reservation->node +
                            " after moving " + text +
                            " (to move a pod, delete it; its controller creates a new one)",
                .command = {},
                .change = Moves{std::move(repacked.moves)}};
}

void add(std::vector<Advice>& all, std::optional<Advice> more) {
  if (more) all.push_back(*std::move(more));
}
void add(std::vector<Advice>& all, std::vector<Advice> more) {
  std::ranges::move(more, std::back_inserter(all));
}

std::vector<Advice> find_advice(const ExplainInput& input, Survey& survey) {
  const std::vector<Slot> roomiest = survey.roomiest_first();
  const std::vector<Slot> some = survey.sample(base::kMaxExplainNodes);
  Trial& trial = survey.trial();
  std::vector<Advice> advice;
  add(advice, wait_for_room(trial, some));
  add(advice, smaller_requests(input.snapshot, input.incoming, roomiest));
  add(advice, other_preferences(input.snapshot, input.incoming, roomiest));
  add(advice, end_pods(trial, some, input.protected_uids, trial.work() + base::kMaxExplainEndWork));
  add(advice, move_pods(input, roomiest));
  add(advice, node_changes(trial, some));
  add(advice, rule_changes(input.snapshot, input.incoming, roomiest));
  return advice;
}

}  // namespace

std::vector<RequestInWords> request_in_words(const model::GpuRequest& request) {
  std::vector<RequestInWords> lines;
  lines.reserve(request.containers.size());
  for (const model::ContainerRequest& container_request : request.containers) {
    lines.push_back({.container = container_request.container,
                     .count = container_request.count,
                     .text = container_request.text,
                     .asks = asks_text(container_request)});
  }
  return lines;
}

Explanation explain(const ExplainInput& input) {
  Survey survey(input);
  Explanation explanation;
  survey.count(explanation);
  if (explanation.feasible > 0) {
    if (input.per_node) explanation.per_node = survey.node_reasons();
    return explanation;
  }
  if (const auto nearest = survey.nearest()) {
    explanation.nearest = survey.node_reason(*nearest);
    // The sentence names the pods to which room is promised. They hold nothing yet.
    const model::ReasonCode code = explanation.nearest->code;
    if (is_about_pods(code) && code != model::ReasonCode::kPromised)
      explanation.blockers = blockers_on(survey.trial(), survey.node(*nearest));
  }
  // The sentences use what the search for the nearest node has computed.
  if (input.per_node) explanation.per_node = survey.node_reasons();
  explanation.advice = find_advice(input, survey);
  return explanation;
}

}  // namespace snug::explain
