// What NVIDIA's control program is called with, and how its answers are read.
#include "snug/mps/control_commands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace snug::mps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ControlCommandsTest, TheProtocol2IsSpokenByStandardInput) {
  EXPECT_THAT(daemon_arguments(Protocol::k2, ""), ElementsAre("-f"));
  EXPECT_EQ(question(Protocol::k2), (ControlCommand{{}, "get_default_active_thread_percentage\n"}));
  EXPECT_EQ(quit_command(Protocol::k2), (ControlCommand{{}, "quit -t 5\n"}));
  EXPECT_TRUE(read_answer(Protocol::k2, "100.0\n"));
  EXPECT_FALSE(read_answer(Protocol::k2, "Unknown command\n"));
  EXPECT_FALSE(read_answer(Protocol::k2, ""));
  EXPECT_EQ(start_hint(Protocol::k2), "");
}

TEST(ControlCommandsTest, TheProtocol3IsSpokenByArguments) {
  EXPECT_THAT(daemon_arguments(Protocol::k3, "/c"), ElementsAre("-f", "-p", "3", "-m", "-a", "/c"));
  EXPECT_THAT(
      question(Protocol::k3).arguments,
      ElementsAre("-p", "3", "namespace", "list", "--format=csv,noheader", "--server=snug"));
  EXPECT_THAT(quit_command(Protocol::k3).arguments, ElementsAre("-p", "3", "-q"));
  EXPECT_THAT(command_of({NamespaceAction::kCreate, "a", {}}).arguments,
              ElementsAre("-p", "3", "namespace", "create", "a", "--server=snug"));
  EXPECT_THAT(command_of({NamespaceAction::kSetLimits, "a", {{3815}, 30}}).arguments,
              ElementsAre("-p", "3", "namespace", "set", "a", "--pinned-memory-limit=3815M",
                          "--active-thread-percentage=30", "--server=snug"));
  EXPECT_THAT(command_of({NamespaceAction::kDelete, "a", {}}).arguments,
              ElementsAre("-p", "3", "namespace", "delete", "a", "--server=snug"));
  EXPECT_THAT(start_hint(Protocol::k3), HasSubstr("needs the driver 615"));
}

TEST(ControlCommandsTest, TheConfigurationHasTheServerOfTheGpuAndItsNamespaces) {
  EXPECT_EQ(write_configuration("GPU-1", {{"a", std::nullopt}, {"b", NamespaceLimits{{3815}, 30}}}),
            R"(schema_version = "1.0"

[servers.snug]
allowed_devices = "GPU-1"
uid = 0

[servers.snug.namespaces.a]

[servers.snug.namespaces.b]
pinned_memory_limit = "3815M"
active_thread_percentage = "30"
)");
}

TEST(ControlCommandsTest, OfAListTheRowsOfTheServerCount) {
  const auto names = read_answer(Protocol::k3,
                                 "default,snug,Ready,-,-,0,/run/snug/default\n"
                                 "  00000000000a , snug ,Ready,3G,30.00,0,/x\r\n"
                                 "00000000000b,other,Ready,-,-,0,/x\n"
                                 "\n"
                                 "a line of another kind\n"
                                 "--force,snug,Ready,-,-,0,/x\n"
                                 "mine,snug,Ready,-,-,0,/x\n"
                                 "00000000000c,snug");
  ASSERT_TRUE(names);
  EXPECT_THAT(*names, ElementsAre("00000000000a", "00000000000c")) << "others are not Snug's";
  EXPECT_THAT(*read_answer(Protocol::k3, "default,snug,Ready,-,-,0,/x"), IsEmpty());
}

TEST(ControlCommandsTest, WithoutItsDefaultNamespaceTheServerDoesNotRun) {
  for (const char* text : {"", "a,snug,Ready,-,-,0,/x\n", "default,other,Ready,-,-,0,/x\n",
                           "100.0\n", "No such server\n"}) {
    EXPECT_FALSE(read_answer(Protocol::k3, text)) << text;
  }
}

}  // namespace
}  // namespace snug::mps
