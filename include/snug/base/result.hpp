// Errors as values. A function that can fail for a reason outside the program returns Result<T>.
// The layers codec and adapters throw no exceptions to other layers. "The pod does not fit" is not
// an error but a Refusal (model/reasons.hpp).
#pragma once

#include <expected>
#include <string>

namespace snug::base {

enum class ErrorCode {
  kInvalid,   // the input violates its format or a rule; the message says where and what is allowed
  kNotFound,  // the object does not exist
  kConflict,  // the object exists in a state that forbids the operation
  kUnavailable,  // the server cannot be reached or is not ready; nothing was changed
  kUnknown,      // the operation may or may not have happened
  kTooLarge,     // the input or output exceeds a limit of base/limits.hpp
  kInternal,
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one sentence for people: where, what, and what is allowed
};

template <typename T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace snug::base
