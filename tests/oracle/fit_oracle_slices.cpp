// What FitOracle asks MigOracle.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "oracle/fit_oracle.hpp"

namespace snug {

MigOracle::View FitOracle::view_of(Rule rule) {
  if (rule < Rule::kMode) return MigOracle::View::kCard;
  if (rule < Rule::kHealth) return MigOracle::View::kOffered;
  return rule < Rule::kRoom ? MigOracle::View::kSound : MigOracle::View::kFree;
}

std::optional<std::int64_t> FitOracle::slices_price(const Gpu& gpu,
                                                    const std::vector<MigOracle::User>& users,
                                                    std::vector<Part> parts, Rule last) {
  const bool walls = std::ranges::all_of(users, [](const MigOracle::User& user) {
    return user.asked->isolation == model::Isolation::kAny ||
           user.asked->isolation == model::Isolation::kMig;
  });
  if (!gpu.slices || (last >= Rule::kMode && !walls)) return std::nullopt;
  const auto prices = gpu.slices->prices(users, view_of(last));
  if (!prices) return std::nullopt;
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].amounts = {0, prices->at(i)};
  return together(parts).compute;
}

std::optional<std::size_t> FitOracle::starts_on(const model::GpuRequest& request,
                                                std::size_t gpu) const {
  const auto& slices = gpus_.at(gpu).slices;
  if (!slices) return std::nullopt;
  return slices->starts_for(request.containers.front());
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as there are GPUs
bool FitOracle::with_slices(const model::GpuRequest& request, std::size_t gpu, Takes& takes,
                            const std::function<bool(const Takes&)>& visit) const {
  if (gpu == gpus_.size()) return visit(takes);
  std::vector<std::size_t> here;
  std::vector<MigOracle::User> users;
  for (std::size_t i = 0; i < takes.size(); ++i) {
    if (takes[i].gpu != gpu) continue;
    here.push_back(i);
    users.push_back({&request.containers[takes[i].container], takes[i].container});
  }
  const auto& slices = gpus_[gpu].slices;
  if (!slices || users.empty()) return with_slices(request, gpu + 1, takes, visit);
  return slices->any_places(users, [&](const std::vector<model::MigPlacement>& places) {
    for (std::size_t i = 0; i < here.size(); ++i) {
      const Amounts price = slices->card().cost(slices->card().profiles[places[i].profile]);
      model::DeviceAllocation& take = takes[here[i]];
      take.slice = places[i];
      take.memory = {price.memory};
      take.compute = {price.compute};
    }
    return with_slices(request, gpu + 1, takes, visit);
  });
}

bool FitOracle::accepts_slices(const model::GpuRequest& request,
                               std::span<const model::DeviceAllocation> takes) const {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    std::vector<MigOracle::User> users;
    for (const model::DeviceAllocation& allocation : takes) {
      if (allocation.gpu != i) continue;
      users.push_back(
          {&request.containers[allocation.container], allocation.container, &allocation});
    }
    const auto& slices = gpus_[i].slices;
    if (slices && !users.empty() && !slices->accepts(users)) return false;
  }
  return true;
}

}  // namespace snug
