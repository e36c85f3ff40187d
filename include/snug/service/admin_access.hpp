// Who may read what on the admin port. The port's server asks before it calls a route's handler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/service/access_port.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

struct AccessQuestion {
  std::string_view authorization;  // the header Authorization; empty: there is none
  std::string_view verb;           // the HTTP method in lower case; HEAD counts as get
  std::string_view path;
  /// The only namespace that the reply would be about; empty: the reply would be about all.
  std::string_view name_space;
};

/// The HTTP status of AccessAnswer if the request has no valid token.
inline constexpr int kUnauthorized = 401;

struct AccessAnswer {
  enum class Level : std::uint8_t {
    kNone,     // the request must be refused with `status` and `sentence`
    kOwnPods,  // the reply must show only what concerns pods of the question's namespace
    kAll,
  };
  Level level = Level::kNone;
  int status = 200;  // an HTTP status code
  std::string sentence;
};

/// Implementations are thread-safe.
class AdminAccess {
 public:
  virtual ~AdminAccess() = default;
  [[nodiscard]] virtual AccessAnswer check(const AccessQuestion& question) = 0;
};

/// Returns the token of `Bearer TOKEN`; nullopt: the header has another form, or an empty token.
[[nodiscard]] std::optional<std::string_view> bearer_token(std::string_view authorization);

/// Accepts one token. Thread-safe if `read_token` is.
class TokenAccess final : public AdminAccess {
 public:
  /// `read_token` is called for each question, so that the token may change at any time. `log` gets
  /// its errors and must outlive this object.
  using ReadToken = std::function<base::Result<std::string>()>;
  TokenAccess(ReadToken read_token, Log& log);

  [[nodiscard]] AccessAnswer check(const AccessQuestion& question) override;

 private:
  const ReadToken read_token_;
  Log& log_;
  base::Mutex mutex_;
  std::string logged_error_ SNUG_GUARDED_BY(mutex_);
};

/// Accepts the users whom the API server allows the request. It remembers answers for
/// limits.access_cache_ms. A client without rights cannot load the API server, nor keep others out:
/// each token that was valid before, and all others together, have access_reviews_per_s new
/// questions. At most access_connections questions are asked at the same time, and half as many
/// about tokens that were not valid before.
class ReviewedAccess final : public AdminAccess {
 public:
  struct Options {
    /// Whether a user who may not read a path, but who may list the pods of the question's
    /// namespace, gets AccessAnswer::Level::kOwnPods.
    bool tenants = false;
  };
  struct Parts {
    AccessPort& port;
    Log& log;
    const base::Clock& clock;
  };

  /// The objects in `parts` must outlive this one.
  ReviewedAccess(Parts parts, const base::Limits& limits, Options options);
  ~ReviewedAccess() override;

  [[nodiscard]] AccessAnswer check(const AccessQuestion& question) override;

 private:
  class Memory;
  /// Nullopt: the API server did not answer.
  [[nodiscard]] std::optional<AccessAnswer> ask(const AccessQuestion& question,
                                                std::string_view token);
  void log_problem(const base::Error& error);

  const Parts parts_;
  const Options options_;
  const std::size_t max_token_bytes_;
  base::Mutex mutex_;
  const std::unique_ptr<Memory> memory_ SNUG_PT_GUARDED_BY(mutex_);
  std::string logged_error_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service
