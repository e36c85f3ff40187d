#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "adapters/kube/credentials.hpp"
#include "integration/kube_support.hpp"

namespace snug::kube_credentials_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;

std::string kubeconfig(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: here\npreferences: {}\n"
         "contexts:\n- name: there\n  context: {cluster: other, user: other}\n"
         "- name: here\n  context: {cluster: c, user: u, namespace: default}\n"
         "clusters:\n- name: c\n  cluster: " +
         cluster + "\nusers:\n- name: u\n  user: " + user + "\n";
}

TEST(KubeconfigTest, ServersAreReadAsUrls) {
  struct Row {
    const char* server;
    bool tls;
    const char* host;
    int port;
    const char* path;
  };
  const Row rows[] = {
      {"https://10.0.0.1:6443", true, "10.0.0.1", 6443, ""},
      {"https://api.example.com", true, "api.example.com", 443, ""},
      {"http://localhost:8080/", false, "localhost", 8080, ""},
      {"http://localhost", false, "localhost", 80, ""},
      {"https://[fd00::1]:6443", true, "fd00::1", 6443, ""},
      {"https://[::1]", true, "::1", 443, ""},
      {"https://rancher.example.com/k8s/clusters/c-1/", true, "rancher.example.com", 443,
       "/k8s/clusters/c-1"},
  };
  const TempFolder folder;
  for (const Row& row : rows) {
    const auto path = folder.write(
        "config", kubeconfig(std::string("{server: \"") + row.server + "\"}", "{token: secret}"));
    const auto endpoint = kube::load_kubeconfig(path, base::Limits{});
    ASSERT_TRUE(endpoint) << endpoint.error().message;
    EXPECT_EQ(endpoint->tls, row.tls) << row.server;
    EXPECT_EQ(endpoint->host, row.host);
    EXPECT_EQ(endpoint->port, row.port) << row.server;
    EXPECT_EQ(endpoint->base_path, row.path);
    EXPECT_EQ(endpoint->token.text, "secret");
    EXPECT_TRUE(endpoint->verify_server);
  }
}

TEST(KubeconfigTest, JsonIsYamlToo) {
  const TempFolder folder;
  const auto path = folder.write(
      "config",
      R"({"kind":"Config","current-context":"x","contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],)"
      R"("clusters":[{"name":"c","cluster":{"server":"https://h:1","tls-server-name":"n","insecure-skip-tls-verify":true}}],)"
      R"("users":[{"name":"u","user":{"token":"t"}}]})");
  const auto endpoint = kube::load_kubeconfig(path, base::Limits{});
  ASSERT_TRUE(endpoint) << endpoint.error().message;
  EXPECT_EQ(endpoint->host, "h");
  EXPECT_EQ(endpoint->tls_server_name, "n");
  EXPECT_FALSE(endpoint->verify_server);
}

TEST(KubeconfigTest, DataAndFilesBothWorkAndPathsAreRelativeToTheKubeconfig) {
  const TestAuthority authority("ca");
  const Pem client = authority.issue("client");
  const TempFolder folder;
  folder.write("ca.crt", authority.pem());
  folder.write("client.key", client.key);
  folder.write("client.crt", client.certificate);
  const std::string users[] = {
      "{client-certificate: client.crt, client-key: client.key}",
      "{client-certificate-data: " + encode_base64(client.certificate) +
          ", client-key-data: " + encode_base64(client.key) + "}",
      // Data win over files.
      "{client-certificate-data: " + encode_base64(client.certificate) +
          ", client-certificate: missing.crt, client-key: " + folder.path("client.key") + "}",
  };
  for (const std::string& user : users) {
    for (const std::string& ca :
         {std::string("certificate-authority: ca.crt"),
          "certificate-authority-data: " + encode_base64(authority.pem())}) {
      const auto path =
          folder.write("config", kubeconfig("{server: \"https://h\", " + ca + "}", user));
      const auto endpoint = kube::load_kubeconfig(path, base::Limits{});
      EXPECT_TRUE(endpoint) << endpoint.error().message;
    }
  }
}

