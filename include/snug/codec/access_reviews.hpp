// Writes TokenReviews and SubjectAccessReviews for the API server, and reads its answers. JSON, as
// in the API groups authentication.k8s.io/v1 and authorization.k8s.io/v1. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/model/token_user.hpp"

namespace snug::codec {

[[nodiscard]] std::string write_token_review(std::string_view token);
/// The user of an authenticated token; nullopt: the token is not valid. Fails with kInvalid if the
/// text is no TokenReview with a status.
[[nodiscard]] base::Result<std::optional<model::TokenUser>> read_token_review(
    std::string_view json, const base::Limits& limits);

/// Asks whether the user may send requests with `verb` for `path`.
[[nodiscard]] std::string write_path_review(const model::TokenUser& user, std::string_view verb,
                                            std::string_view path);
/// Asks whether the user may list the pods of the namespace.
[[nodiscard]] std::string write_pods_review(const model::TokenUser& user,
                                            std::string_view name_space);
/// Fails with kInvalid if the text is no SubjectAccessReview with a status.
[[nodiscard]] base::Result<bool> read_access_review(std::string_view json,
                                                    const base::Limits& limits);

}  // namespace snug::codec
