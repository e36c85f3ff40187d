#include "snug/service/admin_access.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "service/recent.hpp"
#include "snug/base/text.hpp"

namespace snug::service {
namespace {

constexpr int kForbidden = 403;
constexpr int kTooManyRequests = 429;
constexpr int kServiceUnavailable = 503;

AccessAnswer refused(int status, std::string sentence) {
  return {.level = AccessAnswer::Level::kNone, .status = status, .sentence = std::move(sentence)};
}

AccessAnswer allowed(AccessAnswer::Level level) { return {.level = level}; }

AccessAnswer no_token() {
  return refused(kUnauthorized,
                 "the admin port needs a token: send the header Authorization: Bearer TOKEN");
}

AccessAnswer invalid_token() { return refused(kUnauthorized, "the token is not valid"); }

AccessAnswer no_answer() {
  return refused(kServiceUnavailable,
                 "Snug cannot find out whether the request is allowed; see its log, and try again");
}

/// The time that it takes does not tell how many characters of a guess are right.
bool is_same_token(std::string_view guess, std::string_view token) {
  unsigned difference = guess.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < guess.size(); ++i) {
    const char expected = token[i % token.size()];
    difference |= static_cast<unsigned>(static_cast<unsigned char>(guess[i] ^ expected));
  }
  return difference == 0;
}

std::string forbidden_sentence(const model::TokenUser& user, const AccessQuestion& question) {
  const std::string path(question.path);
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

TokenAccess::TokenAccess(ReadToken read_token, Log& log)
    : read_token_(std::move(read_token)), log_(log) {}

AccessAnswer TokenAccess::check(const AccessQuestion& question) {
  const auto token = bearer_token(question.authorization);
  if (!token) return no_token();
  const base::Result<std::string> expected = read_token_();
  const std::string error = expected ? "" : expected.error().message;
  {
    const base::MutexLock lock(mutex_);
    if (std::exchange(logged_error_, error) != error && !error.empty())
      log_.write(LogLevel::kWarn, "nobody can read the admin port: " + error);
  }
  if (!expected || expected->empty()) return no_answer();
  if (!is_same_token(*token, *expected)) return invalid_token();
  return allowed(AccessAnswer::Level::kAll);
}

/// What is remembered of earlier questions, and how many may be asked now.
class ReviewedAccess::Memory {
 public:
  explicit Memory(const base::Limits& limits)
      : limits_(limits),
        lifetime_(limits.access_cache_ms),
        most_at_once_(limits.access_connections),
        strangers_(limits),
        answers_(static_cast<std::size_t>(limits.max_access_answers)),
        valid_tokens_(static_cast<std::size_t>(limits.max_access_answers)) {}

  [[nodiscard]] std::optional<AccessAnswer> find(std::string_view key, base::TimePoint now) const {
    const Known* known = answers_.find(key);
    if (known == nullptr || now - known->since >= lifetime_) return std::nullopt;
    return known->answer;
  }

  /// Whether a question about the token may be asked now. If so, end_question() must follow.
  [[nodiscard]] bool begin_question(std::string_view token, base::TimePoint now) {
    std::optional<Allowance> own = valid_tokens_.take(token);
    const std::int64_t most = own ? most_at_once_ : most_at_once_ / 2;
    const bool may_ask = at_once_ < most && (own ? *own : strangers_).take(now);
    if (own) valid_tokens_.put(token, *own);
    at_once_ += may_ask ? 1 : 0;
    return may_ask;
  }

  /// `answer`: nullopt: the API server gave none.
  void end_question(std::string_view key, std::string_view token,
                    const std::optional<AccessAnswer>& answer, base::TimePoint now) {
    --at_once_;
    if (!answer) return;
    answers_.put(key, {*answer, now});
    if (answer->status == kUnauthorized) {
      valid_tokens_.take(token);
    } else if (valid_tokens_.find(token) == nullptr) {
      valid_tokens_.put(token, Allowance(limits_));
    }
  }

 private:
  struct Known {
    AccessAnswer answer;
    base::TimePoint since;
  };

  /// access_reviews_per_s questions, also those of the last second that were not asked.
  class Allowance {
   public:
    explicit Allowance(const base::Limits& limits)
        : time_per_question_(base::TimePoint::duration(std::chrono::seconds(1)) /
                             limits.access_reviews_per_s) {}

    [[nodiscard]] bool take(base::TimePoint now) {
      next_ = std::max(next_, now - std::chrono::seconds(1) + time_per_question_);
      if (next_ > now) return false;
      next_ += time_per_question_;
      return true;
    }

   private:
    base::TimePoint::duration time_per_question_;
    base::TimePoint next_ = base::TimePoint::min();
  };

  const base::Limits limits_;
  const std::chrono::milliseconds lifetime_;
  const std::int64_t most_at_once_;
  std::int64_t at_once_ = 0;
  Allowance strangers_;  // of all tokens that are not in valid_tokens_
  Recent<Known> answers_;
  Recent<Allowance> valid_tokens_;
};

ReviewedAccess::ReviewedAccess(Parts parts, const base::Limits& limits, Options options)
    : parts_(parts),
      options_(options),
      max_token_bytes_(static_cast<std::size_t>(limits.max_token_bytes)),
      memory_(std::make_unique<Memory>(limits)) {}

ReviewedAccess::~ReviewedAccess() = default;

AccessAnswer ReviewedAccess::check(const AccessQuestion& asked) {
  AccessQuestion question = asked;
  if (!options_.tenants) question.name_space = {};
  const auto token = bearer_token(question.authorization);
  if (!token) return no_token();
  if (token->size() > max_token_bytes_) return invalid_token();
  // With their lengths, different questions have different keys.
  std::string key;
  for (const std::string_view part : {question.verb, question.path, question.name_space, *token})
    key.append(std::to_string(part.size())).append(":").append(part).append("\n");
  {
    const base::MutexLock lock(mutex_);
    const base::TimePoint now = parts_.clock.now();
    if (auto known = memory_->find(key, now)) return *std::move(known);
    if (!memory_->begin_question(*token, now)) {
      return refused(kTooManyRequests,
                     "too many clients ask whether they are allowed; try again in a second");
    }
  }
  std::optional<AccessAnswer> answer;
  try {
    answer = ask(question, *token);
  } catch (...) {
    const base::MutexLock lock(mutex_);
    memory_->end_question(key, *token, std::nullopt, parts_.clock.now());
    throw;
  }
  const base::MutexLock lock(mutex_);
  memory_->end_question(key, *token, answer, parts_.clock.now());
  return answer ? *answer : no_answer();
}

std::optional<AccessAnswer> ReviewedAccess::ask(const AccessQuestion& question,
                                                std::string_view token) {
  const auto unanswered = [this](const base::Error& error) {
    log_problem(error);
    return std::nullopt;
  };
  const base::Result<std::optional<model::TokenUser>> owner = parts_.port.user_of(token);
  if (!owner) return unanswered(owner.error());
  const std::optional<model::TokenUser>& user = *owner;
  if (!user) return invalid_token();
  const base::Result<bool> may_request =
      parts_.port.may_request(*user, question.verb, question.path);
  if (!may_request) return unanswered(may_request.error());
  if (*may_request) return allowed(AccessAnswer::Level::kAll);
  if (!question.name_space.empty()) {
    const base::Result<bool> may_list = parts_.port.may_list_pods(*user, question.name_space);
    if (!may_list) return unanswered(may_list.error());
    if (*may_list) return allowed(AccessAnswer::Level::kOwnPods);
  }
  return refused(kForbidden, forbidden_sentence(*user, question));
}

void ReviewedAccess::log_problem(const base::Error& error) {
  const base::MutexLock lock(mutex_);
  if (std::exchange(logged_error_, error.message) == error.message) return;
  parts_.log.write(LogLevel::kWarn,
                   "the API server did not say who may read the admin port: " + error.message);
}

}  // namespace snug::service