TEST(KubeconfigTest, WhatCannotBeUsedIsRefusedWithOneSentence) {
  const TestAuthority authority("ca");
  const Pem client = authority.issue("client");
  const Pem other = authority.issue("other");
  const TempFolder folder;
  folder.write("client.crt", client.certificate);
  folder.write("other.key", other.key);
  folder.write("empty", "");
  folder.write("blank", " \n");
  folder.write("noise", "no pem\n");
  folder.write("two-lines", "one\ntwo");
  struct Row {
    std::string cluster;
    std::string user;
    std::string sentence;
  };
  const std::string server = "{server: \"https://h\"}";
  const Row rows[] = {
      {"{server: h}", "{token: t}", "`server` must be a URL like https://host:6443, not \"h\""},
      {"{server: \"https://h:0\"}", "{token: t}", "`server` must be a URL"},
      {"{server: \"https://h:65536\"}", "{token: t}", "`server` must be a URL"},
      {"{server: \"https://u@h\"}", "{token: t}", "`server` must be a URL"},
      {"{server: \"https://\"}", "{token: t}", "`server` must be a URL"},
      {"{server: [1]}", "{token: t}", "`server` must be a string"},
      {"{}", "{token: t}", "`server` must be a URL"},
      {"{server: \"https://h\", proxy-url: p}", "{token: t}", "`proxy-url` must be a proxy"},
      {"{server: \"https://h\", insecure-skip-tls-verify: 1}", "{token: t}", "true or false"},
      {"{server: \"https://h\", certificate-authority: noise}", "{token: t}",
       "holds no PEM certificate"},
      {"{server: \"https://h\", certificate-authority: gone}", "{token: t}", "cannot be opened"},
      {"{server: \"https://h\", certificate-authority: \"noise\\0b\"}", "{token: t}",
       "a text must not have a NUL character"},
      {server, "{tokenFile: \"noise\\0b\"}", "a text must not have a NUL character"},
      {"{server: \"https://h\", certificate-authority-data: \"*\"}", "{token: t}", "is not base64"},
      {server, "{exec: {command: aws}}", "exec plug-ins are not run"},
      {server, "{auth-provider: {name: gcp}}", "auth providers are not supported"},
      {server, "{username: a, password: b}", "passwords are not supported"},
      {server, "{as: admin, token: t}", "impersonation is not supported"},
      {server, "{tokenFile: gone}", "cannot be opened"},
      {server, "{tokenFile: empty}", "is empty"},
      {server, "{tokenFile: blank}", "blank is empty"},
      {server, "{token: \"  \"}", "the token is empty"},
      {server, "{tokenFile: two-lines}", "characters that are not allowed in a bearer token"},
      {server, "{client-certificate: client.crt}", "must be given together"},
      {server, "{client-certificate: client.crt, client-key: other.key}",
       "does not belong to the client certificate"},
      {server, "{client-certificate: client.crt, client-key: noise}",
       "not an unencrypted PEM private key"},
  };
  for (const Row& row : rows) {
    const auto path = folder.write("config", kubeconfig(row.cluster, row.user));
    const auto endpoint = kube::load_kubeconfig(path, base::Limits{});
    ASSERT_FALSE(endpoint) << row.cluster << row.user;
    EXPECT_EQ(endpoint.error().code, base::ErrorCode::kInvalid);
    EXPECT_THAT(endpoint.error().message, HasSubstr(row.sentence));
    EXPECT_THAT(endpoint.error().message, HasSubstr(folder.path("")));
  }
}

TEST(KubeconfigTest, MissingPartsAreNamed) {
  const TempFolder folder;
  struct Row {
    const char* text;
    const char* sentence;
  };
  const Row rows[] = {
      {"[]", "a kubeconfig must be a map"},
      {"{}", "`current-context` must name a context"},
      {"current-context: a", "`contexts` has no entry named `a`"},
      {"current-context: a\ncontexts: [{name: b}]", "`contexts` has no entry named `a`"},
      {"current-context: a\ncontexts: [{name: a}]", "`context` of this entry must be a map"},
      {"current-context: a\ncontexts: [{name: a, context: {cluster: c}}]",
       "`clusters` has no entry named `c`"},
      {"current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
       "clusters: [{name: c, cluster: {server: \"https://h\"}}]",
       "`users` has no entry named `u`"},
  };
  for (const Row& row : rows) {
    const auto endpoint = kube::load_kubeconfig(folder.write("config", row.text), base::Limits{});
    ASSERT_FALSE(endpoint) << row.text;
    EXPECT_THAT(endpoint.error().message, HasSubstr(row.sentence));
  }
  const auto gone = kube::load_kubeconfig(folder.path("gone"), base::Limits{});
  ASSERT_FALSE(gone);
  EXPECT_EQ(
      gone.error().message,
      "the kubeconfig " + folder.path("gone") +
          " cannot be opened: No such file or directory; give a readable kubeconfig, or, in a "
          "pod, omit it to use the pod's service account");
}

class InClusterTest : public ::testing::Test {
 protected:
  void set(const char* host, const char* port) {
    ::setenv("KUBERNETES_SERVICE_HOST", host, 1);
    ::setenv("KUBERNETES_SERVICE_PORT", port, 1);
  }
  void TearDown() override {
    ::unsetenv("KUBERNETES_SERVICE_HOST");
    ::unsetenv("KUBERNETES_SERVICE_PORT");
  }
};

