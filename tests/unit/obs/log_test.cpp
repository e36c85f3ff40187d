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
    EXPECT_EQ(json["ts"].get<std::string>().size(), 24U);
    if (message.find('\xFF') == std::string::npos) {
      EXPECT_EQ(json["msg"], message);
    }
  }
}

TEST(LogTest, FieldsFollowTheMessage) {
  struct Row {
    service::LogField field;
    std::string text;
    std::string json;
  };
  const Row rows[] = {
      {{"pod", "train-0"}, " pod=train-0", R"("train-0")"},
      {{"reason", ""}, " reason=\"\"", R"("")"},
      {{"reason", "a b"}, " reason=\"a b\"", R"("a b")"},
      {{"reason", "a=\"b\nc"}, " reason=\"a=\\\"b\\nc\"", R"("a=\"b\nc")"},
      {{"reason", "x\n\x1B"}, " reason=x\\n?", "\"x\\n\\u001b\""},
      {{"nodes", std::int64_t{-3}}, " nodes=-3", "-3"},
      {{"duration_ms", std::chrono::microseconds(184)}, " duration_ms=0.184", "0.184"},
      {{"duration_ms", std::chrono::microseconds(12'034)}, " duration_ms=12.034", "12.034"},
  };
  for (const Row& row : rows) {
    std::ostringstream text;
    obs::SpdlogLog text_log({service::LogLevel::kInfo, obs::LogFormat::kText}, text);
    text_log.write(service::LogLevel::kInfo, "decided", {row.field, {"node", "n1"}});
    EXPECT_TRUE(text.str().ends_with(" info decided" + row.text + " node=n1\n")) << text.str();
    std::ostringstream stream;
    obs::SpdlogLog log({service::LogLevel::kInfo, obs::LogFormat::kJson}, stream);
    log.write(service::LogLevel::kInfo, "decided", {row.field, {"node", "n1"}});
    const auto json = nlohmann::json::parse(stream.str());
    EXPECT_EQ(json["msg"], "decided");
    EXPECT_EQ(json[std::string(row.field.key)], nlohmann::json::parse(row.json));
    EXPECT_EQ(json["node"], "n1");
    EXPECT_EQ(json.size(), 5U) << stream.str();
  }
}

TEST(LogTest, LowerLevelsAreNotWritten) {
  std::ostringstream stream;
  obs::SpdlogLog log({service::LogLevel::kWarn, obs::LogFormat::kText}, stream);
  log.write(service::LogLevel::kDebug, "a");
  log.write(service::LogLevel::kInfo, "b");
  EXPECT_EQ(stream.str(), "");
  EXPECT_FALSE(log.is_enabled(service::LogLevel::kInfo));
  EXPECT_TRUE(log.is_enabled(service::LogLevel::kWarn));
  log.write(service::LogLevel::kWarn, "c");
  log.write(service::LogLevel::kError, "d");
  EXPECT_NE(stream.str().find("warning c\n"), std::string::npos);
  EXPECT_NE(stream.str().find("error d\n"), std::string::npos);
}

}  // namespace
}  // namespace snug::log_test
