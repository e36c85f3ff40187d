// The folder by which snug-agent and snug-mps talk, from both sides.
#include "snug/adapters/host/mps_folder.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "snug/adapters/host/daemon_folders.hpp"
#include "snug/base/agent_limits.hpp"

namespace snug::host {
namespace {

namespace fs = std::filesystem;
using mps::DaemonPhase;
using mps::DaemonState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const std::string kFirst = "GPU-00000000-1111-2222-3333-444444444444";
const std::string kSecond = "GPU-00000001-1111-2222-3333-444444444444";

class MpsFolderTest : public ::testing::Test {
 protected:
  ~MpsFolderTest() override { fs::remove_all(folder_); }

  std::vector<std::string> names_in(const fs::path& path) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path))
      names.push_back(entry.path().filename().string());
    return names;
  }
  mode_t mode_of(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777U;
  }

  base::Result<void> want(const std::vector<std::string>& uuids) {
    mps::WantedDaemons wanted;
    for (const std::string& uuid : uuids) wanted[uuid];
    return agent_.want_daemons(wanted);
  }
  std::vector<std::string> uuids_wanted() {
    std::vector<std::string> uuids;
    const auto seen = daemons_.wanted();
    for (const auto& [uuid, namespaces] : seen->daemons) uuids.push_back(uuid);
    return uuids;
  }

  static fs::path make_folder() {
    std::string name = (fs::temp_directory_path() / "snug-mps-XXXXXX").string();
    return ::mkdtemp(name.data());
  }

  const fs::path folder_ = make_folder();
  MpsFolder agent_{(folder_ / "root").string()};
  DaemonFolders daemons_{{.root = (folder_ / "root").string()}};
  const fs::path root_ = folder_ / "root";
};

TEST_F(MpsFolderTest, WhatTheAgentWantsIsWhatSnugMpsSees) {
  EXPECT_TRUE(want({}));
  EXPECT_FALSE(fs::exists(root_)) << "a node without MPS has no such folder";
  ASSERT_TRUE(want({kFirst, kSecond}));
  ASSERT_TRUE(daemons_.prepare());
  EXPECT_THAT(uuids_wanted(), ElementsAre(kFirst, kSecond));
  ASSERT_TRUE(want({kSecond}));
  EXPECT_THAT(uuids_wanted(), ElementsAre(kSecond));
  ASSERT_TRUE(want({}));
  EXPECT_THAT(uuids_wanted(), IsEmpty());
  EXPECT_THAT(daemons_.wanted()->problems, IsEmpty());
}

TEST_F(MpsFolderTest, TheAgentWritesNoFileWhoseNameIsNoUuid) {
  for (const std::string name : {"../x", "GPU-", "GPU-a/b", "GPU-..", "", "MIG-1", "GPU-a b"}) {
    EXPECT_EQ(want({kFirst, name}).error().code, base::ErrorCode::kInvalid) << name;
  }
  EXPECT_FALSE(fs::exists(root_));
}

TEST_F(MpsFolderTest, StatesArriveAsTheyWereWritten) {
  EXPECT_THAT(*agent_.daemon_states(), IsEmpty());
  ASSERT_TRUE(daemons_.prepare());
  const DaemonState failed{DaemonPhase::kFailed, "the MPS daemon has ended: exit status 1"};
  ASSERT_TRUE(daemons_.write_state(kFirst, failed));
  ASSERT_TRUE(daemons_.write_state(kSecond, {DaemonPhase::kReady, ""}));
  EXPECT_THAT(
      *agent_.daemon_states(),
      ElementsAre(Pair(kFirst, failed), Pair(kSecond, DaemonState{DaemonPhase::kReady, ""})));
  ASSERT_TRUE(daemons_.write_state(kSecond, {}));
  EXPECT_EQ(agent_.daemon_states()->at(kSecond).phase, DaemonPhase::kStarting);
  daemons_.remove_state(kFirst);
  EXPECT_THAT(names_in(root_ / "state"), ElementsAre(kSecond));
}

