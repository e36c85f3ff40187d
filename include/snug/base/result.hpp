// Errors as values. A function that can fail for a reason outside of the program returns Result<T>;
// no exception leaves codec/ or adapters/. "The pod does not fit" is not an error but a Refusal
// (model/reasons.hpp).
#pragma once

#include <expected>
#include <string>

namespace snug::base {

enum class ErrorCode {
  kInvalid,   // the input breaks its format or a rule; the message says where and what is allowed
  kNotFound,  // the object does not exist
  kConflict,  // the object exists in a state that forbids the operation
  kUnavailable,  // the other side cannot be reached or is not ready; nothing was changed
  kUnknown,      // the operation may or may not have happened
  kTooLarge,     // a limit of base/limits.hpp
  kInternal,
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one sentence for a person: where, what, and what is allowed
};

template <typename T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace snug::base
