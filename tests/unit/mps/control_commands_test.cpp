// What NVIDIA's control program is called with, and how its answers are read.
#include "snug/mps/control_commands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace snug::mps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ControlCommandsTest, TheProtocol2IsSpokenByStandardInput) {
  EXPECT_THAT(daemon_arguments(Protocol::k2, ""), ElementsAre("-f"));
  EXPECT_EQ(question(Protocol::k2),
            (ControlCommand{{}, "get_default_active_thread_percentage\nget_server_list\n"}));
  EXPECT_EQ(server_question({"17", "18"}),
            (ControlCommand{{}, "get_server_status 17\nget_server_status 18\n"}));
  EXPECT_EQ(quit_command(Protocol::k2), (ControlCommand{{}, "quit -t 5\n"}));
  EXPECT_EQ(start_hint(Protocol::k2), "");
}

TEST(ControlCommandsTest, ADaemonWithTheProtocol2AnswersANumberAndThenItsServers) {
  const std::pair<std::string, std::vector<std::string>> rows[] = {
      {"100.0\n", {}},
      {"100.0", {}},
      {"100.0\n\n", {}},
      {"100.0\n10256\n", {"10256"}},
      {"50.0\n 17 \r\n18", {"17", "18"}},
      {"100.0\nUnknown command \"get_server_list\"\n", {}},
      {"100.0\n-1\n0\n1 2\n17x\n18\n", {"18"}},
  };
  for (const auto& [output, servers] : rows) {
    const auto answer = read_answer(Protocol::k2, output);
    ASSERT_TRUE(answer) << output;
    EXPECT_EQ(answer->servers, servers) << output;
    EXPECT_FALSE(answer->has_fault) << output;
  }
  for (const char* output : {"", "\n", "Unknown command\n", "Unknown command\n17\n"})
    EXPECT_FALSE(read_answer(Protocol::k2, output)) << output;
  std::string many = "100.0\n";
  for (int i = 0; i < 1'000; ++i) many += "4194304\n";
  const auto answer = read_answer(Protocol::k2, many);
  ASSERT_TRUE(answer);
  EXPECT_LE(server_question(answer->servers).input.size(), 4'096U)
      << "a pipe takes no more at once";
}

TEST(ControlCommandsTest, AServerIsFaultyIfItsStateIsAloneOnALine) {
  for (const char* output : {"FAULT\n", "FAULT", "ACTIVE\n FAULT\r\n"})
    EXPECT_TRUE(has_fault(output)) << output;
  for (const char* output :
       {"", "ACTIVE\n", "INITIALIZING\n", "Server 17 not found\n", "A server PID is required\n",
        "Unknown command \"get_server_status\"\n", "DEFAULT\n", "NO FAULT\n"}) {
    EXPECT_FALSE(has_fault(output)) << output;
  }
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
  const auto answer = read_answer(Protocol::k3,
                                  "default,snug,Ready,-,-,0,/run/snug/default\n"
                                  "  00000000000a , snug ,Ready,3G,30.00,0,/x\r\n"
                                  "00000000000b,other,Ready,-,-,0,/x\n"
                                  "\n"
                                  "a line of another kind\n"
                                  "--force,snug,Ready,-,-,0,/x\n"
                                  "mine,snug,Ready,-,-,0,/x\n"
                                  "00000000000c,snug");
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->namespaces, ElementsAre("00000000000a", "00000000000c"))
      << "others are not Snug's";
  EXPECT_THAT(answer->servers, IsEmpty());
  EXPECT_THAT(read_answer(Protocol::k3, "default,snug,Ready,-,-,0,/x")->namespaces, IsEmpty());
}

TEST(ControlCommandsTest, AListSaysWhetherTheServerIsFaulty) {
  for (const char* state : {"FAULT", "Fault", "fault"})
    EXPECT_TRUE(
        read_answer(Protocol::k3, "default,snug," + std::string(state) + ",-\n")->has_fault);
  for (const char* state : {"Ready", "", "Default", "NoFault"})
    EXPECT_FALSE(
        read_answer(Protocol::k3, "default,snug," + std::string(state) + ",-\n")->has_fault);
  EXPECT_FALSE(
      read_answer(Protocol::k3, "default,snug,Ready,-\ndefault,other,FAULT,-\n")->has_fault);
}

TEST(ControlCommandsTest, WithoutItsDefaultNamespaceTheServerDoesNotRun) {
  for (const char* text : {"", "a,snug,Ready,-,-,0,/x\n", "default,other,Ready,-,-,0,/x\n",
                           "100.0\n", "No such server\n"}) {
    EXPECT_FALSE(read_answer(Protocol::k3, text)) << text;
  }
}

}  // namespace
}  // namespace snug::mps
