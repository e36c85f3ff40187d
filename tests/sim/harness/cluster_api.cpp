#include "sim/harness/cluster_api.hpp"

namespace snug {
namespace {

/// A binding reaches the API server within apiTimeout, and is executed within another apiTimeout.
constexpr std::size_t kLongestBindFlightMs = 2'000;
constexpr std::size_t kUsualFlightMs = 50;

}  // namespace

bool ClusterApi::fails(std::size_t percent) {
  if (!wire_.cut && !(wire_.faults && wire_.random.chance(percent))) return false;
  ++wire_.failed;
  return true;
}

base::Result<void> ClusterApi::bind(const model::Binding& binding) {
  ++counts_.posts;
  posted_(binding);
  wire_.meanwhile();
  if (clock_.now() >= binding.not_after) {
    ++counts_.too_late;
    return base::fail(base::ErrorCode::kUnavailable, "its time has passed");
  }
  if (fails(5)) return base::fail(base::ErrorCode::kUnavailable, "connection refused");
  if (fails(3)) return base::fail(base::ErrorCode::kUnknown, "500");
  if (fails(2)) return base::fail(base::ErrorCode::kConflict, "409");
  if (fails(2)) return base::fail(base::ErrorCode::kInvalid, "422");
  const bool late = fails(12);
  const std::size_t flight = wire_.random.below(late ? kLongestBindFlightMs : kUsualFlightMs);
  const int id = world_.send(binding, clock_.now() + std::chrono::milliseconds(flight));
  wire_.meanwhile();
  if (late) {
    ++counts_.late;
    world_.abandon(id);
    return base::fail(base::ErrorCode::kUnknown, "the time is up");
  }
  base::Result<void> answer = world_.land(id);
  wire_.meanwhile();
  if (fails(5)) return base::fail(base::ErrorCode::kUnknown, "the connection was lost");
  return answer;
}

base::Result<std::optional<model::PodFacts>> ClusterApi::get_pod(std::string_view name_space,
                                                                 std::string_view name) {
  wire_.meanwhile();
  if (fails(8)) return base::fail(base::ErrorCode::kUnavailable, "connection refused");
  const SimPod* pod = world_.find(name_space, name);
  std::optional<model::PodFacts> read;
  if (pod != nullptr) read = pod->facts;
  if (pod != nullptr && lies_ && wire_.faults && wire_.random.chance(10)) {
    ++counts_.lies;
    world_.set_apart(pod->facts.uid);
    read = std::nullopt;
  }
  wire_.meanwhile();
  return read;
}

base::Result<void> ClusterApi::wake_pending_pods(base::Generation /*room*/) {
  if (fails(20)) return base::fail(base::ErrorCode::kUnavailable, "connection refused");
  return {};
}

}  // namespace snug
