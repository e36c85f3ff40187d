// Snugs that share one Lease, on one clock, against a Lease store that the test can take away.
#include "snug/service/leader_elector.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "unit/service/fixture.hpp"

namespace snug::testing::leader_elector_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The API server's Leases; several Snugs see the same.
struct LeaseStore {
  std::optional<leader::Lease> lease;
  int version = 0;
};

class StoredLease final : public service::LeasePort {
 public:
  StoredLease(LeaseStore& store, const base::Clock& clock) : store_(store), clock_(clock) {}

  base::Result<std::optional<leader::Lease>> read() override {
    if (down) return base::fail(base::ErrorCode::kUnavailable, "the API server is away");
    return store_.lease;
  }
  base::Result<leader::Lease> write(const leader::LeaseRecord& record,
                                    const leader::Lease* over) override {
    if (down) return base::fail(base::ErrorCode::kUnknown, "the API server is away");
    if (over == nullptr && store_.lease) return base::fail(base::ErrorCode::kConflict, "it exists");
    if (over != nullptr && !store_.lease)
      return base::fail(base::ErrorCode::kNotFound, "it is gone");
    if (over != nullptr && over->resource_version != store_.lease->resource_version) {
      return base::fail(base::ErrorCode::kConflict, "it was written");
    }
    leader::Lease lease{record, std::to_string(++store_.version), "{}"};
    lease.record.renew_time = std::to_string(clock_.now().time_since_epoch().count());
    if (record.acquire_time.empty()) lease.record.acquire_time = lease.record.renew_time;
    store_.lease = lease;
    if (reply_lost) return base::fail(base::ErrorCode::kUnknown, "the reply was lost");
    return lease;
  }

  bool down = false;
  bool reply_lost = false;

 private:
  LeaseStore& store_;
  const base::Clock& clock_;
};

class CountingSource final : public service::ClusterSource {
 public:
  void start(service::ClusterSink&) override {}
  void relist() override { ++relists; }
  void stop() override {}
  int relists = 0;
};

struct Snug {
  Snug(LeaseStore& leases, LeaseStore* schedulers, const base::Clock& clock, std::string identity)
      : readiness(clock, limits),
        fence(clock, milliseconds(2500)),
        lease(leases, clock),
        elector(
            service::ElectorParts{lease, follow(schedulers, clock), readiness, fence, source, api,
                                  log, clock},
            service::ElectorOptions{.lease_name = "snug/snug-extender",
                                    .election = {.identity = std::move(identity)},
                                    .about = {.name_space = "snug", .name = "pod", .uid = "u"}}) {}

  service::LeasePort* follow(LeaseStore* schedulers, const base::Clock& clock) {
    if (schedulers != nullptr) scheduler_lease.emplace(*schedulers, clock);
    return scheduler_lease ? &*scheduler_lease : nullptr;
  }
  /// The lists that it asked for are in.
  void list() {
    for (const service::Resource resource : {service::Resource::kNodes, service::Resource::kPods}) {
      readiness.begin_list(resource);
      readiness.mark_listed(resource);
    }
  }
  [[nodiscard]] bool may_bind() {
    auto pass = fence.acquire(fence.term());
    if (pass) pass->answered();
    return pass.has_value();
  }

  base::Limits limits;
  service::Readiness readiness;
  service::WriteFence fence;
  StoredLease lease;
  std::optional<StoredLease> scheduler_lease;
  CountingSource source;
  ScriptedApi api;
  FakeLog log;
  service::LeaderElector elector;
};

class ElectorTest : public ::testing::Test {
 protected:
  /// The Lease as an earlier Snug released it.
  ElectorTest() { leases.lease = leader::Lease{{"", 1, "then", "then", 0}, "0", "{}"}; }

  std::unique_ptr<Snug> make(std::string identity, bool follows = false) {
    return std::make_unique<Snug>(leases, follows ? &schedulers : nullptr, clock,
                                  std::move(identity));
  }
  void scheduler_is(const std::string& holder) {
    schedulers.lease =
        leader::Lease{{holder, 15, "t", "t", 0}, std::to_string(++schedulers.version), "{}"};
  }
  /// As the watches do.
  void tell(Snug& snug) const {
    snug.elector.lease_sink().lease_changed(version_of(leases));
    snug.elector.scheduler_sink().lease_changed(version_of(schedulers));
  }
  static std::string version_of(const LeaseStore& store) {
    return store.lease ? store.lease->resource_version : "";
  }
  /// Ticks all for that long; the lists that a leader asks for come at once.
  void run(milliseconds time, std::vector<Snug*> snugs) {
    for (milliseconds passed{0}; passed < time; passed += milliseconds(50)) {
      for (Snug* snug : snugs) {
        const int relists = snug->source.relists;
        snug->elector.tick();
        if (snug->source.relists > relists) snug->list();
      }
      int deciding = 0;
      for (Snug* snug : snugs) {
        if (snug->readiness.is_ready() && snug->may_bind()) ++deciding;
      }
      ASSERT_LE(deciding, 1) << "two decide";
      clock.advance(milliseconds(50));
    }
  }

