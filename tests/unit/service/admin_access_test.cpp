#include "snug/service/admin_access.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/fake_ports.hpp"

namespace snug::admin_access_test {
namespace {

using service::AccessAnswer;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Level = service::AccessAnswer::Level;

/// Knows the token `good` of the user `ann`, who may get the path /v1/nodes and list the pods of
/// `ml`.
class ScriptedAccess final : public service::AccessPort {
 public:
  base::Result<std::optional<model::TokenUser>> user_of(std::string_view token) override {
    asked.push_back("token " + std::string(token));
    meanwhile();
    if (is_down) return base::fail(base::ErrorCode::kUnavailable, "connection refused");
    if (!token.starts_with("good")) return std::optional<model::TokenUser>();
    return std::optional(model::TokenUser{.name = "ann", .groups = {"team"}});
  }
  base::Result<bool> may_request(const model::TokenUser& user, std::string_view verb,
                                 std::string_view path) override {
    asked.push_back(user.name + " " + std::string(verb) + " " + std::string(path));
    return path == "/v1/nodes" && verb == "get";
  }
  base::Result<bool> may_list_pods(const model::TokenUser& user,
                                   std::string_view name_space) override {
    asked.push_back(user.name + " pods of " + std::string(name_space));
    return name_space == "ml";
  }

  bool is_down = false;
  std::function<void()> meanwhile = [] {};  // while a token is being reviewed
  std::vector<std::string> asked;
};

std::string text_of(const FakeLog& log) {
  std::string text;
  for (const std::string& line : log.lines()) text += line + "\n";
  return text;
}

class ReviewedAccessTest : public ::testing::Test {
 protected:
  AccessAnswer check(std::string_view authorization, std::string_view path = "/v1/nodes",
                     std::string_view name_space = {}, std::string_view verb = "get") {
    return access_.check({authorization, verb, path, name_space});
  }

