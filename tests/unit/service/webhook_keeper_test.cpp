// Replicas that share one Secret and both configurations, on one clock that the test moves.
#include "snug/service/webhook_keeper.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/fake_ports.hpp"

namespace snug::testing::webhook_keeper_test {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;
using std::chrono::seconds;

class ManualWallClock final : public base::WallClock {
 public:
  [[nodiscard]] std::chrono::sys_seconds now() const override { return time; }
  std::chrono::sys_seconds time{days{20'000}};
};

/// What the API server has; several replicas see the same.
struct Cluster {
  std::optional<service::StoredIdentities> secret;
  int version = 0;
  std::string trusted;  // in both configurations
  int trust_writes = 0;
  std::optional<admission::CardRange> cards;
};

class FakeWebhookApi final : public service::WebhookPort {
 public:
  explicit FakeWebhookApi(Cluster& cluster) : cluster_(cluster) {}

  base::Result<std::optional<service::StoredIdentities>> read_identities() override {
    if (down) return base::fail(base::ErrorCode::kUnavailable, "the API server is away");
    if (secret_is_unreadable) return base::fail(base::ErrorCode::kInvalid, "no rights");
    const auto read = cluster_.secret;
    if (before_write) std::exchange(before_write, {})();
    return read;
  }
  base::Result<service::StoredIdentities> write_identities(
      const admission::WebhookIdentities& identities,
      const service::StoredIdentities* over) override {
    const std::string expected = cluster_.secret ? cluster_.secret->version : "none";
    if (expected != (over == nullptr ? "none" : over->version))
      return base::fail(base::ErrorCode::kConflict, "it was written");
    cluster_.secret = {identities, std::to_string(++cluster_.version)};
    return *cluster_.secret;
  }
  base::Result<bool> publish(std::string_view authorities) override {
    if (refuses_trust) return base::fail(base::ErrorCode::kInvalid, "no rights");
    if (cluster_.trusted == authorities) return true;
    cluster_.trusted = authorities;
    ++cluster_.trust_writes;
    return false;
  }
  base::Result<std::optional<admission::CardRange>> read_cards() override {
    if (down) return base::fail(base::ErrorCode::kUnavailable, "the API server is away");
    return cluster_.cards;
  }

  bool down = false;
  bool secret_is_unreadable = false;
  bool refuses_trust = false;
  std::function<void()> before_write;  // called once, after the next read

 private:
  Cluster& cluster_;
};

/// Certificates are texts that say when they are valid.
class FakeMaker final : public service::CertificateMaker {
 public:
  base::Result<admission::ServerIdentity> make(const admission::Validity& validity) override {
    const std::string name = "c" + std::to_string(++made);
    return admission::ServerIdentity{
        .authority = "[" + name + "]",
        .certificate = name,
        .key = std::to_string(validity.from.time_since_epoch().count()) + " " +
               std::to_string(validity.until.time_since_epoch().count())};
  }
  base::Result<admission::Validity> inspect(const admission::ServerIdentity& identity) override {
    const auto blank = identity.key.find(' ');
    if (blank == std::string::npos) return base::fail(base::ErrorCode::kInvalid, "no certificate");
    return admission::Validity{
        admission::WallTime{seconds{std::stoll(identity.key)}},
        admission::WallTime{seconds{std::stoll(identity.key.substr(blank + 1))}}};
  }
  int made = 0;
};

/// What was last said of the webhook.
class WebhookMetrics final : public NoMetrics {
 public:
  void webhook_checked(bool healthy, std::optional<std::chrono::sys_seconds> valid_until) override {
    is_healthy = healthy;
    ends = valid_until;
  }
  std::optional<bool> is_healthy;
  std::optional<std::chrono::sys_seconds> ends;
};

class WebhookKeeperTest : public ::testing::Test {
 protected:
  struct Replica {
    explicit Replica(WebhookKeeperTest& test)
        : api(test.cluster_),
          keeper({api, test.maker_, admission, metrics, log, test.clock_, test.wall_},
                 test.limits_) {}
    [[nodiscard]] std::string serves() const {
      return keeper.serving() == nullptr ? "nothing" : keeper.serving()->certificate;
    }
    FakeWebhookApi api;
    WebhookMetrics metrics;
    service::AdmissionService admission{{}, {}, metrics, {}};
    FakeLog log;
    service::WebhookKeeper keeper;
  };

  /// One poll of both replicas, `later` after the last one.
  void poll(milliseconds later = milliseconds{2'000}) {
    clock_.advance(later);
    wall_.time += std::chrono::ceil<seconds>(later);
    first_.keeper.tick();
    second_.keeper.tick();
  }
  std::string served() const { return first_.serves() + " " + second_.serves(); }

  Cluster cluster_;
  FakeMaker maker_;
  base::ManualClock clock_;
  ManualWallClock wall_;
  base::Limits limits_;
  Replica first_{*this};
  Replica second_{*this};
};

TEST_F(WebhookKeeperTest, TheFirstReplicaMakesACertificateAndTheOthersReadIt) {
  EXPECT_EQ(served(), "nothing nothing");
  poll();
  EXPECT_EQ(served(), "c1 c1");
  EXPECT_EQ(cluster_.trusted, "[c1]");
  EXPECT_EQ(cluster_.trust_writes, 1);
  for (int i = 0; i < 10; ++i) poll();
  EXPECT_EQ(maker_.made, 1);
  EXPECT_EQ(cluster_.version, 1);
  EXPECT_EQ(cluster_.trust_writes, 1);
}

TEST_F(WebhookKeeperTest, NothingIsReadBetweenTwoPolls) {
  poll();
  cluster_.secret.reset();
  poll(milliseconds{1'999});
  EXPECT_FALSE(cluster_.secret);
  poll(milliseconds{1});
  EXPECT_TRUE(cluster_.secret);
}

TEST_F(WebhookKeeperTest, OfTwoThatWriteAtTheSameTimeOneWins) {
  first_.api.before_write = [&] { second_.keeper.tick(); };
  clock_.advance(seconds{2});
  first_.keeper.tick();
  EXPECT_EQ(served(), "nothing c1") << "c2 was not written";
  poll();
  EXPECT_EQ(served(), "c1 c1");
  EXPECT_EQ(cluster_.version, 1);
}

TEST_F(WebhookKeeperTest, ACertificateIsReplacedInStepsThatOverlap) {
  poll();
  wall_.time += days{246};
  poll();
  EXPECT_EQ(served(), "c1 c1");
  EXPECT_EQ(cluster_.trusted, "[c1][c2]") << "before it is used";
  poll(milliseconds{limits_.webhook_overlap_ms - 1});
  EXPECT_EQ(served(), "c1 c1");
  poll();
  EXPECT_EQ(served(), "c2 c2");
  EXPECT_EQ(cluster_.trusted, "[c2][c1]");
  poll(milliseconds{limits_.webhook_overlap_ms - 1});
  EXPECT_EQ(cluster_.trusted, "[c2][c1]");
  poll();
  EXPECT_EQ(served(), "c2 c2");
  EXPECT_EQ(cluster_.trusted, "[c2]");
  EXPECT_EQ(maker_.made, 2);
}

TEST_F(WebhookKeeperTest, WithoutTheApiServersTrustTheNextCertificateIsNotUsed) {
  poll();
  wall_.time += days{246};
  first_.api.refuses_trust = second_.api.refuses_trust = true;
  for (int i = 0; i < 10; ++i) poll(milliseconds{limits_.webhook_overlap_ms});
  EXPECT_EQ(served(), "c1 c1");
  EXPECT_EQ(cluster_.trusted, "[c1]");
  first_.api.refuses_trust = second_.api.refuses_trust = false;
  poll();
  EXPECT_EQ(served(), "c1 c1") << "the overlap begins now";
  poll(milliseconds{limits_.webhook_overlap_ms});
  EXPECT_EQ(served(), "c2 c2");
}

TEST_F(WebhookKeeperTest, TrustThatSomebodyTakesAwayIsGivenBackAndTheOverlapBeginsAgain) {
  const auto poll_first = [&](milliseconds later) {
    clock_.advance(later);
    first_.keeper.tick();
  };
  poll_first(seconds{2});
  wall_.time += days{246};
  poll_first(seconds{2});
  cluster_.trusted = "[c1]";
  const milliseconds overlap{limits_.webhook_overlap_ms};
  poll_first(overlap - seconds{1});
  EXPECT_EQ(cluster_.trusted, "[c1][c2]");
  poll_first(overlap - seconds{1});
  EXPECT_EQ(first_.serves(), "c1");
  poll_first(seconds{2});
  EXPECT_EQ(first_.serves(), "c2");
}

TEST_F(WebhookKeeperTest, ASecretThatCannotBeUsedIsReplaced) {
  poll();
  cluster_.secret->identities.serving.key = "nonsense";
  poll();
  EXPECT_EQ(served(), "c2 c2");
  EXPECT_EQ(cluster_.trusted, "[c2]");
  const auto times_said = [&] {
    return std::ranges::count(first_.log.lines(),
                              "webhook: the certificate in the Secret snug-webhook could not be "
                              "used and was replaced: no certificate");
  };
  EXPECT_EQ(times_said(), 1);
  wall_.time += days{366};
  poll();
  EXPECT_EQ(served(), "c3 c3");
  EXPECT_EQ(times_said(), 1) << "one that has expired could be used";
}

TEST_F(WebhookKeeperTest, WithoutTheApiServerAllStaysAndTheLogSaysItOnce) {
  cluster_.cards = {.smallest = {1}, .largest = {2}};
  poll();
  first_.api.down = true;
  for (int i = 0; i < 5; ++i) poll();
  EXPECT_EQ(served(), "c1 c1");
  int warnings = 0;
  for (const std::string& line : first_.log.lines()) {
    warnings += line.find("cannot be read: the API server is away") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(warnings, 2) << "the Secret and the parameters";
}

TEST_F(WebhookKeeperTest, WithoutTheSecretTheTrustInTheServedCertificateIsKept) {
  poll();
  first_.api.secret_is_unreadable = second_.api.secret_is_unreadable = true;
  cluster_.trusted.clear();
  poll();
  EXPECT_EQ(cluster_.trusted, "[c1]");
  EXPECT_EQ(served(), "c1 c1");
  EXPECT_EQ(first_.metrics.is_healthy, false);
}

TEST_F(WebhookKeeperTest, TheMetricsSayWhetherTheApiServerTrustsTheCertificate) {
  first_.api.down = true;
  poll();
  EXPECT_EQ(first_.metrics.is_healthy, false);
  EXPECT_EQ(first_.metrics.ends, std::nullopt);
  EXPECT_EQ(second_.metrics.is_healthy, true);
  const auto made = wall_.time;
  EXPECT_EQ(second_.metrics.ends, made + seconds{limits_.webhook_certificate_s});
  first_.api.down = false;
  poll();
  EXPECT_EQ(first_.metrics.is_healthy, true);
  EXPECT_EQ(first_.metrics.ends, second_.metrics.ends);
  first_.api.refuses_trust = true;
  poll();
  EXPECT_EQ(first_.metrics.is_healthy, false);
}

}  // namespace
}  // namespace snug::testing::webhook_keeper_test
