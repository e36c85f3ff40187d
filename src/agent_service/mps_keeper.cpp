#include "snug/agent_service/mps_keeper.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "snug/agent/reserved_slices.hpp"
#include "snug/agent_service/pod_reservation.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/text.hpp"

namespace snug::agent_service {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMpsCheck{base::agent_limits::mps_look_ms};
constexpr milliseconds kMpsRecheck{base::agent_limits::mps_recheck_ms};
constexpr milliseconds kMpsRewrite{base::agent_limits::mps_rewrite_ms};

constexpr milliseconds kMpsStale{base::agent_limits::mps_state_stale_ms};
constexpr std::string_view kNoSnugMps = "snug-mps does not run on this node";

/// Whether all clients of the daemon can start.
bool is_ready(const mps::DaemonState& state, const mps::Namespaces& wanted) {
  if (state.phase != mps::DaemonPhase::kReady) return false;
  return !state.namespaces || std::ranges::all_of(wanted, [&state](const auto& each) {
    const auto known = state.namespaces->find(each.first);
    return known != state.namespaces->end() && known->second.empty();
  });
}

}  // namespace

MpsKeeper::Clients MpsKeeper::clients_of(const model::Reservation& reservation) {
  Clients clients;
  for (const model::ReservedContainer& container : reservation.containers) {
    for (const model::ReservedDevice& device : container.devices()) {
      if (device.mode == model::GpuMode::kMps)
        clients.push_back({device, mps::namespace_of(reservation.uid, container.name)});
    }
  }
  return clients;
}

MpsKeeper::MpsKeeper(const Parts& parts, Options options)
    : parts_(parts), options_(std::move(options)) {}

void MpsKeeper::add_wanted(const Clients& clients, mps::WantedDaemons& wanted) const {
  const auto node = parts_.devices.get();
  for (const auto& [device, mps_namespace] : clients) {
    std::string uuid = device.uuid;
    if (uuid.empty()) {  // one with a uuid counts also while the driver does not report it
      const auto* gpu = agent::reserved_gpu(node->devices, device.index, device.uuid);
      if (gpu != nullptr) uuid = gpu->uuid;
    }
    // It becomes the name of a file, and a reservation is only text.
    if (!mps::is_gpu_uuid(uuid)) continue;
    wanted[uuid].emplace(mps_namespace, agent::namespace_limits(device, options_.enforcer));
  }
}

MpsKeeper::Clients MpsKeeper::read_clients(const agent::PodView& pod) const {
  const auto reservation = reservation_of(pod, options_.node, options_.limits);
  return reservation ? clients_of(*reservation) : Clients{};
}

std::optional<mps::WantedDaemons> MpsKeeper::needed() {
  if (!parts_.pods.fresh() || !parts_.sandboxes.is_complete()) return std::nullopt;
  mps::WantedDaemons wanted;
  decltype(read_) read;
  for (const PodBook::PodRef& pod : parts_.pods.pods()) {
    if (pod->finished) continue;
    const auto known = read_.find(pod);
    const auto entry = read.emplace(pod, known != read_.end() ? known->second : read_clients(*pod));
    add_wanted(entry.first->second, wanted);
  }
  read_ = std::move(read);
  for (const model::Reservation& reservation : parts_.sandboxes.held())
    add_wanted(clients_of(reservation), wanted);
  return wanted;
}

void MpsKeeper::log_problem(std::string& last, const base::Result<void>& result,
                            std::string_view what) {
  const std::string problem = result ? std::string() : result.error().message;
  if (std::exchange(last, problem) == problem || problem.empty()) return;
  parts_.log.write(service::LogLevel::kWarn, what, {{"reason", problem}});
}

void MpsKeeper::ask(mps::WantedDaemons wanted, base::TimePoint now) {
  if (wanted_ == wanted && asked_ && now < next_ask_) return;
  if (wanted_ != wanted) next_look_ = now;
  wanted_ = std::move(wanted);
  knows_wanted_ = true;
  const auto asked = parts_.port.want_daemons(wanted_);
  asked_ = asked.has_value();
  next_ask_ = now + kMpsRewrite;
  log_problem(ask_problem_, asked, "snug-mps cannot be asked for MPS daemons");
}

void MpsKeeper::give_up(base::TimePoint now) {
  next_check_ = base::TimePoint::max();
  ask({}, now);
}

void MpsKeeper::note_states(const agent::MpsDaemons& daemons, base::TimePoint now) {
  if (!daemons.problem.empty()) return;
  const auto is_needless = [&](const auto& entry) {
    return !wanted_.contains(entry.first) || daemons.states.contains(entry.first);
  };
  std::erase_if(without_state_, is_needless);
  for (const auto& [uuid, namespaces] : wanted_) {
    if (!daemons.states.contains(uuid)) without_state_.try_emplace(uuid, now);
  }
}

bool MpsKeeper::update_failures(const agent::MpsDaemons& daemons, base::TimePoint now) {
  auto failures = failures_;
  std::erase_if(failures, [this](const auto& failure) { return !wanted_.contains(failure.first); });
  for (const auto& [uuid, state] : daemons.states) {
    const auto known = failures.find(uuid);
    if (known != failures.end() &&
        (state.phase == mps::DaemonPhase::kReady || known->second == kNoSnugMps)) {
      failures.erase(known);
    }
    if (state.phase != mps::DaemonPhase::kFailed) continue;
    failures[uuid] = base::clip_text(state.reason, base::agent_limits::max_mps_reason_bytes);
  }
  note_states(daemons, now);
  for (const auto& [uuid, since] : without_state_) {
    if (now - since >= kMpsStale) failures[uuid] = kNoSnugMps;
  }
  return std::exchange(failures_, std::move(failures)) != failures_;
}

bool MpsKeeper::look(base::TimePoint now) {
  using States = decltype(agent::MpsDaemons::states);
  auto states = wanted_.empty() ? base::Result<States>() : parts_.port.daemon_states();
  log_problem(look_problem_, states ? base::Result<void>() : std::unexpected(states.error()),
              "the states of the MPS daemons cannot be read");
  agent::MpsDaemons now_known;
  if (states) {
    now_known.states = *std::move(states);
    // A daemon that is not asked for may be about to stop.
    std::erase_if(now_known.states,
                  [this](const auto& state) { return !wanted_.contains(state.first); });
  } else {
    now_known.problem = states.error().message;
  }
  const bool failures_changed = update_failures(now_known, now);
  const base::MutexLock lock(mutex_);
  if (*daemons_ == now_known) return failures_changed;
  daemons_ = std::make_shared<const agent::MpsDaemons>(std::move(now_known));
  return true;
}

bool MpsKeeper::all_ready() const {
  const auto known = daemons();
  return std::ranges::all_of(wanted_, [&known](const auto& wanted) {
    const auto state = known->states.find(wanted.first);
    return state != known->states.end() && is_ready(state->second, wanted.second);
  });
}

bool MpsKeeper::tick(base::TimePoint now) {
  if (now < next_check_) return false;
  if (!options_.allowed) {
    give_up(now);
    return false;
  }
  next_check_ = now + kMpsCheck;
  if (auto wanted = needed()) ask(*std::move(wanted), now);
  if (!knows_wanted_ || now < next_look_) return false;
  const bool changed = look(now);
  next_look_ = now + (all_ready() ? kMpsRecheck : kMpsCheck);
  return changed;
}

}  // namespace snug::agent_service