TEST_F(InClusterTest, ThePodsOwnFilesAreUsed) {
  const TestAuthority authority("ca");
  const TempFolder folder;
  folder.write("token", "secret\n");
  folder.write("ca.crt", authority.pem());
  for (const char* host : {"10.96.0.1", "fd00::1"}) {
    set(host, "443");
    const auto endpoint = kube::in_cluster(base::Limits{}, "--kubeconfig FILE", folder.path(""));
    ASSERT_TRUE(endpoint) << endpoint.error().message;
    EXPECT_EQ(endpoint->host, host);
    EXPECT_EQ(endpoint->port, 443);
    EXPECT_TRUE(endpoint->tls);
    EXPECT_TRUE(endpoint->verify_server);
  }
}

TEST_F(InClusterTest, OutsideOfAPodItSaysSo) {
  const TempFolder folder;
  EXPECT_THAT(
      kube::in_cluster(base::Limits{}, "--kubeconfig FILE", folder.path("")).error().message,
      HasSubstr("this is not a pod; give --kubeconfig FILE"));
  set("10.96.0.1", "a");
  EXPECT_THAT(
      kube::in_cluster(base::Limits{}, "--kubeconfig FILE", folder.path("")).error().message,
      HasSubstr("do not give a host and port"));
  set("10.96.0.1", "443");
  EXPECT_THAT(
      kube::in_cluster(base::Limits{}, "--kubeconfig FILE", folder.path("")).error().message,
      HasSubstr("token"));
}

TEST(KubeCredentialsTest, FilesAreReadAgainWhenDueAndNotBefore) {
  Bench bench;
  const TempFolder folder;
  kube::ApiEndpoint endpoint;
  endpoint.tls = false;
  endpoint.token.path = folder.write("token", "first\n");
  kube::Credentials credentials(endpoint, bench.context());
  EXPECT_EQ(credentials.view()->token, "first");
  folder.write("token", "second");
  bench.clock.advance(std::chrono::milliseconds(bench.limits.credentials_reread_ms - 1));
  EXPECT_EQ(credentials.view()->token, "first");
  bench.clock.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(credentials.view()->token, "second");
}

TEST(KubeCredentialsTest, AFileThatCannotBeReadIsNamedWithTheReason) {
  const TempFolder folder;
  struct Row {
    std::string path;
    std::string problem;
  };
  for (const Row& row : {Row{folder.path("absent"), " cannot be opened: No such file or directory"},
                         Row{folder.path(""), " is a folder"}}) {
    kube::ApiEndpoint endpoint;
    endpoint.authorities.path = row.path;
    const auto checked = kube::check_credentials(endpoint, base::Limits{});
    ASSERT_FALSE(checked) << row.path;
    EXPECT_THAT(checked.error().message, HasSubstr(row.path + row.problem));
  }
}

TEST(KubeCredentialsTest, ARefusalReadsAtOnceAndSaysWhetherThereIsSomethingNew) {
  Bench bench;
  const TempFolder folder;
  kube::ApiEndpoint endpoint;
  endpoint.tls = false;
  endpoint.token.path = folder.write("token", "first");
  kube::Credentials credentials(endpoint, bench.context());
  const auto first = *credentials.view();
  EXPECT_FALSE(credentials.renew(first));
  folder.write("token", "second");
  EXPECT_TRUE(credentials.renew(first));
  EXPECT_TRUE(credentials.renew(first)) << "another thread was refused with the old token";
  EXPECT_FALSE(credentials.renew(*credentials.view()));
}

TEST(KubeCredentialsTest, WhatIsHalfRotatedLeavesTheLastGoodStateInForce) {
  Bench bench;
  const TestAuthority authority("ca");
  const Pem old_pair = authority.issue("old");
  const Pem new_pair = authority.issue("new");
  const TempFolder folder;
  kube::ApiEndpoint endpoint;
  endpoint.certificate.path = folder.write("crt", old_pair.certificate);
  endpoint.key.path = folder.write("key", old_pair.key);
  kube::Credentials credentials(endpoint, bench.context());
  const auto first = *credentials.view();
  const auto due = std::chrono::milliseconds(bench.limits.credentials_reread_ms);

  folder.write("crt", new_pair.certificate);
  bench.clock.advance(due);
  EXPECT_EQ(credentials.view()->tls, first.tls) << "the key is still the old one";
  EXPECT_THAT(bench.log.text.get(), HasSubstr("does not belong"));
  folder.write("key", new_pair.key);
  bench.clock.advance(due);
  const auto second = *credentials.view();
  EXPECT_NE(second.tls, first.tls);
  bench.clock.advance(due);
  EXPECT_EQ(credentials.view()->tls, second.tls) << "nothing changed, so nothing is made anew";
}

}  // namespace
}  // namespace snug::kube_credentials_test
