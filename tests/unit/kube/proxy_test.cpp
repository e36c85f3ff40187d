#include "adapters/kube/proxy.hpp"

#include <gtest/gtest.h>

namespace snug::proxy_test {
namespace {

TEST(KubeProxyRulesTest, ProxiesAreReadAsUrls) {
  struct Row {
    const char* text;
    const char* proxy;  // null: refused
  };
  const Row rows[] = {
      {"http://proxy", "http://proxy:80"},
      {"http://proxy:3128/", "http://proxy:3128"},
      {"HTTPS://proxy", "https://proxy:443"},
      {"socks5://10.0.0.1", "socks5h://10.0.0.1:1080"},
      {"http://[fd00::1]:8080", "http://[fd00::1]:8080"},
      {"http://user:p%40ss@proxy:1", "http://user:p%40ss@proxy:1"},
      {"proxy:3128", nullptr},
      {"ftp://proxy", nullptr},
      {"http://", nullptr},
      {"http://proxy:0", nullptr},
      {"http://proxy:x", nullptr},
      {"http://proxy/path", nullptr},
      {"http://pro xy", nullptr},
      {"http://us er@proxy", nullptr},
      {"http://proxy\r\nX: y", nullptr},
      {"http://pr\x01xy", nullptr},
  };
  for (const Row& row : rows) {
    const auto proxy = kube::parse_proxy(row.text, "HTTPS_PROXY");
    ASSERT_EQ(proxy.has_value(), row.proxy != nullptr) << row.text;
    EXPECT_EQ(proxy.value_or(""), row.proxy == nullptr ? "" : row.proxy) << row.text;
  }
}

TEST(KubeProxyRulesTest, NoProxyIsReadAsGoReadsIt) {
  struct Row {
    const char* host;
    int port;
    const char* no_proxy;
    bool exempt;
  };
  const Row rows[] = {
      {"api.test", 6443, "", false},
      {"localhost", 6443, "", true},
      {"127.0.0.1", 6443, "", true},
      {"127.9.9.9", 6443, "", true},
      {"::1", 6443, "", true},
      {"api.test", 6443, "*", true},
      {"api.test", 6443, "other, * ", true},
      {"api.test", 6443, "api.test", true},
      {"API.test", 6443, "api.TEST", true},
      {"api.test", 6443, "test", true},
      {"api.test", 6443, ".test", true},
      {"test", 6443, ".test", false},
      {"api.test", 6443, "*.test", true},
      {"test", 6443, "*.test", false},
      {"fastest", 6443, "test", false},
      {"api.test", 6443, "pi.test", false},
      {"api.test", 6443, "api.test:6443", true},
      {"api.test", 6443, "api.test:443", false},
      {"api.test", 6443, ":6443", false},
      {"10.1.2.3", 443, "10.1.2.3", true},
      {"10.1.2.3", 443, "10.1.2.3:443", true},
      {"10.1.2.3", 443, "10.1.2.3:80", false},
      {"10.1.2.3", 443, "10.0.0.0/8", true},
      {"11.1.2.3", 443, "10.0.0.0/8", false},
      {"10.1.2.3", 443, "10.1.2.0/30", true},
      {"10.1.2.4", 443, "10.1.2.0/30", false},
      {"10.1.2.3", 443, "0.0.0.0/0", true},
      {"10.1.2.3", 443, "::/0", false},
      {"10.1.2.3", 443, "10.0.0.0/33", false},
      {"10.1.2.3", 443, "10.0.0", false},
      {"fd00::1", 443, "fd00::/8", true},
      {"fd00::1", 443, "fd00:0::1", true},
      {"fd00::1", 443, "[fd00::1]:443", true},
      {"fd00::1", 443, "[fd00::1]:80", false},
      {"api.test", 443, "10.0.0.0/8,, x ,api.test", true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(kube::is_exempt(row.host, static_cast<std::uint16_t>(row.port), row.no_proxy),
              row.exempt)
        << row.host << " " << row.no_proxy;
  }
}

TEST(KubeProxyRulesTest, TheVariableOfTheServersSchemeCounts) {
  kube::ApiEndpoint endpoint;
  endpoint.host = "api.test";
  const kube::ProxyVariables variables{.http = "http://plain:1", .https = "tls:2", .no_proxy = ""};
  EXPECT_EQ(kube::environment_proxy(endpoint, variables), "http://tls:2");
  endpoint.tls = false;
  EXPECT_EQ(kube::environment_proxy(endpoint, variables), "http://plain:1");
  EXPECT_EQ(kube::environment_proxy(endpoint, kube::ProxyVariables{}), "");
}

TEST(KubeProxyRulesTest, MessagesDoNotShowThePassword) {
  EXPECT_EQ(kube::proxy_without_password("http://user:secret@proxy:1"), "http://proxy:1");
  EXPECT_EQ(kube::proxy_without_password("http://proxy:1"), "http://proxy:1");
}

}  // namespace
}  // namespace snug::proxy_test
