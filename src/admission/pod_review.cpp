#include "snug/admission/pod_review.hpp"

#include <algorithm>

#include "snug/base/text.hpp"
#include "snug/model/reasons.hpp"
#include "snug/request/pod_request_parser.hpp"

namespace snug::admission {
namespace {

model::StringMap request_annotations(const model::StringMap& annotations) {
  model::StringMap kept;
  for (const auto& [key, value] : annotations) {
    if (request::is_request_key(key)) kept.emplace(key, value);
  }
  return kept;
}

/// Returns the sentence that refuses a pod whose scheduler does not ask Snug; nullopt: it does.
std::optional<std::string> refuse_scheduler(const std::string& name,
                                            const std::vector<std::string>& scheduler_names) {
  if (scheduler_names.empty() || std::ranges::find(scheduler_names, name) != scheduler_names.end())
    return std::nullopt;
  std::string expected;
  for (const std::string& served : scheduler_names) {
    expected += (expected.empty() ? "" : " or ") + served;
  }
  return "the pod asks for GPUs by annotation, but its scheduler " + base::in_quotes(name) +
         " does not ask Snug for them; expected spec.schedulerName " + expected;
}

}  // namespace

std::vector<Addition> additions_for(const PodReview& review, const PodDefaults& defaults,
                                    const std::optional<CardRange>& cards) {
  if (!review.creates) {
    return request_annotations(review.annotations_before).empty()
               ? std::vector<Addition>{}
               : kept_tolerations(review.pod, review.tolerations_before, defaults);
  }
  if (!asks_for_gpus(review.pod)) return {};
  const auto request = request::parse_request(review.pod.facts);
  return pod_additions(review.pod, defaults, request ? &*request : nullptr, cards);
}

std::optional<std::string> refusal_of(const PodReview& review,
                                      const std::vector<std::string>& scheduler_names) {
  const model::PodFacts& facts = review.pod.facts;
  if (!asks_for_gpus(review.pod)) return std::nullopt;
  // An update may leave a malformed request as it is, for example to remove a finalizer.
  if (!review.creates &&
      request_annotations(facts.annotations) == request_annotations(review.annotations_before)) {
    return std::nullopt;
  }
  if (const auto request = request::parse_request(facts); !request)
    return model::message(request.error());
  return review.creates ? refuse_scheduler(facts.scheduler_name, scheduler_names) : std::nullopt;
}

}  // namespace snug::admission
