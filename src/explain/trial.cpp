#include "explain/trial.hpp"

#include <utility>

#include "snug/plan/node_resources_fit.hpp"
#include "snug/plan/placement_finder.hpp"

namespace snug::explain {
namespace {

plan::IncomingPod changed_copy(const plan::IncomingPod& incoming, const model::GpuRequest& request,
                               const model::SharingRules& sharing) {
  return {.name_space = incoming.name_space,
          .rank = incoming.rank,
          .request = request,
          .host = incoming.host,
          .mirrored = incoming.mirrored,
          .profiles = incoming.profiles,
          .sharing = sharing};
}

}  // namespace

plan::IncomingPod with_request(const plan::IncomingPod& incoming,
                               const model::GpuRequest& request) {
  return changed_copy(incoming, request, incoming.sharing);
}

plan::IncomingPod with_rules(const plan::IncomingPod& incoming,
                             const model::SharingRules& sharing) {
  return changed_copy(incoming, incoming.request, sharing);
}

plan::NodeContext context_of(const model::Snapshot& snapshot, Slot slot) {
  return {.namespace_usage = snapshot.namespace_usage,
          .nominations = snapshot.nominations_on(slot),
          .intents = snapshot.intents_on(slot),
          .demand = *snapshot.demand};
}

/// A request of one container and its trial, which refers to it.
struct Trial::SingleContainer {
  SingleContainer(const model::Snapshot& snapshot, const plan::IncomingPod& incoming,
                  model::GpuRequest the_request)
      : request(std::move(the_request)), trial(snapshot, with_request(incoming, request)) {}

  model::GpuRequest request;
  Trial trial;
};

Trial::Trial(const model::Snapshot& snapshot, const plan::IncomingPod& incoming)
    : snapshot_(snapshot),
      incoming_(incoming),
      memo_(incoming.request),
      tenant_(fit::tenant_of(incoming.name_space, incoming.sharing, snapshot.namespace_usage)) {}

Trial::~Trial() = default;

Trial& Trial::of_container(std::size_t position) {
  const model::GpuRequest& request = incoming_.request;
  if (request.containers.size() == 1) return *this;
  single_containers_.resize(request.containers.size());
  std::unique_ptr<SingleContainer>& single = single_containers_.at(position);
  if (single == nullptr) {
    model::GpuRequest alone = request;
    alone.containers = {request.containers[position]};
    single = std::make_unique<SingleContainer>(snapshot_, incoming_, std::move(alone));
  }
  return single->trial;
}

model::Intents Trial::counted_intents(Slot slot) const {
  return plan::counted_intents(incoming_.rank, context_of(snapshot_, slot));
}

model::ReasonCode Trial::reason_in(Slot slot, const model::NodeState& state,
                                   const model::Intents* intents, const fit::Tenant& tenant,
                                   const model::NamespaceUsage& namespace_usage) {
  plan::PlacementFinder finder(state, {incoming_, tenant, memo_},
                               plan::NodeContext{.namespace_usage = namespace_usage,
                                                 .nominations = snapshot_.nominations_on(slot),
                                                 .intents = intents,
                                                 .demand = *snapshot_.demand},
                               options_);
  return finder.find().reason;
}

model::ReasonCode Trial::reason(Slot slot) {
  return reason_in(slot, *snapshot_.nodes[slot], snapshot_.intents_on(slot), tenant_,
                   snapshot_.namespace_usage);
}

plan::Verdict Trial::verdict(Slot slot) {
  plan::PlacementFinder finder(*snapshot_.nodes[slot], {incoming_, tenant_, memo_},
                               context_of(snapshot_, slot), options_);
  const plan::FoundPlacements found = finder.find();
  if (found.reason != model::ReasonCode::kNone) return {.reason = found.reason};
  return {.reason = found.reason, .score_class = finder.best(found).score_class};
}

bool Trial::host_fits(Slot slot) const {
  return plan::node_resources_fit(*snapshot_.nodes[slot], incoming_.host);
}

bool Trial::takes(Slot slot) {
  if (!host_fits(slot)) return false;
  if (snapshot_.intents_on(slot) == nullptr && snapshot_.nominations_on(slot) == nullptr)
    return fit::can_fit(*snapshot_.nodes[slot], tenant_, memo_);
  return reason(slot) == model::ReasonCode::kNone;
}

bool Trial::takes_in(Slot slot, const model::NodeState& state, const model::Intents* intents,
                     const model::NamespaceUsage& namespace_usage) {
  if (!plan::node_resources_fit(state, incoming_.host)) return false;
  const fit::Tenant tenant =
      fit::tenant_of(incoming_.name_space, incoming_.sharing, namespace_usage);
  if (intents == nullptr && snapshot_.nominations_on(slot) == nullptr)
    return fit::can_fit(state, tenant, memo_);
  if (intents != nullptr) count_state(state.holdings.size());
  return reason_in(slot, state, intents, tenant, namespace_usage) == model::ReasonCode::kNone;
}

}  // namespace snug::explain