  base::ManualClock clock;
  LeaseStore leases;
  LeaseStore schedulers;
};

TEST_F(ElectorTest, AReleasedLeaseIsTakenAtOnceAndNothingIsDecidedBeforeTheList) {
  const auto snug = make("a_1");
  EXPECT_FALSE(snug->may_bind());
  snug->elector.tick();
  EXPECT_EQ(leases.lease->record.holder, "a_1");
  EXPECT_EQ(snug->source.relists, 1);
  EXPECT_FALSE(snug->readiness.is_ready());
  snug->list();
  EXPECT_TRUE(snug->readiness.is_ready());
  EXPECT_TRUE(snug->may_bind());
}

TEST_F(ElectorTest, AStandbyTakesOverAfterTheLeaseAndTheWindowAndNotBefore) {
  const auto a = make("a_1");
  const auto b = make("b_1");
  run(seconds(5), {a.get(), b.get()});
  ASSERT_TRUE(a->readiness.is_ready());
  ASSERT_FALSE(b->readiness.is_ready());
  EXPECT_EQ(b->readiness.leader(), "a_1");
  // a is killed.
  run(milliseconds(14'500), {b.get()});
  EXPECT_EQ(b->source.relists, 0);
  run(milliseconds(3'500), {b.get()});
  EXPECT_TRUE(b->readiness.is_ready());
  EXPECT_EQ(leases.lease->record.transitions, 2);
}

TEST_F(ElectorTest, ALeaderThatCannotRenewStopsBeforeItsLeaseCanBeTaken) {
  const auto a = make("a_1");
  const auto b = make("b_1");
  run(seconds(5), {a.get(), b.get()});
  const base::TimePoint cut = clock.now();
  a->lease.down = true;
  while (a->may_bind()) {
    ASSERT_NO_FATAL_FAILURE(run(milliseconds(50), {a.get(), b.get()}));
  }
  EXPECT_LE(clock.now() - cut, seconds(10) + milliseconds(50));
  run(milliseconds(50), {a.get(), b.get()});
  EXPECT_FALSE(a->readiness.is_ready());
  EXPECT_EQ(leases.lease->record.holder, "a_1") << "b must not have it yet";
  ASSERT_NO_FATAL_FAILURE(run(seconds(8), {a.get(), b.get()}));
  EXPECT_TRUE(b->readiness.is_ready());
  a->lease.down = false;
  ASSERT_NO_FATAL_FAILURE(run(seconds(30), {a.get(), b.get()}));
  EXPECT_TRUE(b->readiness.is_ready());
  EXPECT_EQ(a->readiness.leader(), "b_1");
}

TEST_F(ElectorTest, ARenewalWhoseReplyIsLostIsFoundByTheNextRead) {
  const auto a = make("a_1");
  run(seconds(1), {a.get()});
  a->lease.reply_lost = true;
  run(seconds(4), {a.get()});
  a->lease.reply_lost = false;
  run(seconds(20), {a.get()});
  EXPECT_TRUE(a->readiness.is_ready());
  EXPECT_EQ(a->source.relists, 1);
}

TEST_F(ElectorTest, ALeaderThatResignsIsFollowedAtOnce) {
  const auto a = make("a_1");
  const auto b = make("b_1");
  run(seconds(5), {a.get(), b.get()});
  a->elector.resign();
  run(milliseconds(100), {a.get(), b.get()});
  EXPECT_EQ(a->may_bind(), false);
  tell(*b);
  run(milliseconds(100), {a.get(), b.get()});
  EXPECT_TRUE(b->readiness.is_ready());
}

TEST_F(ElectorTest, TheLeaseIsNotGivenAwayWhileABindingMayBeCarriedOut) {
  const auto a = make("a_1");
  run(seconds(1), {a.get()});
  auto pass = a->fence.acquire(a->fence.term());
  a->elector.resign();
  run(seconds(4), {a.get()});
  EXPECT_EQ(leases.lease->record.holder, "a_1") << "a binding is under way";
  pass.reset();  // and is never answered
  run(milliseconds(2'400), {a.get()});
  EXPECT_EQ(leases.lease->record.holder, "a_1");
  run(milliseconds(200), {a.get()});
  EXPECT_EQ(leases.lease->record.holder, "");
}

TEST_F(ElectorTest, ALeaseThatSomebodyDeletedOrEditedIsNotTakenForReleased) {
  using Edit = std::function<void(std::optional<leader::Lease>&)>;
  const std::vector<std::pair<std::string, Edit>> rows = {
      {"deleted", [](auto& lease) { lease = std::nullopt; }},
      {"without its holder", [](auto& lease) { lease->record.holder.clear(); }},
      {"of another duration", [](auto& lease) { lease->record.duration_s = 1; }},
      {"held by nobody that lives", [](auto& lease) { lease->record.holder = "c_1"; }}};
  for (const auto& [name, edit] : rows) {
    SCOPED_TRACE(name);
    leases.lease = leader::Lease{{"", 1, "then", "then", 0}, "0", "{}"};
    const auto a = make("a_1");
    const auto b = make("b_1");
    run(seconds(5), {a.get(), b.get()});
    ASSERT_TRUE(a->readiness.is_ready());
    a->lease.down = true;  // it does not learn of the edit, and may bind for a while
    edit(leases.lease);
    if (leases.lease) leases.lease->resource_version = std::to_string(++leases.version);
    tell(*b);
    ASSERT_NO_FATAL_FAILURE(run(milliseconds(16'400), {a.get(), b.get()}));
    EXPECT_EQ(b->source.relists, 0);
    a->lease.down = false;
    ASSERT_NO_FATAL_FAILURE(run(seconds(5), {a.get(), b.get()}));
    EXPECT_NE(a->readiness.is_ready(), b->readiness.is_ready());
  }
}

TEST_F(ElectorTest, ASnugThatWaitsForEarlierBindingsReleasesNothingThatAnotherCouldTakeAtOnce) {
  const auto a = make("a_1");
  run(seconds(5), {a.get()});
  // a dies with a binding under way; its container starts again, and is told to end at once.
  const auto next = make("a_1");
  const auto b = make("b_1");
  run(milliseconds(1'000), {next.get(), b.get()});
  next->elector.resign();
  run(milliseconds(1'400), {next.get(), b.get()});
  EXPECT_EQ(leases.lease->record.holder, "a_1");
  EXPECT_EQ(b->source.relists, 0);
  ASSERT_NO_FATAL_FAILURE(run(seconds(18), {next.get(), b.get()}));
  EXPECT_TRUE(b->readiness.is_ready());
}

TEST_F(ElectorTest, OfALeaseThatCameAndWentUnseenNothingIsConcluded) {
  leases.lease = std::nullopt;
  const auto a = make("a_1");
  const auto b = make("b_1");
  run(milliseconds(50), {a.get(), b.get()});
  leases.lease = std::nullopt;
  run(milliseconds(50), {b.get()});
  b->lease.down = true;
  run(seconds(25), {a.get(), b.get()});
  ASSERT_TRUE(a->readiness.is_ready());
  leases.lease = std::nullopt;  // before a or b has a look at it
  a->lease.down = true;
  b->lease.down = false;
  ASSERT_NO_FATAL_FAILURE(run(seconds(16), {a.get(), b.get()}));
  EXPECT_EQ(b->source.relists, 0);
}

TEST_F(ElectorTest, OfThreeNobodyDecidesBeforeTheHolderOfADeletedLeaseHasStopped) {
  scheduler_is("b_sched");
  const auto a = make("a_1");
  run(seconds(5), {a.get()});
  const auto b = make("b_1", true);
  const auto c = make("c_1", true);
  run(seconds(1), {a.get(), b.get(), c.get()});
  a->lease.down = true;
  leases.lease = std::nullopt;
  const base::TimePoint deleted = clock.now();
  for (int turn = 0; clock.now() < deleted + seconds(16); ++turn) {
    scheduler_is(turn % 2 == 0 ? "c_sched" : "b_sched");
    for (Snug* snug : {b.get(), c.get()}) tell(*snug);
    ASSERT_NO_FATAL_FAILURE(run(seconds(1), {a.get(), b.get(), c.get()}));
    EXPECT_EQ(b->source.relists + c->source.relists, 0);
  }
  ASSERT_NO_FATAL_FAILURE(run(seconds(5), {a.get(), b.get(), c.get()}));
  EXPECT_NE(b->readiness.is_ready(), c->readiness.is_ready());
}

TEST_F(ElectorTest, TheSnugOfTheSchedulersHostLeadsAndMovesWithIt) {
  scheduler_is("a_sched1");
  const auto a = make("a_1", true);
  const auto b = make("b_1", true);
  run(seconds(5), {a.get(), b.get()});
  EXPECT_TRUE(a->readiness.is_ready());
  scheduler_is("b_sched2");
  tell(*a);
  tell(*b);
  ASSERT_NO_FATAL_FAILURE(run(milliseconds(100), {a.get(), b.get()}));
  tell(*b);
  ASSERT_NO_FATAL_FAILURE(run(milliseconds(100), {a.get(), b.get()}));
  EXPECT_FALSE(a->readiness.is_ready());
  EXPECT_TRUE(b->readiness.is_ready());
}

TEST_F(ElectorTest, AStandbyThatCannotReadTheLeaseIsNotWarmAndSaysWhy) {
  const auto a = make("a_1");
  a->list();
  a->lease.down = true;
  run(seconds(3), {a.get()});
  EXPECT_FALSE(a->readiness.is_warm_standby());
  EXPECT_EQ(a->readiness.why_not(),
            "this Snug is a standby, and no leader is known; the Lease: the API server is away");
  a->lease.down = false;
  run(seconds(6), {a.get()});
  EXPECT_TRUE(a->readiness.is_ready());
}

TEST_F(ElectorTest, WithoutAWordOfTheSchedulersLeaseNobodyLeadsAndItIsToldOnce) {
  const auto a = make("a_1", true);
  a->list();
  a->scheduler_lease->down = true;
  for (int second = 0; second < 60; ++second) {
    run(seconds(1), {a.get()});
    ASSERT_FALSE(a->readiness.is_warm_standby()) << "at second " << second;
  }
  EXPECT_EQ(leases.lease->record.holder, "");
  EXPECT_EQ(a->log.lines().size(), 1U);
  a->scheduler_lease->down = false;
  run(seconds(3), {a.get()});
  EXPECT_TRUE(a->readiness.is_ready());
}

TEST_F(ElectorTest, AStandbyNamesWhyNobodyLeads) {
  scheduler_is("c.example_1");
  const auto a = make("a_1", true);
  a->list();
  run(seconds(1), {a.get()});
  EXPECT_EQ(a->readiness.why_not(),
            "this Snug is a standby, and the active scheduler is c.example_1, which is not on this "
            "host (a)");
  leases.lease = std::nullopt;
  const auto b = make("b_1");
  b->list();
  run(seconds(1), {b.get()});
  EXPECT_EQ(
      b->readiness.why_not(),
      "this Snug is a standby, and bindings of an earlier leader, if there was one, may still "
      "be under way for 16 s");
  EXPECT_TRUE(b->readiness.is_warm_standby());
}

TEST_F(ElectorTest, BeingAskedNeverMakesALeaderAndASecondInstallationIsToldApart) {
  const auto a = make("a_1");
  const auto other = make("other_1");
  for (int second = 0; second < 40; ++second) {
    other->readiness.note_refused_call();
    ASSERT_NO_FATAL_FAILURE(run(seconds(1), {a.get(), other.get()}));
  }
  EXPECT_TRUE(a->readiness.is_ready());
  EXPECT_FALSE(other->readiness.is_ready());
  EXPECT_TRUE(other->readiness.is_in_conflict());
  EXPECT_FALSE(other->readiness.is_warm_standby());
  ASSERT_EQ(other->api.notices.size(), 1U);
  EXPECT_EQ(other->api.notices[0].reason, "AnotherSnugDecides");
  EXPECT_THAT(other->api.notices[0].note, ::testing::HasSubstr("Snug a_1 holds the Lease"));
  // The first installation is removed.
  a->elector.resign();
  run(seconds(10), {a.get(), other.get()});
  EXPECT_TRUE(other->readiness.is_ready());
  EXPECT_FALSE(other->readiness.is_in_conflict());
}

TEST_F(ElectorTest, AStandbyThatIsNotCalledOrNowAndThenIsNoConflict) {
  const auto a = make("a_1");
  const auto b = make("b_1");
  run(seconds(120), {a.get(), b.get()});
  EXPECT_FALSE(b->readiness.is_in_conflict());
  for (int call = 0; call < 10; ++call) {
    b->readiness.note_refused_call();
    run(seconds(16), {a.get(), b.get()});
    EXPECT_FALSE(b->readiness.is_in_conflict());
  }
  EXPECT_TRUE(b->api.notices.empty());
}

TEST_F(ElectorTest, AConflictEndsWhenTheCallsDoAndIsToldOnce) {
  const auto a = make("a_1");
  const auto b = make("b_1");
  for (int round = 0; round < 2; ++round) {
    for (int second = 0; second < 40; ++second) {
      b->readiness.note_refused_call();
      run(seconds(1), {a.get(), b.get()});
    }
    EXPECT_TRUE(b->readiness.is_in_conflict());
    run(seconds(20), {a.get(), b.get()});
    EXPECT_FALSE(b->readiness.is_in_conflict());
  }
  EXPECT_EQ(b->api.notices.size(), 1U);
}

}  // namespace
}  // namespace snug::testing::leader_elector_test
