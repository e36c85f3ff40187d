#include "app/policy_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "snug/adapters/obs/metrics.hpp"
#include "support/fake_ports.hpp"

namespace snug::policy_file_test {
namespace {

namespace fs = std::filesystem;

/// A good policy of one profile.
std::string policy_named(const std::string& name) {
  return "version: 1\ndefault: " + name + "\nprofiles: {" + name +
         ": {terms: [{term: spread, weight: 1}]}}\n";
}

class PolicyFileTest : public testing::Test {
 protected:
  PolicyFileTest()
      : folder_(testing::TempDir() + "snug-policy-" + std::to_string(getpid()) + "-" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::create_directories(folder_);
  }
  ~PolicyFileTest() override { fs::remove_all(folder_); }

  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  /// Opens the file and feeds the store.
  void start() {
    file_.emplace(path_, app::PolicyFile::Context{limits_, *metrics_, log_, clock_});
    base::Result<service::LoadedPolicy> first = file_->open();
    ASSERT_TRUE(first.has_value()) << first.error().message;
    store_.emplace(*first);
    file_->attach_store(*store_, [this] { ++changes_; });
  }

  void poll_later() {
    clock_.advance(std::chrono::milliseconds(limits_.policy_reread_ms));
    file_->poll();
  }

  [[nodiscard]] std::string in_force() const {
    return store_->current().policy->default_profile_name;
  }

  /// The value of `snug_policy_…` in the metrics.
  [[nodiscard]] int metric(const std::string& series) const {
    const std::string text = metrics_->exposition({});
    const auto found = text.find("\nsnug_policy_" + series + " ");
    return found == std::string::npos ? -1 : std::stoi(text.substr(found + series.size() + 14));
  }
  [[nodiscard]] int loaded() const { return metric(R"(reloads_total{result="loaded"})"); }
  [[nodiscard]] int refused() const { return metric(R"(reloads_total{result="refused"})"); }
  [[nodiscard]] bool up_to_date() const { return metric("up_to_date") == 1; }

