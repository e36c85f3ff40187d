#include "adapters/http/no_reply.hpp"

#include <gtest/gtest.h>

namespace snug::no_reply_test {
namespace {

using http::NoReply;

TEST(NoReplyTest, EachSentenceSaysWhyAndWhatToTry) {
  struct Row {
    NoReply why;
    const char* begin;
    const char* try_this;
  };
  const Row rows[] = {
      {NoReply::kRefused, "http://h:1 cannot be connected to: the connection was refused",
       "start snug-extender, or name its adminListen address with --server"},
      {NoReply::kUnknownHost, "http://h:1 cannot be connected to: its host name is unknown to DNS",
       "use `kubectl snug` or --context"},
      {NoReply::kUnreachable, "http://h:1 cannot be connected to: there is no route",
       "correct --server"},
      {NoReply::kTimedOut, "http://h:1 cannot be connected to: no answer within 5 s",
       "use `kubectl snug` or --context"},
      {NoReply::kClosed,
       "http://h:1 closes the connection without a reply; it may be a port with TLS",
       "name it as https://HOST:PORT"},
      {NoReply::kNotTls, "http://h:1 does not answer in TLS", "name it as http://HOST:PORT"},
      {NoReply::kUntrusted, "http://h:1 has a certificate that cannot be trusted", "--ca-file"},
      {NoReply::kBadAuthority, "http://h:1 cannot be asked", "--ca-file"},
      {NoReply::kNotHttp, "http://h:1 does not answer in HTTP; it may be a port with TLS",
       "name it as https://HOST:PORT"},
      {NoReply::kSilent, "http://h:1 accepts the connection, but sends nothing for 30 s",
       "look at the log of snug-extender"},
      {NoReply::kOther, "http://h:1 does not answer (bad luck)", ""},
  };
  for (const Row& row : rows) {
    const std::string sentence = http::no_reply_sentence(row.why, "http://h:1", "bad luck");
    EXPECT_TRUE(sentence.starts_with(row.begin)) << sentence;
    EXPECT_NE(sentence.find(row.try_this), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace snug::no_reply_test
