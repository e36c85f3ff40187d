// Decides what the admission webhook answers about a pod: what is added to it, and whether it is
// refused. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "snug/admission/mirrored_resources.hpp"
#include "snug/admission/pod_additions.hpp"
#include "snug/admission/pod_defaults.hpp"
#include "snug/model/pod.hpp"

namespace snug::admission {

/// A pod that the API server is about to create or to update.
struct PodReview {
  AdmittedPod pod;
  bool creates = false;
  // For an update: what the stored pod has. For a creation both are empty.
  model::StringMap annotations_before;  // only those that Snug reads
  std::vector<PodToleration> tolerations_before;
};

/// Returns what is added: to a new pod by pod_additions(), to an updated one by kept_tolerations().
/// `cards`: nullopt: the pod gets no amounts of mirrored resources.
[[nodiscard]] std::vector<Addition> additions_for(const PodReview& review,
                                                  const PodDefaults& defaults,
                                                  const std::optional<CardRange>& cards);

/// Returns the sentence that refuses the pod; nullopt: it is accepted. A pod that asks for GPUs is
/// refused if its request is malformed or, when it is created, if its scheduler is not in
/// `scheduler_names` (empty: all schedulers ask Snug). An update that does not change the request
/// is accepted in any case.
[[nodiscard]] std::optional<std::string> refusal_of(
    const PodReview& review, const std::vector<std::string>& scheduler_names);

}  // namespace snug::admission
