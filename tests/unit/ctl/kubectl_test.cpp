#include "ctl/kubectl.hpp"

#include <gtest/gtest.h>

namespace snug::kubectl_test {
namespace {

std::string described(const std::vector<ctl::SnugPod>& pods) {
  std::string text;
  for (const ctl::SnugPod& pod : pods)
    text += pod.name + " " + pod.uid + " " + pod.port + (pod.has_tls ? " TLS" : "") +
            (pod.is_ready ? " ready; " : "; ");
  return text;
}

TEST(KubectlTest, ReadyPodsComeFirstAndEndingOnesNot) {
  struct Row {
    const char* what;
    const char* output;
    const char* pods;
  };
  const Row rows[] = {
      {"none", "", ""},
      {"one", "a\tu1\t8889\tTrue\t\n", "a u1 8889 ready; "},
      {"no port of this name", "a\tu1\t\tTrue\t\n", "a u1 8889 ready; "},
      {"another port", "a\tu1\t9000\tTrue\t\n", "a u1 9000 ready; "},
      {"not ready", "a\tu1\t8889\tFalse\t\nb\tu2\t8889\tTrue\t\n", "b u2 8889 ready; a u1 8889; "},
      {"no condition yet", "a\tu1\t\t\t\n", "a u1 8889; "},
      {"ending", "a\tu1\t8889\tTrue\t2026-11-27T00:00:00Z\nb\tu2\t8889\tTrue\t\n",
       "b u2 8889 ready; "},
      {"over TLS", "a\tu1\t8889\tTrue\t\tHTTPS\n", "a u1 8889 TLS ready; "},
      {"without TLS", "a\tu1\t8889\tTrue\t\tHTTP\n", "a u1 8889 ready; "},
      {"ending, over TLS", "a\tu1\t8889\tTrue\t2026-11-27T00:00:00Z\tHTTPS\n", ""},
      {"no such line", "a\nhello world\n", ""},
  };
  for (const Row& row : rows)
    EXPECT_EQ(described(ctl::read_pod_lines(row.output)), row.pods) << row.what;
}

TEST(KubectlTest, ThePortIsThatOfTheForwarding) {
  struct Row {
    const char* line;
    std::optional<int> port;
  };
  const Row rows[] = {
      {"Forwarding from 127.0.0.1:41873 -> 8889", 41873},
      {"Forwarding from [::1]:41873 -> 8889", std::nullopt},
      {"Forwarding from 127.0.0.1:0 -> 8889", std::nullopt},
      {"Forwarding from 127.0.0.1:70000 -> 8889", std::nullopt},
      {"Forwarding from 127.0.0.1:x -> 8889", std::nullopt},
      {"Handling connection for 41873", std::nullopt},
      {"", std::nullopt},
  };
  for (const Row& row : rows) EXPECT_EQ(ctl::forwarded_port(row.line), row.port) << row.line;
}

TEST(KubectlTest, AComplaintIsWithoutTheHeaderOfTheLog) {
  struct Row {
    const char* line;
    const char* complaint;
  };
  const Row rows[] = {
      {"error: lost connection to pod", "error: lost connection to pod"},
      {"E1127 01:38:38.123456   17669 portforward.go:424] \"Unhandled Error\" err=\"refused\"",
       "\"Unhandled Error\" err=\"refused\""},
      {"E1127 without a place", "E1127 without a place"},
      {"Error] 1", "Error] 1"},
      {"E", "E"},
      {"", ""},
  };
  for (const Row& row : rows) EXPECT_EQ(ctl::complaint_text(row.line), row.complaint);
}

}  // namespace
}  // namespace snug::kubectl_test
