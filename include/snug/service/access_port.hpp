// The two questions that Snug asks the API server about a client of the admin port: whom does its
// token belong to, and what may that user do. Kubernetes' own components ask the same two
// (TokenReview and SubjectAccessReview).
#pragma once

#include <optional>
#include <string_view>

#include "snug/base/result.hpp"
#include "snug/model/token_user.hpp"

namespace snug::service {

/// Implementations are thread-safe. No call lasts longer than apiTimeout. Each fails if the API
/// server did not answer the question.
class AccessPort {
 public:
  virtual ~AccessPort() = default;

  /// Nullopt: the token is not valid.
  [[nodiscard]] virtual base::Result<std::optional<model::TokenUser>> user_of(
      std::string_view token) = 0;
  /// Whether the user may send requests with `verb` (`get`, `delete`) for `path`, which is no path
  /// of a Kubernetes resource.
  [[nodiscard]] virtual base::Result<bool> may_request(const model::TokenUser& user,
                                                       std::string_view verb,
                                                       std::string_view path) = 0;
  /// Whether the user may list the pods of the namespace.
  [[nodiscard]] virtual base::Result<bool> may_list_pods(const model::TokenUser& user,
                                                         std::string_view name_space) = 0;
};

}  // namespace snug::service
