// The flags of snug-agent.
#include "snug/config/agent_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace snug::agent_options_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

base::Result<config::AgentOptions> read(const std::vector<std::string>& flags) {
  std::vector<const char*> argv{"snug-agent"};
  for (const std::string& flag : flags) argv.push_back(flag.c_str());
  return config::read_agent_options(static_cast<int>(argv.size()), argv.data());
}

/// With the variable NODE_NAME of the agent's pod.
class AgentOptionsTest : public ::testing::Test {
 protected:
  AgentOptionsTest() { ::setenv("NODE_NAME", "n1", 1); }
  ~AgentOptionsTest() override { ::unsetenv("NODE_NAME"); }
};

struct RefusedRow {
  std::vector<std::string> flags;
  std::string message;  // its beginning
};

TEST_F(AgentOptionsTest, ABadValueGivesOneSentenceThatNamesTheFlagAndWhatIsAllowed) {
  const std::string modes =
      "--modes must be a comma-separated list of whole, time-slicing and mps, each at most once";
  const std::string exempt = "--exempt must be NAMESPACE/SERVICEACCOUNT";
  std::vector<RefusedRow> rows = {
      {{"--listen", "8890"}, "--listen must be HOST:PORT"},
      {{"--listen", "[::1]:65536"}, "--listen must be HOST:PORT"},
      {{"--listen", "::1:80"}, "--listen must be HOST:PORT"},
      {{"--modes", ""}, "--modes must not be empty"},
      {{"--modes", "mig"}, modes},
      {{"--modes", "none"}, modes},
      {{"--modes", "whole,"}, modes},
      {{"--modes", "mps,whole,mps"}, modes},
      {{"--exempt", "kube-system"}, exempt},
      {{"--exempt", "/a"}, exempt},
      {{"--exempt", "a/"}, exempt},
      {{"--exempt", "a/b/c"}, exempt},
      {{"--exempt", "a/b", "--exempt", "c"}, exempt},
      {{"--api-timeout", "5"}, "--api-timeout must be a duration from 1ms to 60s"},
      {{"--api-timeout", "0ms"}, "--api-timeout must be a duration"},
      {{"--api-timeout", "61s"}, "--api-timeout must be a duration"},
      {{"--log-level", "trace"}, "--log-level must be one of debug, info, warn, error"},
      {{"--log-format", "xml"}, "--log-format must be one of text, json"},
      {{"--listen"}, "--listen needs a value: HOST:PORT"},
      {{"--node-name", "a", "--node-name", "b"}, "--node-name was given 2 times"},
      {{"--nodeName", "a"}, "the flag --nodeName must be written --node-name"},
      {{"--nonsense"}, "unknown flag --nonsense; see --help"},
      {{"stray"}, "\"stray\" is an unexpected argument; see --help"},
  };
  for (const char* flag :
       {"--node-name", "--kubeconfig", "--lease-namespace", "--nri-socket", "--cdi-folder",
        "--host-root", "--dev-root", "--driver-root", "--proc-root", "--nvml-library"}) {
    rows.push_back({{flag, ""}, std::string(flag) + " must not be empty"});
  }
  for (const RefusedRow& row : rows) {
    SCOPED_TRACE(::testing::PrintToString(row.flags));
    const auto options = read(row.flags);
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().code, base::ErrorCode::kInvalid);
    EXPECT_THAT(options.error().message, StartsWith(row.message));
    EXPECT_EQ(options.error().message.find('\n'), std::string::npos);
  }
}

TEST_F(AgentOptionsTest, ValuesAreTakenOver) {
  const auto options =
      read({"--node-name", "n2", "--listen", "[::]:0", "--modes", "mps,whole", "--exempt",
            "gpu-operator/nvidia-*", "--exempt", "b/?", "--api-timeout", "1500ms", "--cdi-folder",
            "/etc/cdi", "--lease-namespace", "gpu", "--log-format", "json"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->node, "n2");
  EXPECT_EQ(options->listen.host, "::");
  EXPECT_EQ(options->listen.port, 0);
  EXPECT_THAT(options->modes, ElementsAre(model::GpuMode::kMps, model::GpuMode::kWhole));
  EXPECT_THAT(options->exempt, ElementsAre(agent::Exemption{"gpu-operator", "nvidia-*"},
                                           agent::Exemption{"b", "?"}));
  EXPECT_EQ(options->api_timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(options->cdi_folder, "/etc/cdi");
  EXPECT_EQ(options->lease_namespace, "gpu");
  EXPECT_EQ(options->log.format, obs::LogFormat::kJson);
  EXPECT_FALSE(options->is_probe);
  EXPECT_EQ(options->print_and_exit, "");
}

TEST_F(AgentOptionsTest, TheNodesNameIsRequiredExceptOfTheProbe) {
  EXPECT_EQ(read({})->node, "n1");
  ::unsetenv("NODE_NAME");
  const auto without = read({});
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().message,
            "--node-name is required where the variable NODE_NAME is not set");
  EXPECT_TRUE(read({"--probe"})->is_probe);
}

TEST_F(AgentOptionsTest, HelpAndVersionArePrinted) {
  EXPECT_THAT(read({"--version"})->print_and_exit, StartsWith("snug-agent "));
  const auto help = read({"--help"});
  EXPECT_THAT(help->print_and_exit, HasSubstr("--exempt NAMESPACE/SERVICEACCOUNT"));
  EXPECT_THAT(help->print_and_exit, HasSubstr("--probe"));
}

}  // namespace
}  // namespace snug::agent_options_test
