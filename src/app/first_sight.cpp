#include "app/first_sight.hpp"

#include <utility>

namespace snug {

std::optional<Reply> FirstSight::look(std::string& body) {
  PodFacts pod;
  {
    const std::lock_guard lock(mutex_);
    Result<ScheduleCall> call = reader_.read_schedule(body);
    if (call) pod = std::move(call->pod);
    const bool read = call.has_value();
    reader_.trim();
    if (!read) return std::nullopt;
  }
  const Result<void> posted = api_.post_pod(std::move(pod));
  if (posted) return std::nullopt;
  const int status = posted.error().code == ErrorCode::kConflict ? 409 : 400;
  return Reply{status, write_error(ReplyShape::kFilter, posted.error().message)};
}

}  // namespace snug
