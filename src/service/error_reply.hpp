// The error replies of the admin port: `{"Error":"…"}`.
#pragma once

#include <string_view>

#include "snug/codec/extender_codec.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

[[nodiscard]] inline Reply error_reply(int status, std::string_view sentence) {
  return {status, codec::write_error(codec::ReplyShape::kBind, sentence)};
}

}  // namespace snug::service