TEST_F(MpsFolderTest, AStateThatIsNotWrittenAgainCountsAsFailed) {
  ASSERT_TRUE(daemons_.prepare());
  ASSERT_TRUE(daemons_.write_state(kFirst, {DaemonPhase::kReady, ""}));
  const auto set_age = [this](std::int64_t ms) {
    const auto then = fs::file_time_type::clock::now() - std::chrono::milliseconds(ms);
    fs::last_write_time(root_ / "state" / kFirst, then);
  };
  set_age(base::agent_limits::mps_state_stale_ms / 2);
  EXPECT_EQ(agent_.daemon_states()->at(kFirst).phase, DaemonPhase::kReady);
  set_age(base::agent_limits::mps_state_stale_ms);
  EXPECT_EQ(agent_.daemon_states()->at(kFirst).phase, DaemonPhase::kFailed);
  EXPECT_THAT(agent_.daemon_states()->at(kFirst).reason,
              HasSubstr("snug-mps has not reported the MPS daemon for 30 seconds"));
}

TEST_F(MpsFolderTest, FilesThatAreNoStatesAreLeftOut) {
  ASSERT_TRUE(daemons_.prepare());
  int number = 0;
  for (const char* text : {"", "well", "ready!", "ready now", "failed", "starting 1"})
    std::ofstream(root_ / "state" / ("GPU-" + std::to_string(number++))) << text;
  fs::create_directory(root_ / "state/GPU-folder");
  std::ofstream(folder_ / "other") << "ready";
  fs::create_symlink(folder_ / "other", root_ / "state/GPU-link");
  std::ofstream(root_ / "state/GPU-large") << "failed " << std::string(100'000, 'x');
  std::ofstream(root_ / "state/.GPU-1.tmp") << "ready";
  EXPECT_THAT(*agent_.daemon_states(), IsEmpty());
}

TEST_F(MpsFolderTest, AReasonIsOneLineOfBoundedLength) {
  const std::string text =
      mps::write_state({DaemonPhase::kFailed, "a\nb" + std::string(10'000, 'x')});
  EXPECT_EQ(text.size(), std::size_t{base::agent_limits::max_mps_state_bytes});
  EXPECT_TRUE(text.starts_with("failed a bx"));
}

TEST_F(MpsFolderTest, WhatIsNoWantedFileIsIgnoredAndSaid) {
  ASSERT_TRUE(daemons_.prepare());
  const fs::path wanted = root_ / "wanted";
  std::ofstream(wanted / kFirst);
  std::ofstream(wanted / "..x");
  std::ofstream(wanted / ("GPU-" + std::string(200, 'a')));
  fs::create_directory(wanted / "GPU-folder");
  fs::create_symlink("/etc/hostname", wanted / "GPU-link");
  const auto seen = daemons_.wanted();
  ASSERT_TRUE(seen);
  EXPECT_THAT(seen->daemons, ElementsAre(Pair(kFirst, mps::Namespaces{})));
  EXPECT_THAT(seen->problems,
              UnorderedElementsAre(HasSubstr("\"..x\" is ignored: it is no uuid of a GPU"),
                                   HasSubstr("aaa...\" is ignored: it is no uuid of a GPU"),
                                   HasSubstr("\"GPU-folder\" is ignored: it is no regular file"),
                                   HasSubstr("\"GPU-link\" is ignored: it is no regular file")));
}

TEST_F(MpsFolderTest, MoreDaemonsThanAreAllowedAreNotStarted) {
  ASSERT_TRUE(daemons_.prepare());
  for (int i = 0; i < base::agent_limits::max_mps_daemons + 1; ++i)
    std::ofstream(root_ / "wanted" / ("GPU-" + std::to_string(i)));
  EXPECT_EQ(daemons_.wanted()->daemons.size(), std::size_t{base::agent_limits::max_mps_daemons});
  EXPECT_THAT(daemons_.wanted()->problems,
              ElementsAre(HasSubstr("only 64 MPS daemons are allowed")));
}

TEST_F(MpsFolderTest, HoweverMuchElseIsThereWhatTheAgentWantsIsSeen) {
  ASSERT_TRUE(daemons_.prepare());
  const fs::path wanted = root_ / "wanted";
  for (int i = 0; i < 1'000; ++i) std::ofstream(wanted / ("junk" + std::to_string(i)));
  for (int i = 0; i < 100; ++i) fs::create_directories(wanted / ("GPU-" + std::to_string(i)) / "x");
  ASSERT_TRUE(want({kFirst, kSecond}));
  const auto seen = daemons_.wanted();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->daemons.size(), 2U);
  EXPECT_EQ(seen->problems.size(), std::size_t{base::agent_limits::max_mps_problems});
}

TEST_F(MpsFolderTest, WhenNotAllCanBeSeenNothingIsTakenAsUnwanted) {
  ASSERT_TRUE(daemons_.prepare());
  const fs::path wanted = root_ / "wanted";
  for (int i = 0; i < base::agent_limits::max_mps_entries; ++i)
    std::ofstream(wanted / std::to_string(i));
  EXPECT_TRUE(daemons_.wanted());
  std::ofstream(wanted / kFirst);
  EXPECT_EQ(daemons_.wanted().error().code, base::ErrorCode::kTooLarge);
}

TEST_F(MpsFolderTest, TheAgentPutsAFileInThePlaceOfWhatIsNone) {
  const fs::path wanted = root_ / "wanted";
  fs::create_directories(wanted / kFirst);
  fs::create_symlink("/etc/hostname", wanted / kSecond);
  fs::create_directories(wanted / "GPU-other/full");
  ASSERT_TRUE(want({kFirst, kSecond}));
  EXPECT_THAT(uuids_wanted(), ElementsAre(kFirst, kSecond));
  ASSERT_TRUE(want({}));
  EXPECT_THAT(names_in(wanted), ElementsAre("GPU-other"));
}

TEST_F(MpsFolderTest, AFolderThatCannotBeReplacedKeepsNoOtherGpuFromItsDaemon) {
  const fs::path wanted = root_ / "wanted";
  fs::create_directories(wanted / kFirst / "full");
  const auto asked = want({kFirst, kSecond});
  EXPECT_THAT(asked.error().message, HasSubstr(kFirst + ": cannot be replaced: "));
  EXPECT_THAT(uuids_wanted(), ElementsAre(kSecond));
}

TEST_F(MpsFolderTest, FoldersThatWereRemovedAreMadeAgain) {
  EXPECT_TRUE(*daemons_.prepare());
  EXPECT_FALSE(*daemons_.prepare());
  for (const char* path : {"state", "shm"}) fs::remove(root_ / path);
  EXPECT_FALSE(*daemons_.prepare());
  fs::remove_all(root_);
  EXPECT_TRUE(*daemons_.prepare());
  for (const char* path : {"wanted", "state"}) EXPECT_EQ(mode_of(root_ / path), 0755U) << path;
  EXPECT_EQ(mode_of(root_ / "shm"), 01777U);
}

TEST_F(MpsFolderTest, AnUnreadableFolderOfWantedDaemonsIsAnError) {
  EXPECT_THAT(daemons_.wanted().error().message, HasSubstr("wanted: cannot be listed: "));
  std::ofstream file(root_);
  EXPECT_THAT(daemons_.prepare().error().message, HasSubstr("root: is no folder, and cannot be"));
  EXPECT_THAT(want({kFirst}).error().message, HasSubstr("/wanted"));
}

TEST_F(MpsFolderTest, TheFoldersHaveTheirModesWhateverTheUmask) {
  const mode_t before = ::umask(077);
  EXPECT_TRUE(daemons_.prepare());
  EXPECT_TRUE(daemons_.prepare_daemon(kFirst));
  EXPECT_TRUE(daemons_.write_state(kFirst, {}));
  ::umask(before);
  for (const char* path : {"", "wanted", "state"}) EXPECT_EQ(mode_of(root_ / path), 0755U) << path;
  EXPECT_EQ(mode_of(root_ / "shm"), 01777U);
  EXPECT_EQ(mode_of(root_ / kFirst), 0755U);
  EXPECT_EQ(mode_of(root_ / kFirst / "log"), 0755U);
  EXPECT_EQ(mode_of(root_ / kFirst / "pipe"), 01777U);
  EXPECT_EQ(mode_of(root_ / "state" / kFirst), 0644U);
  EXPECT_THAT(daemons_.known(), ElementsAre(kFirst));
}

TEST_F(MpsFolderTest, PipesAreRemovedAndWhatALinkLeadsToIsNot) {
  ASSERT_TRUE(daemons_.prepare_daemon(kFirst));
  const fs::path pipe = root_ / kFirst / "pipe";
  fs::create_directories(folder_ / "other");
  std::ofstream(folder_ / "other/file") << "x";
  fs::create_symlink(folder_ / "other", pipe / "link");
  fs::create_directories(pipe / "folder/inner");
  std::ofstream(pipe / "control") << "x";
  daemons_.remove_pipes(kFirst, false);
  EXPECT_TRUE(fs::is_empty(pipe));
  EXPECT_TRUE(fs::exists(folder_ / "other/file"));
}

TEST_F(MpsFolderTest, TheFoldersOfNamespacesStayForTheContainersThatHaveMountedThem) {
  ASSERT_TRUE(daemons_.prepare_daemon(kFirst));
  const fs::path pipe = root_ / kFirst / "pipe";
  fs::create_directories(pipe / "snug/0123456789ab/inner");
  fs::create_directories(folder_ / "other");
  std::ofstream(folder_ / "other/file") << "x";
  fs::create_symlink(folder_ / "other", pipe / "link");
  fs::create_symlink(folder_ / "other", pipe / "snug/link");
  fs::create_symlink(folder_ / "other", pipe / "snug/0123456789ab/link");
  for (const char* path : {"control", "snug/control", "snug/0123456789ab/control"})
    std::ofstream(pipe / path) << "x";
  ASSERT_TRUE(daemons_.prepare_daemon(kFirst));
  EXPECT_THAT(names_in(pipe), ElementsAre("snug"));
  EXPECT_THAT(names_in(pipe / "snug"), ElementsAre("0123456789ab"));
  EXPECT_TRUE(fs::is_empty(pipe / "snug/0123456789ab"));
  EXPECT_TRUE(fs::exists(folder_ / "other/file"));
  std::ofstream(pipe / "snug/0123456789ab/control") << "x";
  daemons_.remove_pipes(kFirst, true);
  EXPECT_THAT(names_in(pipe / "snug"), ElementsAre("0123456789ab"));
  EXPECT_TRUE(fs::is_empty(pipe / "snug/0123456789ab"));
  daemons_.remove_pipes(kFirst, false);
  EXPECT_TRUE(fs::is_empty(pipe));
}

TEST_F(MpsFolderTest, TheNamespacesThatTheAgentWantsAreThoseThatSnugMpsSees) {
  const mps::WantedDaemons wanted{{kFirst, {{"0123456789ab", mps::NamespaceLimits{{3815}, 30}}}},
                                  {kSecond, {}}};
  ASSERT_TRUE(agent_.want_daemons(wanted));
  EXPECT_EQ(daemons_.wanted()->daemons, wanted);
  const auto written = fs::last_write_time(root_ / "wanted" / kFirst);
  ASSERT_TRUE(agent_.want_daemons(wanted));
  EXPECT_EQ(fs::last_write_time(root_ / "wanted" / kFirst), written);
  ASSERT_TRUE(want({kFirst}));
  EXPECT_THAT(daemons_.wanted()->daemons, ElementsAre(Pair(kFirst, IsEmpty())));
  EXPECT_THAT(names_in(root_), ElementsAre("wanted"));
}

TEST_F(MpsFolderTest, OfTooManyNamespacesThoseThatExistKeepTheirPlace) {
  constexpr std::int64_t kAllowed = base::agent_limits::max_mps_namespaces;
  mps::Namespaces many;
  while (std::ssize(many) < kAllowed)
    many.emplace(mps::namespace_of(std::to_string(many.size()), ""), std::nullopt);
  const mps::Namespaces existing = many;
  ASSERT_TRUE(daemons_.prepare());
  ASSERT_TRUE(agent_.want_daemons({{kFirst, many}}));
  EXPECT_THAT(daemons_.wanted()->problems, IsEmpty());
  for (const auto& [name, limits] : existing)
    fs::create_directories(root_ / kFirst / "pipe/snug" / name);
  for (const char* name : {"000000000000", "777777777777", "ffffffffffff"})
    many.emplace(name, std::nullopt);
  ASSERT_TRUE(agent_.want_daemons({{kFirst, many}, {kSecond, many}}));
  const auto seen = daemons_.wanted();
  EXPECT_EQ(seen->daemons.at(kFirst), existing);
  EXPECT_EQ(std::ssize(seen->daemons.at(kSecond)), kAllowed);
  EXPECT_THAT(seen->problems,
              UnorderedElementsAre(HasSubstr(kFirst + ": only 128 namespaces are allowed"),
                                   HasSubstr(kSecond + ": only 128 namespaces are allowed")));
}

TEST_F(MpsFolderTest, AWantedFileThatCannotBeReadIsAProblemOfItsDaemon) {
  ASSERT_TRUE(daemons_.prepare());
  ASSERT_TRUE(want({kSecond}));
  std::ofstream(root_ / "wanted" / kFirst)
      << std::string(base::agent_limits::max_host_file_bytes + 1, '\n');
  const auto seen = daemons_.wanted();
  EXPECT_THAT(seen->daemons, ElementsAre(Pair(kFirst, IsEmpty()), Pair(kSecond, IsEmpty())));
  EXPECT_THAT(seen->unreadable, ElementsAre(kFirst));
  EXPECT_THAT(seen->problems, ElementsAre(HasSubstr(kFirst + ": has more than 65536 bytes")));
}

TEST_F(MpsFolderTest, TheConfigurationOfADaemonIsBesideItsPipes) {
  ASSERT_TRUE(daemons_.prepare_daemon(kFirst));
  const auto path = daemons_.write_configuration(kFirst, "a = 1\n");
  ASSERT_TRUE(path);
  EXPECT_EQ(*path, (root_ / kFirst / "mps.toml").string());
  std::ifstream file(*path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "a = 1\n");
}

TEST_F(MpsFolderTest, OnlyLogsThatAreTooLongAreEmptied) {
  ASSERT_TRUE(daemons_.prepare_daemon(kFirst));
  const fs::path log = root_ / kFirst / "log";
  const auto limit = static_cast<std::size_t>(base::agent_limits::max_mps_log_bytes);
  std::ofstream(log / "short") << std::string(limit, 'x');
  std::ofstream(log / "long") << std::string(limit + 1, 'x');
  std::ofstream(folder_ / "other") << std::string(limit + 1, 'x');
  fs::create_symlink(folder_ / "other", log / "link");
  ASSERT_EQ(::mkfifo((log / "fifo").c_str(), 0644), 0);
  daemons_.trim_logs(kFirst);
  EXPECT_EQ(fs::file_size(log / "short"), limit);
  EXPECT_EQ(fs::file_size(log / "long"), 0U);
  EXPECT_EQ(fs::file_size(folder_ / "other"), limit + 1);
}

TEST_F(MpsFolderTest, TheControlProgramIsSearchedBelowTheDriversRoot) {
  const std::string driver = (folder_ / "driver").string();
  fs::create_directories(driver + "/usr/bin");
  DaemonFolders daemons({.root = root_.string(), .driver_root = driver});
  EXPECT_THAT(daemons.control_program().error().message,
              HasSubstr("nvidia-cuda-mps-control is neither in /usr/bin nor in /bin below "));
  std::ofstream(driver + "/usr/bin/nvidia-cuda-mps-control");
  fs::create_symlink("usr/bin", driver + "/bin");
  const auto program = daemons.control_program();
  ASSERT_TRUE(program);
  EXPECT_THAT(program->arguments, ElementsAre("/usr/bin/nvidia-cuda-mps-control"));
  EXPECT_EQ(program->root, driver);
  EXPECT_THAT(program->binds, ElementsAre(Pair(root_.string(), driver + root_.string()),
                                          Pair("/proc", driver + "/proc"),
                                          Pair((root_ / "shm").string(), driver + "/dev/shm")));
}

TEST_F(MpsFolderTest, WithoutARootOfTheDriverOnlyAnOwnMemoryIsBound) {
  const DaemonPlaces places{.root = root_.string(), .control_program = "/opt/control"};
  const auto plain = DaemonFolders(places).control_program();
  ASSERT_TRUE(plain);
  EXPECT_THAT(plain->arguments, ElementsAre("/opt/control"));
  EXPECT_EQ(plain->root, "");
  EXPECT_THAT(plain->binds, IsEmpty());
  DaemonPlaces own_memory = places;
  own_memory.shared_memory_mib = 1;
  EXPECT_THAT(DaemonFolders(own_memory).control_program()->binds,
              ElementsAre(Pair((root_ / "shm").string(), "/dev/shm")));
}

}  // namespace
}  // namespace snug::host
