// The files by which snug-agent and snug-mps talk, as text.
#include "snug/mps/mps_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace snug::mps {
namespace {

using ::testing::IsEmpty;
using ::testing::MatchesRegex;

const std::string kFirst = "0123456789ab";
const std::string kSecond = "ba9876543210";

TEST(MpsFilesTest, ANamespaceHasANameOfItsOwnThatNvidiaAllows) {
  std::set<std::string> names;
  for (int pod = 0; pod < 1'000; ++pod) {
    for (const char* container : {"main", "mail", "a", ""}) {
      const std::string name = namespace_of("uid-" + std::to_string(pod), container);
      EXPECT_THAT(name, MatchesRegex("[0-9a-f]{12}"));
      names.insert(name);
    }
  }
  EXPECT_EQ(names.size(), 4'000U);
  EXPECT_EQ(namespace_of("uid", "main"), "a1b46129e4ee")
      << "as every version of the agent names it";
  // NVIDIA's limit of names, and that of the path of a socket in the longest --mps-root.
  EXPECT_LE(kFirst.size(), 64U);
  EXPECT_EQ(namespace_folder(kFirst), "snug/" + kFirst);
  EXPECT_LE(kMaxRootBytes + 1 + kMaxGpuNameBytes + std::string("/pipe/snug/").size() +
                kFirst.size() + std::string("/control").size(),
            107U);
}

TEST(MpsFilesTest, WhatIsWantedArrivesAsItWasWritten) {
  const Namespaces wanted{{kFirst, NamespaceLimits{{3815}, 30}}, {kSecond, std::nullopt}};
  EXPECT_EQ(write_wanted(wanted), kFirst + " 3815 30\n" + kSecond + "\n");
  EXPECT_EQ(read_wanted(write_wanted(wanted)), wanted);
  EXPECT_EQ(write_wanted({}), "");
  EXPECT_THAT(read_wanted(""), IsEmpty());
}

TEST(MpsFilesTest, WantedLinesThatAreNoNamespacesAreLeftOut) {
  std::vector<std::string> lines{"",  "x",       "../../etc/x",   "0123456789AB", "0123456789abc",
                                 " ", "default", kFirst + "\t1 1"};
  for (const char* rest : {" ", " 1", " 0 1", " 1 0", " 1 101", " 1 1 1", " -1 1", " 9999999999 1"})
    lines.push_back(kFirst + rest);
  for (const std::string& line : lines) {
    EXPECT_THAT(read_wanted(line + "\n" + kSecond),
                ::testing::ElementsAre(::testing::Pair(kSecond, std::nullopt)))
        << line;
  }
}

TEST(MpsFilesTest, NamespacesAreInTheStateOfAReadyDaemonWithTheProtocol3) {
  DaemonState state{.phase = DaemonPhase::kReady, .reason = ""};
  EXPECT_EQ(write_state(state), "ready") << "as earlier agents know it";
  state.namespaces.emplace();
  EXPECT_EQ(write_state(state), "ready\nprotocol 3");
  EXPECT_EQ(read_state(write_state(state)), state);
  *state.namespaces = {{kFirst, ""}, {kSecond, "exit status 1: no room"}};
  EXPECT_EQ(write_state(state),
            "ready\nprotocol 3\n" + kFirst + "\n" + kSecond + " exit status 1: no room");
  EXPECT_EQ(read_state(write_state(state)), state);
  state.namespaces->at(kSecond) = "a\nb" + std::string(1'000, 'x');
  EXPECT_LT(write_state(state).size(), 400U);
  EXPECT_EQ(read_state(write_state(state))->namespaces->size(), 2U);
}

TEST(MpsFilesTest, AStateThatALaterSnugMpsWritesIsNone) {
  for (const char* text : {"ready\nprotocol 4", "ready\nprotocol", "ready\n0123456789ab",
                           "ready\nprotocol 3\nGPU-1", "ready protocol 3"}) {
    EXPECT_FALSE(read_state(text)) << text;
  }
}

}  // namespace
}  // namespace snug::mps