  std::string folder_;
  std::string path_ = folder_ + "/policy.yaml";
  base::Limits limits_;
  const std::unique_ptr<obs::PrometheusMetrics> metrics_ = obs::make_prometheus_metrics();
  FakeLog log_;
  base::ManualClock clock_;
  std::optional<app::PolicyFile> file_;
  std::optional<service::PolicyStore> store_;
  int changes_ = 0;
};

TEST_F(PolicyFileTest, AChangedFileIsReadOnceItIsDue) {
  write(policy_named("one"));
  start();
  write(policy_named("two"));
  clock_.advance(std::chrono::milliseconds(limits_.policy_reread_ms - 1));
  file_->poll();
  EXPECT_EQ(in_force(), "one");
  clock_.advance(std::chrono::milliseconds(1));
  file_->poll();
  EXPECT_EQ(in_force(), "two");
  EXPECT_EQ(store_->current().version, 2U);
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(loaded(), 1);
  EXPECT_TRUE(up_to_date());
  ASSERT_EQ(log_.entries().size(), 1U);
  EXPECT_EQ(log_.entries()[0].first, service::LogLevel::kInfo);
  EXPECT_EQ(log_.entries()[0].second, "the policy was reloaded from " + path_ +
                                          ": default two, 1 profile, 0 rules, 0 rows of podChoice, "
                                          "0 rows of sharing");
}

TEST_F(PolicyFileTest, WithoutAChangeNothingHappens) {
  write(policy_named("one"));
  start();
  for (int i = 0; i < 3; ++i) poll_later();
  write(policy_named("one"));  // another time, the same text
  for (int i = 0; i < 3; ++i) poll_later();
  EXPECT_EQ(store_->current().version, 1U);
  EXPECT_EQ(changes_, 0);
  EXPECT_EQ(loaded() + refused(), 0);
  EXPECT_TRUE(log_.entries().empty());
}

TEST_F(PolicyFileTest, ABadFileKeepsTheLastGoodPolicyAndIsToldOnce) {
  write(policy_named("one"));
  start();
  write("version: 2\n");
  for (int i = 0; i < 3; ++i) poll_later();
  EXPECT_EQ(in_force(), "one");
  EXPECT_EQ(changes_, 0);
  EXPECT_EQ(refused(), 1);
  EXPECT_FALSE(up_to_date());
  ASSERT_EQ(log_.entries().size(), 1U);
  EXPECT_EQ(log_.entries()[0].first, service::LogLevel::kError);
  EXPECT_NE(log_.entries()[0].second.find(path_ + ":1:10: version must be 1"), std::string::npos)
      << log_.entries()[0].second;

  write("version: 3\n");
  poll_later();
  EXPECT_EQ(refused(), 2);
  write(policy_named("one"));
  poll_later();
  EXPECT_EQ(loaded(), 1);
  EXPECT_TRUE(up_to_date());
  EXPECT_EQ(in_force(), "one");
}

TEST_F(PolicyFileTest, AFileThatIsAwayIsABadOne) {
  write(policy_named("one"));
  start();
  fs::remove(path_);
  for (int i = 0; i < 3; ++i) poll_later();
  EXPECT_EQ(refused(), 1);
  EXPECT_FALSE(up_to_date());
  EXPECT_EQ(in_force(), "one");
  EXPECT_NE(log_.entries().at(0).second.find("cannot be read: No such file"), std::string::npos);
  write(policy_named("two"));
  poll_later();
  EXPECT_EQ(in_force(), "two");
  EXPECT_TRUE(up_to_date());
}

TEST_F(PolicyFileTest, EachChangeOfAFileThatIsAwayIsTold) {
  write(policy_named("one"));
  start();
  fs::remove(path_);
  poll_later();
  EXPECT_EQ(refused(), 1);
  fs::create_directory(path_);
  for (int i = 0; i < 3; ++i) poll_later();
  EXPECT_EQ(refused(), 2);
  ASSERT_EQ(log_.entries().size(), 2U);
  EXPECT_NE(log_.entries()[1].second.find("is not a regular file"), std::string::npos);
  fs::remove(path_);
  for (int i = 0; i < 3; ++i) poll_later();
  EXPECT_EQ(refused(), 3);
  EXPECT_EQ(log_.entries().size(), 3U);
  EXPECT_EQ(in_force(), "one");
  write(policy_named("two"));
  poll_later();
  EXPECT_EQ(in_force(), "two");
}

// As the kubelet does: policy.yaml leads to ..data/policy.yaml, and ..data to a folder with a time
// in its name, which is swapped as a whole.
TEST_F(PolicyFileTest, AConfigMapsSwapIsSeen) {
  for (const char* name : {"one", "two"}) {
    fs::create_directories(folder_ + "/.." + name);
    std::ofstream(folder_ + "/.." + name + "/policy.yaml") << policy_named(name);
  }
  // Neither size nor time tells the two apart.
  const timespec times[2] = {{1'000, 0}, {1'000, 0}};
  for (const char* name : {"one", "two"}) {
    const std::string file = folder_ + "/.." + name + "/policy.yaml";
    ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }
  fs::create_directory_symlink("..one", folder_ + "/..data");
  fs::create_symlink("..data/policy.yaml", path_);
  start();
  poll_later();  // settles
  EXPECT_EQ(in_force(), "one");
  fs::create_directory_symlink("..two", folder_ + "/..data_tmp");
  fs::rename(folder_ + "/..data_tmp", folder_ + "/..data");
  poll_later();
  EXPECT_EQ(in_force(), "two");
}

TEST_F(PolicyFileTest, ASecondWriteInTheSameStepOfTheClockIsSeen) {
  write(policy_named("one"));
  start();
  poll_later();
  struct stat found{};
  write(policy_named("two"));
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  poll_later();
  EXPECT_EQ(in_force(), "two");
  write(policy_named("six"));  // of the same length, and now of the same time
  const timespec times[2] = {found.st_atim, found.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  poll_later();
  EXPECT_EQ(in_force(), "six");
}

TEST_F(PolicyFileTest, WhoAsksGetsAnAnswerAtOnce) {
  write(policy_named("one"));
  start();
  write(policy_named("two"));
  file_->reload();
  EXPECT_EQ(in_force(), "two");
  file_->reload();  // unchanged, and said again
  EXPECT_EQ(log_.entries().size(), 2U);
  write("[");
  file_->reload();
  file_->reload();
  EXPECT_EQ(refused(), 2);
  EXPECT_EQ(log_.entries().size(), 4U);
  poll_later();
  EXPECT_EQ(log_.entries().size(), 4U);
  EXPECT_EQ(in_force(), "two");
}

TEST_F(PolicyFileTest, WithoutAFileThereIsNoneToRead) {
  path_.clear();
  start();
  const std::string before = in_force();
  poll_later();
  EXPECT_TRUE(log_.entries().empty());
  file_->reload();
  EXPECT_EQ(in_force(), before);
  EXPECT_EQ(loaded() + refused(), 0);
  ASSERT_EQ(log_.entries().size(), 1U);
  EXPECT_NE(log_.entries()[0].second.find("there is no policy file to reload"), std::string::npos);
}

TEST_F(PolicyFileTest, WhatCameFromAPipeStays) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  std::thread writer([this] { write(policy_named("piped")); });
  start();
  writer.join();
  EXPECT_EQ(in_force(), "piped");
  for (int i = 0; i < 3; ++i) poll_later();
  EXPECT_TRUE(log_.entries().empty() && up_to_date());
  file_->reload();
  EXPECT_EQ(in_force(), "piped");
  EXPECT_NE(log_.entries().at(0).second.find("is not a regular file"), std::string::npos);
}

TEST_F(PolicyFileTest, ABadFirstPolicyIsAnError) {
  for (const std::string text : {"", "version: 1\n"}) {
    write(text);
    app::PolicyFile file(path_, {limits_, *metrics_, log_, clock_});
    const auto first = file.open();
    ASSERT_FALSE(first.has_value());
    EXPECT_EQ(first.error().code, base::ErrorCode::kInvalid);
    EXPECT_TRUE(first.error().message.starts_with(path_ + ":1:1: ")) << first.error().message;
  }
  app::PolicyFile nowhere(path_ + "-not", {limits_, *metrics_, log_, clock_});
  EXPECT_EQ(nowhere.open().error().code, base::ErrorCode::kInvalid);
}

}  // namespace
}  // namespace snug::policy_file_test
