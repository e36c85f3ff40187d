// Smaller and otherwise changed copies of a request. Each copy is one that a pod's annotations can
// state: its text is parsed again.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "snug/model/request.hpp"

namespace snug::explain {

/// The size of a share or of a whole GPU, in thousandths of the requested size.
inline constexpr std::int64_t kFullScale = 1000;

/// A copy in which every share has `thousandths` of its size (at least the smallest size), every
/// whole GPU has become a share of this size, and every container asks for at most `most_devices`
/// devices. Slices and kubelet-assigned units keep their size. Nullopt: no annotations state this.
[[nodiscard]] std::optional<model::GpuRequest> scaled(const model::GpuRequest& request,
                                                      std::int64_t thousandths,
                                                      std::int64_t most_devices);
/// A copy in which every slice has the profile `profile`. Nullopt: the request has no slice.
[[nodiscard]] std::optional<model::GpuRequest> with_profile(const model::GpuRequest& request,
                                                            std::string_view profile);
/// A copy that accepts every GPU model. Nullopt: the request already does.
[[nodiscard]] std::optional<model::GpuRequest> with_any_model(const model::GpuRequest& request);
/// A copy in which every container with another isolation asks for `isolation`. Nullopt: there is
/// no such container, or one that cannot ask for it.
[[nodiscard]] std::optional<model::GpuRequest> with_isolation(const model::GpuRequest& request,
                                                              model::Isolation isolation);

}  // namespace snug::explain
