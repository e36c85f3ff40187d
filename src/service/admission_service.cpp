#include "snug/service/admission_service.hpp"

#include "service/readers.hpp"
#include "snug/admission/pod_review.hpp"
#include "snug/codec/admission_review.hpp"
#include "snug/codec/extender_codec.hpp"

namespace snug::service {

Reply AdmissionService::not_a_review(const base::Error& error) const {
  metrics_.review_answered(ReviewOutcome::kUnreadable);
  return {status_of(error), codec::write_error(codec::ReplyShape::kBind, error.message)};
}

Reply AdmissionService::refused(std::string_view uid, std::string_view sentence) const {
  metrics_.review_answered(ReviewOutcome::kDenied);
  return {200, codec::write_denied(uid, sentence)};
}

Reply AdmissionService::mutate(std::string& body) const {
  const base::Result<codec::AdmissionReview> review = codec::read_admission_review(body, limits_);
  if (!review) return not_a_review(review.error());
  const std::optional<admission::PodReview>& pod = review->pod;
  const std::vector<admission::Addition> additions =
      pod ? admission::additions_for(*pod, defaults_, cards()) : std::vector<admission::Addition>{};
  metrics_.review_answered(additions.empty() ? ReviewOutcome::kUnchanged : ReviewOutcome::kPatched);
  return {200, codec::write_allowed(review->uid, additions)};
}

Reply AdmissionService::validate(std::string& body) const {
  const base::Result<codec::AdmissionReview> review = codec::read_admission_review(body, limits_);
  if (!review) return not_a_review(review.error());
  if (!review->unreadable_new_pod.empty()) return refused(review->uid, review->unreadable_new_pod);
  const std::optional<admission::PodReview>& pod = review->pod;
  if (const auto sentence = pod ? admission::refusal_of(*pod, scheduler_names_) : std::nullopt)
    return refused(review->uid, *sentence);
  metrics_.review_answered(ReviewOutcome::kAllowed);
  return {200, codec::write_allowed(review->uid, {})};
}

void AdmissionService::set_cards(const std::optional<admission::CardRange>& cards) {
  const base::MutexLock lock(mutex_);
  cards_ = cards;
}

std::optional<admission::CardRange> AdmissionService::cards() const {
  const base::MutexLock lock(mutex_);
  return cards_;
}

}  // namespace snug::service
