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
      {{"--limits", "all"}, "--limits must be one of none, mps, driver, hami-core"},
      {{"--limits", "mps"}, "--limits mps needs mps in --modes"},
      {{"--limits", "hami-core"}, "--limits hami-core needs --hami-core"},
      {{"--limits", "hami-core", "--hami-core", "/h", "--modes", "whole"},
       "--limits hami-core needs time-slicing in --modes, without mps"},
      {{"--limits", "hami-core", "--hami-core", "/h", "--modes", "time-slicing,mps"},
       "--limits hami-core needs time-slicing in --modes, without mps"},
      {{"--hami-core", "opt"}, "--hami-core must be an absolute path"},
      {{"--mps-root", "run/nvidia/mps"}, "--mps-root must be an absolute path of at most 35 bytes"},
      {{"--mps-root", "/run/mps/"}, "--mps-root must be an absolute path of at most 35 bytes"},
      {{"--mps-root", "/" + std::string(35, 'a')}, "--mps-root must be an absolute path"},
      {{"--exempt", "kube-system"}, exempt},
      {{"--exempt", "/a"}, exempt},
      {{"--exempt", "a/"}, exempt},
      {{"--exempt", "a/b/c"}, exempt},
      {{"--exempt", "a/b", "--exempt", "c"}, exempt},
      {{"--mig-idle-minutes", "-1"}, "--mig-idle-minutes must be a whole number of minutes from 0"},
      {{"--mig-idle-minutes", "525601"}, "--mig-idle-minutes must be a whole number"},
      {{"--mig-idle-minutes", "1h"}, "--mig-idle-minutes must be a whole number"},
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
  const auto options = read({"--node-name",
                             "n2",
                             "--listen",
                             "[::]:0",
                             "--modes",
                             "mps,whole",
                             "--exempt",
                             "gpu-operator/nvidia-*",
                             "--exempt",
                             "b/?",
                             "--api-timeout",
                             "1500ms",
                             "--cdi-folder",
                             "/etc/cdi",
                             "--lease-namespace",
                             "gpu",
                             "--log-format",
                             "json",
                             "--dynamic-mig",
                             "--mig-idle-minutes",
                             "90"});
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
  EXPECT_TRUE(options->dynamic_mig);
  EXPECT_EQ(options->mig_idle, std::chrono::minutes(90));
  EXPECT_FALSE(options->is_probe);
  EXPECT_FALSE(options->publish_usage);
  EXPECT_TRUE(read({"--publish-usage"})->publish_usage);
  EXPECT_FALSE(options->stop_violators);
  EXPECT_TRUE(read({"--stop-violators"})->stop_violators);
  EXPECT_EQ(options->print_and_exit, "");
}

TEST_F(AgentOptionsTest, TheEnforcerOfSharesIsNoneUnlessItIsChosen) {
  EXPECT_EQ(read({})->limits, model::ShareLimits::kNone);
  EXPECT_EQ(read({})->mps_root, "/run/nvidia/mps");
  EXPECT_EQ(read({"--limits", "driver"})->limits, model::ShareLimits::kDriver);
  const auto mps = read({"--limits", "mps", "--modes", "mps", "--mps-root", "/run/m"});
  ASSERT_TRUE(mps) << mps.error().message;
  EXPECT_EQ(mps->limits, model::ShareLimits::kMps);
  EXPECT_EQ(mps->mps_root, "/run/m");
  const auto hami = read({"--hami-core", "/opt/hami", "--limits", "hami-core"});
  ASSERT_TRUE(hami) << hami.error().message;
  EXPECT_EQ(hami->limits, model::ShareLimits::kHamiCore);
  EXPECT_EQ(hami->hami_core, "/opt/hami");
}

TEST_F(AgentOptionsTest, TheNodesNameIsRequiredExceptOfTheProbe) {
  EXPECT_EQ(read({})->node, "n1");
  EXPECT_FALSE(read({})->dynamic_mig);
  EXPECT_EQ(read({})->mig_idle.count(), 0);
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
  EXPECT_THAT(help->print_and_exit, HasSubstr("--dynamic-mig"));
  EXPECT_THAT(help->print_and_exit, HasSubstr("--mig-idle-minutes MINUTES"));
  EXPECT_THAT(help->print_and_exit, HasSubstr("--limits none|mps|driver|hami-core"));
}

}  // namespace
}  // namespace snug::agent_options_test
