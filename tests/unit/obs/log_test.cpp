#include "snug/adapters/obs/log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

namespace snug::log_test {
namespace {

TEST(LogTest, ATextLineHasTimeLevelAndMessage) {
  std::ostringstream stream;
  obs::SpdlogLog log({service::LogLevel::kInfo, obs::LogFormat::kText}, stream);
  log.write(service::LogLevel::kWarn, "node n1: {} %v closed");
  EXPECT_TRUE(std::regex_match(
      stream.str(),
      std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z warning node n1: \{\} %v closed\n)")))
      << stream.str();
}

TEST(LogTest, AMessageCannotForgeALine) {
  std::ostringstream stream;
  obs::SpdlogLog log({service::LogLevel::kInfo, obs::LogFormat::kText}, stream);
  log.write(service::LogLevel::kInfo, "pod \"evil\n2026 error all is lost\r\x1B[31m\"");
  const std::string text = stream.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_NE(text.find("pod \"evil\\n2026 error all is lost??[31m\""), std::string::npos);
}

TEST(LogTest, AJsonLineIsJsonWhateverTheMessageHolds) {
  for (const std::string& message :
       {std::string("plain"), std::string("pod \"evil\n\\\","), std::string("bad \xFF utf-8"),
        std::string("nul \0 inside", 12), std::string("{} %v")}) {
    std::ostringstream stream;
    obs::SpdlogLog log({service::LogLevel::kInfo, obs::LogFormat::kJson}, stream);
    log.write(service::LogLevel::kError, message);
    const std::string text = stream.str();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    const auto json = nlohmann::json::parse(text, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << text;
    EXPECT_EQ(json["level"], "error");
    EXPECT_EQ(json["time"].get<std::string>().size(), 24U);
    if (message.find('\xFF') == std::string::npos) {
      EXPECT_EQ(json["message"], message);
    }
  }
}

TEST(LogTest, LowerLevelsAreNotWritten) {
  std::ostringstream stream;
  obs::SpdlogLog log({service::LogLevel::kWarn, obs::LogFormat::kText}, stream);
  log.write(service::LogLevel::kDebug, "a");
  log.write(service::LogLevel::kInfo, "b");
  EXPECT_EQ(stream.str(), "");
  log.write(service::LogLevel::kWarn, "c");
  log.write(service::LogLevel::kError, "d");
  EXPECT_NE(stream.str().find("warning c\n"), std::string::npos);
  EXPECT_NE(stream.str().find("error d\n"), std::string::npos);
}

}  // namespace
}  // namespace snug::log_test
