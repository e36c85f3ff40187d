#include "service/decision_line.hpp"

#include <vector>

namespace snug::service {

std::string AttemptCounter::request_id(Verb verb, std::string_view uid) {
  constexpr std::size_t kUidCharacters = 8;
  const base::MutexLock lock(mutex_);
  const std::uint64_t* known = attempts_.find(uid);
  std::uint64_t attempt = known == nullptr ? 0 : *known;
  if (verb == Verb::kFilter) attempts_.put(uid, ++attempt);
  return std::string(uid.substr(0, kUidCharacters)) + "-" + std::to_string(attempt);
}

void AttemptCounter::forget(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  attempts_.take(uid);
}

void DecisionLine::set_pod(std::string_view name_space, std::string_view pod,
                           std::string_view uid) {
  if (!enabled_) return;
  name_space_ = name_space;
  pod_ = pod;
  uid_ = uid;
}

void DecisionLine::about(const codec::BindCall& call) {
  set_pod(call.name_space, call.pod, call.uid);
  if (enabled_) node_ = call.node;
}

void DecisionLine::decided(std::string_view reason, std::string_view node) {
  if (!enabled_) return;
  reason_ = reason;
  if (!node.empty()) node_ = node;
}

void DecisionLine::write(std::chrono::microseconds duration) {
  if (!enabled_ || uid_.empty()) return;
  const std::string request_id = attempts_.request_id(verb_, uid_);
  std::vector<LogField> fields{{"verb", kVerbNames[verb_]},
                               {"namespace", name_space_},
                               {"pod", pod_},
                               {"uid", uid_},
                               {"request", request_id}};
  if (!node_.empty()) fields.push_back({"node", node_});
  if (!reason_.empty()) fields.push_back({"reason", reason_});
  fields.push_back({"duration_ms", duration});
  log_.write_line(LogLevel::kDebug, "decided", fields);
  if (verb_ == Verb::kBind && reason_ == kBindOutcomeNames[BindOutcome::kBound])
    attempts_.forget(uid_);
}

}  // namespace snug::service
