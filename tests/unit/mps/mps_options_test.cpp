#include "snug/config/mps_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace snug::config {
namespace {

using ::testing::HasSubstr;

base::Result<MpsOptions> read(std::vector<const char*> flags) {
  flags.insert(flags.begin(), "snug-mps");
  return read_mps_options(static_cast<int>(flags.size()), flags.data());
}

TEST(MpsOptionsTest, TheDefaultsAreThoseOfTheHelp) {
  const auto options = read({});
  ASSERT_TRUE(options);
  const std::string help = read({"--help"})->print_and_exit;
  for (const std::string& value :
       {options->root, options->driver_root,
        options->listen.host + ":" + std::to_string(options->listen.port),
        std::to_string(options->shared_memory_mib)}) {
    EXPECT_THAT(help, HasSubstr("default: " + value));
  }
}

TEST(MpsOptionsTest, EachFlagSetsItsValue) {
  const auto options =
      read({"--root=/run/other", "--driver-root=/host", "--control-program=/opt/control",
            "--shared-memory-mib=64", "--protocol=3", "--listen=127.0.0.1:0", "--log-format=json"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->root, "/run/other");
  EXPECT_EQ(options->driver_root, "/host");
  EXPECT_EQ(options->control_program, "/opt/control");
  EXPECT_EQ(options->shared_memory_mib, 64);
  EXPECT_EQ(options->protocol, mps::Protocol::k3);
  EXPECT_EQ(options->listen.host, "127.0.0.1");
  EXPECT_EQ(options->log.format, obs::LogFormat::kJson);
}

TEST(MpsOptionsTest, AnErrorNamesTheFlagAndSaysWhatIsAllowed) {
  const std::string long_root = "--root=/" + std::string(35, 'a');
  const std::pair<std::string, std::string> rows[] = {
      {"--root=run", "--root must be an absolute path of at most 35 bytes"},
      {"--root=/", "--root must be an absolute path"},
      {"--root=/run/", "--root must be an absolute path"},
      {long_root, "--root must be an absolute path of at most 35 bytes"},
      {"--root=", "--root must not be empty"},
      {"--driver-root=host", "--driver-root must be an absolute path"},
      {"--control-program=x", "--control-program must be an absolute path"},
      {"--shared-memory-mib=-1", "--shared-memory-mib must be a number from 0 to 1048576"},
      {"--shared-memory-mib=1048577", "--shared-memory-mib must be a number from 0 to 1048576"},
      {"--protocol=4", "--protocol must be 2 or 3"},
      {"--listen=x", "--listen must"},
      {"--unknown", "--unknown"},
  };
  for (const auto& [flag, message] : rows) {
    const auto options = read({flag.c_str()});
    ASSERT_FALSE(options) << flag;
    EXPECT_EQ(options.error().code, base::ErrorCode::kInvalid);
    EXPECT_THAT(options.error().message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace snug::config
