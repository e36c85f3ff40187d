#include "codec/kube_walk.hpp"

#include "snug/base/text.hpp"

namespace snug {

std::string Where::text() const {
  std::string path = up == nullptr ? std::string{} : up->text();
  if (!path.empty()) path += up->in_words() ? "'s " : ".";
  path += printable(name);
  if (index >= 0) path += '[' + std::to_string(index) + ']';
  return path;
}

void WalkErrors::fail_at(const Where& where, std::string_view problem) {
  if (ok_) fail_with({ErrorCode::kInvalid, where.text() + ' ' + std::string{problem}});
}

void WalkErrors::fail_with(Error error) {
  if (!ok_) return;
  ok_ = false;
  error_ = std::move(error);
}

}  // namespace snug
