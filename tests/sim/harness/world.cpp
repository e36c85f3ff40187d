#include "sim/harness/world.hpp"

#include <algorithm>
#include <utility>

namespace snug {
namespace {

/// A binding is in flight for less than this time, which must be less than Limits::bind_settle_ms.
constexpr std::size_t kLongestFlightMs = 60'000;

}  // namespace

World::Fate World::draw_fate() {
  if (!faults_) return Fate::kDone;
  const std::size_t drawn = random_.below(100);
  if (drawn < 72) return Fate::kDone;
  if (drawn < 77) return Fate::kDoneUnanswered;
  if (drawn < 85) return Fate::kLate;
  if (drawn < 89) return Fate::kLostUnanswered;
  if (drawn < 95) return Fate::kUnreachable;
  return drawn < 98 ? Fate::kConflict : Fate::kBad;
}

base::Result<void> World::bind(const model::Binding& binding) {
  ++counts_.posts;
  if (hooks_.posted) hooks_.posted(binding);
  const Fate fate = draw_fate();
  const int id = ++last_flight_;
  const bool lands = fate == Fate::kDone || fate == Fate::kDoneUnanswered || fate == Fate::kLate;
  flights_.push_back({id, binding, lands, base::TimePoint::max(), false});
  meanwhile();
  base::Result<void> answer;
  if (fate == Fate::kDone || fate == Fate::kDoneUnanswered) {
    end_flight(id);
    answer = carry_out(binding);
  }
  meanwhile();
  switch (fate) {
    case Fate::kDone:
      return answer;
    case Fate::kLate:
      for (Flight& flight : flights_) {
        if (flight.id != id) continue;
        flight.due = clock_.now() + std::chrono::milliseconds(random_.below(kLongestFlightMs));
      }
      return base::fail(base::ErrorCode::kUnknown, "the time is up");
    case Fate::kDoneUnanswered:
      return base::fail(base::ErrorCode::kUnknown, "the connection was lost");
    case Fate::kLostUnanswered:
      end_flight(id);
      return base::fail(base::ErrorCode::kUnknown, "500");
    case Fate::kUnreachable:
      end_flight(id);
      return base::fail(base::ErrorCode::kUnavailable, "connection refused");
    case Fate::kConflict:
      end_flight(id);
      return base::fail(base::ErrorCode::kConflict, "409");
    case Fate::kBad:
      break;
  }
  end_flight(id);
  return base::fail(base::ErrorCode::kInvalid, "422");
}

std::optional<base::Error> World::obstacle(const model::Binding& binding) const {
  const SimPod* pod = find(binding.name_space, binding.pod);
  if (pod == nullptr) return base::Error{base::ErrorCode::kNotFound, "404"};
  if (pod->facts.uid != binding.uid)
    return base::Error{base::ErrorCode::kConflict, "409: another uid"};
  if (pod->facts.terminating) return base::Error{base::ErrorCode::kConflict, "409: being deleted"};
  if (pod->bound()) return base::Error{base::ErrorCode::kConflict, "409: already assigned"};
  return std::nullopt;
}

base::Result<void> World::carry_out(const model::Binding& binding) {
  if (auto error = obstacle(binding)) return std::unexpected(*std::move(error));
  SimPod& pod = pods_.at(binding.uid);
  pod.facts.node_name = binding.node;
  for (const auto& [key, value] : binding.annotations) pod.facts.annotations[key] = value;
  pod.by_snug = true;
  pod.counted = pod.facts.annotations;
  changed(pod);
  return {};
}

base::Result<std::optional<model::PodFacts>> World::get_pod(std::string_view name_space,
                                                            std::string_view name) {
  ++counts_.gets;
  meanwhile();
  if (faults_ && random_.chance(8))
    return base::fail(base::ErrorCode::kUnavailable, "connection refused");
  const SimPod* pod = find(name_space, name);
  std::optional<model::PodFacts> read;
  if (pod != nullptr) read = pod->facts;
  meanwhile();
  return read;
}

base::Result<void> World::wake_pending_pods(base::Generation /*room*/) {
  if (faults_ && random_.chance(20))
    return base::fail(base::ErrorCode::kUnavailable, "connection refused");
  ++counts_.touches;
  return {};
}

void World::meanwhile() {
  if (hooks_.meanwhile) hooks_.meanwhile();
}

void World::end_flight(int id) {
  std::erase_if(flights_, [&](const Flight& flight) { return flight.id == id; });
}

void World::changed(SimPod& pod) {
  pod.facts.resource_version = std::to_string(++version_);
  for (Feed* feed : feeds_) feed->pod_changed(pod.facts);
}

void World::create_pod(model::PodFacts facts) {
  std::string uid = facts.uid;
  born_[uid] = facts;
  SimPod& pod = pods_[std::move(uid)];
  pod.facts = std::move(facts);
  changed(pod);
}

void World::bind_by_hand(const std::string& uid, const std::string& node) {
  SimPod& pod = pods_.at(uid);
  pod.facts.node_name = node;
  pod.counted = pod.facts.annotations;
  changed(pod);
}

void World::mark_terminating(const std::string& uid) {
  SimPod& pod = pods_.at(uid);
  pod.facts.terminating = true;
  changed(pod);
}

void World::finish(const std::string& uid) {
  SimPod& pod = pods_.at(uid);
  pod.facts.finished = true;
  changed(pod);
}

void World::remove_pod(const std::string& uid) {
  const auto found = pods_.find(uid);
  for (Feed* feed : feeds_) feed->pod_gone(found->second.facts);
  pods_.erase(found);
}

void World::edit_annotations(const std::string& uid, model::StringMap annotations) {
  SimPod& pod = pods_.at(uid);
  // If the pod has no valid reservation, the edited annotations count from now on.
  const auto held = pod.counted.find("snug.dev/reservation");
  const bool given = held != pod.counted.end() && held->second.starts_with("{\"");
  if (!given) pod.counted = annotations;
  pod.facts.annotations = std::move(annotations);
  changed(pod);
}

void World::nominate(const std::string& uid, const std::string& node) {
  SimPod& pod = pods_.at(uid);
  pod.facts.nominated_node_name = node;
  changed(pod);
}

void World::resize(const std::string& uid, model::HostResources host) {
  SimPod& pod = pods_.at(uid);
  pod.facts.containers.back().host = host;
  changed(pod);
}

void World::put_node(SimNode node) {
  for (const model::GpuInfo& gpu : node.gpus) {
    const std::string id = gpu.uuid.empty() ? std::to_string(gpu.index) : gpu.uuid;
    std::int64_t& most = largest_[{node.name, id}];
    most = std::max(most, gpu.memory.value);
  }
  for (Feed* feed : feeds_) feed->node_changed(node);
  std::string name = node.name;
  nodes_[std::move(name)] = std::move(node);
}

void World::remove_node(const std::string& name) {
  for (Feed* feed : feeds_) feed->node_gone(name);
  nodes_.erase(name);
}

void World::revive(const std::string& uid) {
  SimPod& pod = pods_.at(uid);
  pod.facts.finished = false;
  pod.apart = true;  // its GPUs were free in the meantime
  changed(pod);
}

void World::set_apart(const std::string& uid) { pods_.at(uid).apart = true; }

int World::send(const model::Binding& binding, base::TimePoint due) {
  ++counts_.posts;
  flights_.push_back({++last_flight_, binding, true, due, true});
  return last_flight_;
}

base::Result<void> World::land(int id) {
  if (auto landed = landed_.extract(id)) return std::move(landed.mapped());
  const auto flight = std::ranges::find(flights_, id, &Flight::id);
  const model::Binding binding = std::move(flight->binding);
  flights_.erase(flight);
  return carry_out(binding);
}

void World::abandon(int id) {
  landed_.erase(id);
  const auto flight = std::ranges::find(flights_, id, &Flight::id);
  if (flight != flights_.end()) flight->awaited = false;
}

void World::advance(std::chrono::milliseconds by) {
  const base::TimePoint target = clock_.now() + by;
  for (;;) {
    const auto next = std::ranges::min_element(flights_, {}, &Flight::due);
    if (next == flights_.end() || next->due > target) break;
    const Flight flight = *next;
    flights_.erase(next);
    if (flight.due > clock_.now()) clock_.advance(flight.due - clock_.now());
    base::Result<void> outcome = carry_out(flight.binding);
    if (flight.awaited) landed_.emplace(flight.id, std::move(outcome));
  }
  clock_.advance(target - clock_.now());
}

void World::lose_connections() {
  for (const Flight& flight : std::exchange(flights_, {})) {
    if (flight.lands && random_.chance(50)) (void)carry_out(flight.binding);
  }
}

void World::forget_history() {
  for (auto& [uid, pod] : pods_) pod.counted = pod.facts.annotations;
}

const SimPod* World::find(std::string_view name_space, std::string_view name) const {
  const auto found = std::ranges::find_if(pods_, [&](const auto& entry) {
    return entry.second.facts.name == name && entry.second.facts.name_space == name_space;
  });
  return found == pods_.end() ? nullptr : &found->second;
}

std::int64_t World::largest(const std::string& node, const std::string& gpu) const {
  const auto found = largest_.find({node, gpu});
  return found == largest_.end() ? 0 : found->second;
}

std::vector<model::Binding> World::landing() const {
  std::vector<model::Binding> result;
  for (const Flight& flight : flights_) {
    if (flight.lands && !obstacle(flight.binding)) result.push_back(flight.binding);
  }
  return result;
}

}  // namespace snug