  ScriptedAccess port_;
  base::ManualClock clock_;
  base::Limits limits_;
  FakeLog log_;
  service::ReviewedAccess access_{{port_, log_, clock_}, limits_, {.tenants = true}};
};

TEST(BearerTokenTest, OnlyOneWordAfterTheSchemeIsAToken) {
  struct Row {
    const char* header;
    std::optional<std::string_view> token;
  };
  const Row rows[] = {{"Bearer abc", "abc"},       {"bearer abc", "abc"},
                      {"BEARER a.b-c=", "a.b-c="}, {"", std::nullopt},
                      {"Bearer ", std::nullopt},   {"Bearer a b", std::nullopt},
                      {"Bearer  a", std::nullopt}, {"Basic abc", std::nullopt},
                      {"abc", std::nullopt},       {"Bearer", std::nullopt}};
  for (const Row& row : rows) EXPECT_EQ(service::bearer_token(row.header), row.token) << row.header;
}

TEST_F(ReviewedAccessTest, WhoeverMayGetThePathMayReadAll) {
  EXPECT_EQ(check("Bearer good").level, Level::kAll);
  EXPECT_THAT(port_.asked, ElementsAre("token good", "ann get /v1/nodes"));
}

TEST_F(ReviewedAccessTest, WithoutATokenNothingIsAsked) {
  for (const char* header : {"", "Basic YTpi", "Bearer "}) {
    const AccessAnswer answer = check(header);
    EXPECT_EQ(answer.level, Level::kNone);
    EXPECT_EQ(answer.status, 401);
    EXPECT_THAT(answer.sentence, HasSubstr("Authorization: Bearer TOKEN"));
  }
  EXPECT_THAT(port_.asked, ElementsAre());
}

TEST_F(ReviewedAccessTest, AnInvalidTokenIsRefusedAndNotRepeated) {
  const AccessAnswer answer = check("Bearer bad-secret");
  EXPECT_EQ(answer.status, 401);
  EXPECT_THAT(answer.sentence, Not(HasSubstr("bad-secret")));
}

TEST_F(ReviewedAccessTest, AUserWithoutTheRightIsToldWhichOneIsMissing) {
  const AccessAnswer answer = check("Bearer good", "/v1/cluster");
  EXPECT_EQ(answer.level, Level::kNone);
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.sentence,
            "user \"ann\" may not get \"/v1/cluster\"; a ClusterRole with nonResourceURLs "
            "\"/v1/cluster\" and the verb get allows it");
}

TEST_F(ReviewedAccessTest, AVerbIsNotAnother) {
  EXPECT_EQ(check("Bearer good", "/v1/nodes", {}, "delete").status, 403);
}

TEST_F(ReviewedAccessTest, ATenantReadsOnlyItsOwnNamespace) {
  EXPECT_EQ(check("Bearer good", "/v1/pods", "ml").level, Level::kOwnPods);
  EXPECT_EQ(check("Bearer good", "/v1/pods", "web").status, 403);
  EXPECT_EQ(check("Bearer good", "/v1/pods").status, 403);
}

TEST_F(ReviewedAccessTest, WithoutTenantsNobodyIsATenant) {
  service::ReviewedAccess closed({port_, log_, clock_}, limits_, {.tenants = false});
  EXPECT_EQ(closed.check({"Bearer good", "get", "/v1/pods", "ml"}).status, 403);
  EXPECT_THAT(port_.asked, Not(::testing::Contains(HasSubstr("pods of"))));
}

TEST_F(ReviewedAccessTest, AnAnswerIsRememberedForAWhileAndOnlyForItsQuestion) {
  (void)check("Bearer good");
  (void)check("Bearer good");
  EXPECT_EQ(port_.asked.size(), 2U);
  EXPECT_EQ(check("Bearer bad").status, 401);
  EXPECT_EQ(check("Bearer good", "/v1/pods", "ml").level, Level::kOwnPods);
  EXPECT_EQ(check("Bearer good", "/v1/pods", "web").status, 403);
  port_.asked.clear();
  clock_.advance(milliseconds(limits_.access_cache_ms));
  EXPECT_EQ(check("Bearer good").level, Level::kAll);
  EXPECT_EQ(port_.asked.size(), 2U);
}

TEST_F(ReviewedAccessTest, WithoutAnAnswerOfTheApiServerNobodyIsAllowedAndTheNextCallAsksAgain) {
  port_.is_down = true;
  const AccessAnswer answer = check("Bearer good");
  EXPECT_EQ(answer.level, Level::kNone);
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.sentence, Not(HasSubstr("connection refused")));
  EXPECT_THAT(text_of(log_), HasSubstr("who may read the admin port: connection refused"));
  port_.is_down = false;
  EXPECT_EQ(check("Bearer good").level, Level::kAll);
}

