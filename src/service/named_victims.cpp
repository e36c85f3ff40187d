#include "service/named_victims.hpp"

#include <algorithm>

namespace snug::service {

void NamedVictims::note(std::string_view preemptor_uid,
                        const std::vector<codec::NodeVictims>& answer) {
  Answer noted_answer{.noted = clock_.now(), .preemptor_uid = std::string(preemptor_uid)};
  for (const codec::NodeVictims& named : answer) {
    if (named.uids.empty()) continue;
    noted_answer.victims.try_emplace(std::string(named.node), named.uids.begin(), named.uids.end());
  }
  const base::MutexLock lock(mutex_);
  std::erase_if(answers_, [&](const Answer& each) {
    return each.preemptor_uid == preemptor_uid || noted_answer.noted - each.noted >= lifetime_;
  });
  if (noted_answer.victims.empty()) return;
  if (answers_.size() >= max_pods_) answers_.pop_front();
  answers_.push_back(std::move(noted_answer));
}

NamedVictims::UidsByNode NamedVictims::find(std::string_view preemptor_uid) const {
  const base::MutexLock lock(mutex_);
  const auto answer = std::ranges::find(answers_, preemptor_uid, &Answer::preemptor_uid);
  if (answer == answers_.end() || clock_.now() - answer->noted >= lifetime_) return {};
  return answer->victims;
}

}  // namespace snug::service
