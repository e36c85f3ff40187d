#include "codec/kube_walk_errors.hpp"

#include "snug/base/limits.hpp"
#include "snug/base/text.hpp"
#include "snug/model/pod.hpp"

namespace snug::codec {

std::string FieldPath::to_text() const {
  std::string path = parent == nullptr ? std::string{} : parent->to_text();
  if (!path.empty()) path += parent->is_phrase() ? "'s " : ".";
  path += base::printable_excerpt(name);
  if (index >= 0) path += '[' + std::to_string(index) + ']';
  return path;
}

void StrayRule::offer(std::string_view key, std::string_view value) {
  constexpr std::size_t kShownBytes = 64;
  if (keep == nullptr || out->size() >= base::kMaxStrayKeys ||
      key.size() > base::kMaxStrayKeyBytes || !keep(key, compared))
    return;
  out->emplace(key, base::clip_text(value, kShownBytes));
}

void WalkErrors::fail_at(const FieldPath& where, std::string_view problem) {
  if (ok_) fail_with({base::ErrorCode::kInvalid, where.to_text() + ' ' + std::string{problem}});
}

void WalkErrors::fail_with(base::Error error) {
  if (!ok_) return;
  ok_ = false;
  error_ = std::move(error);
}

}  // namespace snug::codec