TEST_F(ReviewedAccessTest, NewQuestionsAreBoundedPerSecondAndRememberedOnesAreNot) {
  clock_.advance(std::chrono::hours(1));
  EXPECT_EQ(check("Bearer good").level, Level::kAll);
  int asked = 0;
  for (int i = 0; i < 1'000; ++i)
    asked += check("Bearer guess" + std::to_string(i)).status == 401 ? 1 : 0;
  EXPECT_EQ(asked, limits_.access_reviews_per_s - 1) << "the first one was a stranger, too";
  EXPECT_EQ(check("Bearer another").status, 429);
  EXPECT_EQ(check("Bearer good").level, Level::kAll);
  EXPECT_EQ(check("Bearer good", "/v1/cluster").status, 403) << "strangers keep nobody out";
  clock_.advance(std::chrono::nanoseconds(std::chrono::seconds(1)) / limits_.access_reviews_per_s);
  EXPECT_EQ(check("Bearer another").status, 401);
  EXPECT_EQ(check("Bearer yet-another").status, 429);
}

TEST_F(ReviewedAccessTest, FewQuestionsAreAskedAtTheSameTime) {
  std::vector<int> statuses;
  port_.meanwhile = [&] {
    if (statuses.size() > 10) return;
    statuses.push_back(0);
    const std::size_t mine = statuses.size() - 1;
    const int status = check("Bearer stranger" + std::to_string(mine)).status;
    statuses[mine] = status;
  };
  EXPECT_EQ(check("Bearer good").level, Level::kAll);
  EXPECT_EQ(static_cast<std::int64_t>(statuses.size()), limits_.access_connections / 2);
  EXPECT_EQ(statuses.back(), 429);
  EXPECT_EQ(statuses.front(), 401);
  port_.meanwhile = [] {};
  EXPECT_EQ(check("Bearer later").status, 401) << "the others have ended";
}

TEST_F(ReviewedAccessTest, WhoeverIsKnownHasMoreQuestionsAtTheSameTime) {
  EXPECT_EQ(check("Bearer good").level, Level::kAll);
  std::vector<int> statuses;
  port_.meanwhile = [&] {
    if (statuses.size() > 20) return;
    statuses.push_back(0);
    const std::size_t mine = statuses.size() - 1;
    const int status = check("Bearer good", "/v1/" + std::to_string(mine)).status;
    statuses[mine] = status;
  };
  EXPECT_EQ(check("Bearer good", "/v1/cluster").status, 403);
  EXPECT_EQ(static_cast<std::int64_t>(statuses.size()), limits_.access_connections);
  EXPECT_EQ(statuses.back(), 429);
}

TEST_F(ReviewedAccessTest, AQuestionThatThrowsHoldsNoPlace) {
  port_.meanwhile = [] { throw std::runtime_error("out of memory"); };
  for (std::int64_t i = 0; i < limits_.access_connections; ++i)
    EXPECT_THROW((void)check("Bearer good"), std::runtime_error);
  port_.meanwhile = [] {};
  EXPECT_EQ(check("Bearer good").level, Level::kAll);
}

TEST_F(ReviewedAccessTest, EachValidTokenHasQuestionsOfItsOwn) {
  clock_.advance(std::chrono::hours(1));
  EXPECT_EQ(check("Bearer good").level, Level::kAll);
  EXPECT_EQ(check("Bearer good-too").level, Level::kAll);
  int asked = 0;
  for (int i = 0; i < 1'000; ++i)
    asked += check("Bearer good", "/v1/" + std::to_string(i)).status == 403 ? 1 : 0;
  EXPECT_EQ(asked, limits_.access_reviews_per_s);
  EXPECT_EQ(check("Bearer good", "/v1/more").status, 429);
  EXPECT_EQ(check("Bearer good-too", "/v1/more").status, 403);
}

TEST(TokenAccessTest, OnlyTheTokenOfNowIsAccepted) {
  FakeLog log;
  base::Result<std::string> token = "secret";
  service::TokenAccess access([&] { return token; }, log);
  const auto check = [&](std::string_view header) {
    return access.check({header, "get", "/v1/nodes", ""});
  };
  EXPECT_EQ(check("Bearer secret").level, Level::kAll);
  for (const char* wrong : {"", "Bearer ", "Bearer secre", "Bearer secrets", "Bearer Secret",
                            "Bearer secretsecret", "Basic secret"}) {
    EXPECT_EQ(check(wrong).level, Level::kNone) << wrong;
    EXPECT_EQ(check(wrong).status, 401) << wrong;
  }
  token = "other";
  EXPECT_EQ(check("Bearer secret").status, 401);
  EXPECT_EQ(check("Bearer other").level, Level::kAll);
  token = base::fail(base::ErrorCode::kInvalid, "the file is gone");
  EXPECT_EQ(check("Bearer other").status, 503);
  EXPECT_EQ(check("Bearer other").status, 503);
  EXPECT_THAT(text_of(log), HasSubstr("the file is gone"));
  EXPECT_EQ(text_of(log).find("the file is gone"), text_of(log).rfind("the file is gone"));
  EXPECT_THAT(text_of(log), Not(HasSubstr("secret")));
}

TEST_F(ReviewedAccessTest, ALongTokenIsRefusedUnasked) {
  const std::string token(static_cast<std::size_t>(limits_.max_token_bytes) + 1, 'x');
  EXPECT_EQ(check("Bearer " + token).status, 401);
  EXPECT_THAT(port_.asked, ElementsAre());
}

}  // namespace
}  // namespace snug::admin_access_test
