#include "snug/service/admin_access.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "service/recent.hpp"
#include "snug/base/text.hpp"

namespace snug::service {
namespace {

constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kTooManyRequests = 429;
constexpr int kServiceUnavailable = 503;

AccessAnswer refused(int status, std::string sentence) {
  return {.level = AccessAnswer::Level::kNone, .status = status, .sentence = std::move(sentence)};
}

AccessAnswer allowed(AccessAnswer::Level level) { return {.level = level}; }

AccessAnswer no_answer(const base::Error& error) {
  return refused(kServiceUnavailable,
                 "the API server did not say whether the request is allowed: " + error.message);
}

std::string forbidden_sentence(const model::TokenUser& user, const AccessQuestion& question) {
  std::string path(question.path);
  return "user " + base::in_quotes(user.name) + " may not " + std::string(question.verb) + " " +
         base::in_quotes(path) + "; a ClusterRole with nonResourceURLs " + base::in_quotes(path) +
         " and the verb " + std::string(question.verb) + " allows it";
}

}  // namespace

std::optional<std::string_view> bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return std::nullopt;
  const bool is_bearer = std::ranges::equal(
      authorization.substr(0, kScheme.size()), kScheme,
      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) == b; });
  const std::string_view token = authorization.substr(kScheme.size());
  if (!is_bearer || token.find_first_of(" \t") != std::string_view::npos) return std::nullopt;
  return token;
}

AccessAnswer no_token() {
  return refused(kUnauthorized,
                 "the admin port needs a token: send the header Authorization: Bearer TOKEN");
}

AccessAnswer invalid_token() { return refused(kUnauthorized, "the token is not valid"); }

/// The answers of the last time, and how many new questions may be asked now.
class ReviewedAccess::Memory {
 public:
  explicit Memory(const base::Limits& limits)
      : lifetime_(limits.access_cache_ms),
        time_per_question_(base::TimePoint::duration(std::chrono::seconds(1)) /
                           limits.access_reviews_per_s),
        answers_(static_cast<std::size_t>(limits.max_access_answers)) {}

  [[nodiscard]] std::optional<AccessAnswer> find(std::string_view key, base::TimePoint now) const {
    const Known* known = answers_.find(key);
    if (known == nullptr || now - known->since >= lifetime_) return std::nullopt;
    return known->answer;
  }

  void put(std::string_view key, AccessAnswer answer, base::TimePoint now) {
    answers_.put(key, {std::move(answer), now});
  }

  /// Whether one more question may be asked. Unused questions of the last second may be asked too.
  [[nodiscard]] bool take_question(base::TimePoint now) {
    next_question_ = std::max(next_question_, now - std::chrono::seconds(1) + time_per_question_);
    if (next_question_ > now) return false;
    next_question_ += time_per_question_;
    return true;
  }

 private:
  struct Known {
    AccessAnswer answer;
    base::TimePoint since;
  };
  const std::chrono::milliseconds lifetime_;
  const base::TimePoint::duration time_per_question_;
  base::TimePoint next_question_ = base::TimePoint::min();
  Recent<Known> answers_;
};

ReviewedAccess::ReviewedAccess(AccessPort& port, const base::Clock& clock,
                               const base::Limits& limits, Options options)
    : port_(port),
      clock_(clock),
      options_(options),
      max_token_bytes_(static_cast<std::size_t>(limits.max_token_bytes)),
      memory_(std::make_unique<Memory>(limits)) {}

ReviewedAccess::~ReviewedAccess() = default;

AccessAnswer ReviewedAccess::check(const AccessQuestion& question) {
  const auto token = bearer_token(question.authorization);
  if (!token) return no_token();
  if (token->size() > max_token_bytes_) return invalid_token();
  // No part before the token contains a line break.
  std::string key;
  for (const std::string_view part : {question.verb, question.path, question.name_space, *token})
    key.append(part).append("\n");
  {
    const base::MutexLock lock(mutex_);
    const base::TimePoint now = clock_.now();
    if (auto known = memory_->find(key, now)) return *std::move(known);
    if (!memory_->take_question(now)) {
      return refused(kTooManyRequests,
                     "too many clients ask whether they are allowed; try again in a second");
    }
  }
  AccessAnswer answer = ask(question, *token);
  if (answer.status != kServiceUnavailable) {
    const base::MutexLock lock(mutex_);
    memory_->put(key, answer, clock_.now());
  }
  return answer;
}

AccessAnswer ReviewedAccess::ask(const AccessQuestion& question, std::string_view token) {
  const base::Result<std::optional<model::TokenUser>> owner = port_.user_of(token);
  if (!owner) return no_answer(owner.error());
  const std::optional<model::TokenUser>& user = *owner;
  if (!user) return invalid_token();
  const base::Result<bool> may_request = port_.may_request(*user, question.verb, question.path);
  if (!may_request) return no_answer(may_request.error());
  if (*may_request) return allowed(AccessAnswer::Level::kAll);
  if (options_.tenants && !question.name_space.empty()) {
    const base::Result<bool> may_list = port_.may_list_pods(*user, question.name_space);
    if (!may_list) return no_answer(may_list.error());
    if (*may_list) return allowed(AccessAnswer::Level::kOwnPods);
  }
  return refused(kForbidden, forbidden_sentence(*user, question));
}

}  // namespace snug::service
