// TLS on the extender port: client certificates, and certificates that change while it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <string>

#include "integration/http_client.hpp"
#include "integration/http_fixture.hpp"
#include "integration/kube_support.hpp"

namespace snug::testing::http_tls_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class HttpTlsTest : public ::testing::Test {
 protected:
  http::TlsFiles files(const TestAuthority& issuer, bool ask_clients) {
    put(issuer.issue("snug", "IP:127.0.0.1"));
    return {.cert = folder_.path("tls.crt"),
            .key = folder_.path("tls.key"),
            .client_ca = ask_clients ? folder_.write("ca.crt", clients_.pem()) : "",
            .client_names = {}};
  }
  void put(const Pem& pem) {
    folder_.write("tls.crt", pem.certificate);
    folder_.write("tls.key", pem.key);
  }

  /// The status of a bind over TLS by a client that trusts `servers`; 0: no connection.
  int call(int port, const TestAuthority& servers, const Pem* own = nullptr) {
    const std::string name = std::to_string(++clients_made_);
    const std::string cert = own == nullptr ? "" : folder_.write("c" + name, own->certificate);
    const std::string key = own == nullptr ? "" : folder_.write("k" + name, own->key);
    httplib::SSLClient client("127.0.0.1", port, cert, key);
    client.set_ca_cert_path(folder_.write("s" + name, servers.pem()).c_str());
    client.enable_server_certificate_verification(true);
    const auto result = client.Post("/bind", kGoodBind, "application/json");
    return result ? result->status : 0;
  }

  TempFolder folder_;
  TestAuthority servers_{"servers"};
  TestAuthority others_{"others"};
  TestAuthority clients_{"clients"};
  int clients_made_ = 0;
  Watched<std::string> problems_;
  std::function<void(std::string_view)> note_ = [this](std::string_view text) {
    problems_.change([&](std::string& all) { all.append(text); });
  };
};

TEST_F(HttpTlsTest, RequestsComeOverTls) {
  ServedSnug served{{}, {.tls = files(servers_, false)}};
  EXPECT_EQ(call(served.port(), servers_), 200);
  EXPECT_EQ(call(served.port(), others_), 0) << "the client checks the server";
}

TEST_F(HttpTlsTest, LargeBodiesGoBothWaysOverTls) {
  ServedSnug served{{}, {.tls = files(servers_, false)}};
  std::string body =
      R"({"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u"}},"NodeNames":["n")";
  for (int i = 0; i < 50'000 - 1; ++i) body += ",\"node-" + std::to_string(i) + '"';
  body += "]}";
  httplib::SSLClient client("127.0.0.1", served.port());
  client.enable_server_certificate_verification(false);
  client.set_keep_alive(true);
  for (int i = 0; i < 3; ++i) {
    const auto result = client.Post("/filter", body, "application/json");
    ASSERT_TRUE(result);
    EXPECT_THAT(result->body, HasSubstr(R"("node-49998"])"));
  }
}

TEST_F(HttpTlsTest, WithAClientAuthorityOnlyItsClientsAreServed) {
  ServedSnug served{{}, {.tls = files(servers_, true)}};
  const Pem scheduler = clients_.issue("kube-scheduler");
  const Pem stranger = others_.issue("kube-scheduler");
  EXPECT_EQ(call(served.port(), servers_, &scheduler), 200);
  EXPECT_EQ(call(served.port(), servers_, &stranger), 0);
  EXPECT_EQ(call(served.port(), servers_), 0);
  EXPECT_EQ(served.understood, 1);
}

TEST_F(HttpTlsTest, OnlyClientsWithAnAllowedNameAreServed) {
  http::TlsFiles limited = files(servers_, true);
  limited.client_names = {"kube-scheduler", "backup.example"};
  ServedSnug served{{}, {.tls = limited}};
  struct Row {
    const char* common_name;
    const char* names;
    int status;
  };
  const Row rows[] = {{"kube-scheduler", "", 200},
                      {"anybody", "DNS:backup.example", 200},
                      {"anybody", "DNS:kube-scheduler,DNS:other", 200},
                      {"kube-schedule", "", 0},
                      {"KUBE-SCHEDULER", "", 0},
                      {"anybody", "DNS:Backup.Example", 0},
                      {"kube-scheduler2", "", 0},
                      {"anybody", "DNS:*.example", 0},
                      {"anybody", "IP:127.0.0.1", 0}};
  for (const Row& row : rows) {
    const Pem client = clients_.issue(row.common_name, row.names);
    EXPECT_EQ(call(served.port(), servers_, &client), row.status)
        << row.common_name << " " << row.names;
  }
  const Pem stranger = others_.issue("kube-scheduler");
  EXPECT_EQ(call(served.port(), servers_, &stranger), 0);
}

TEST_F(HttpTlsTest, PlainHttpIsNotAnswered) {
  ServedSnug served{{}, {.tls = files(servers_, false)}};
  HttpClient client{served.port()};
  client.post("/bind", kGoodBind);
  EXPECT_FALSE(client.receive());
  EXPECT_EQ(served.understood, 0);
}

TEST_F(HttpTlsTest, AChangedCertificateIsServedToTheNextConnection) {
  ServedSnug served{{}, {.tls = files(servers_, false), .on_problem = note_}};
  EXPECT_EQ(call(served.port(), servers_), 200);
  put(others_.issue("snug", "IP:127.0.0.1"));
  EXPECT_EQ(call(served.port(), others_), 200);
  EXPECT_EQ(call(served.port(), servers_), 0);
  EXPECT_EQ(problems_.get(), "");
}

TEST_F(HttpTlsTest, AChangeThatCannotBeReadKeepsTheLastGoodCertificate) {
  ServedSnug served{{}, {.tls = files(servers_, false), .on_problem = note_}};
  folder_.write("tls.crt", "no certificate");
  EXPECT_EQ(call(served.port(), servers_), 200);
  EXPECT_THAT(problems_.get(), HasSubstr("cannot read the certificate"));
  put(others_.issue("snug", "IP:127.0.0.1"));
  EXPECT_EQ(call(served.port(), others_), 200);
}

TEST_F(HttpTlsTest, FilesThatCannotBeUsedAreNamedAtStartWithTheReason) {
  const http::TlsFiles good = files(servers_, true);
  const std::string absent = folder_.path("absent");
  const std::string folder = folder_.path("");
  const std::string foreign = folder_.write("foreign", others_.issue("x").key);
  const std::string text = folder_.write("text", "no PEM at all");
  struct Row {
    http::TlsFiles files;
    std::string problem;
  };
  const Row rows[] = {
      {{absent, good.key, ""}, "the certificate " + absent + ": No such file or directory"},
      {{good.cert, absent, ""}, "the key " + absent + ": No such file or directory"},
      {{good.cert, good.key, absent}, "the client CA " + absent + ": No such file or directory"},
      {{folder, good.key, ""}, "the certificate " + folder + ": is a folder"},
      {{good.cert, folder, ""}, "the key " + folder + ": is a folder"},
      {{good.cert, good.key, folder}, "the client CA " + folder + ": is a folder"},
      {{good.cert, foreign, ""}, "the key " + foreign + ": key values mismatch"},
      {{text, good.key, ""}, "the certificate " + text + ": no start line"},
  };
  for (const Row& row : rows) {
    http::ExtenderServer server{{}, {.tls = row.files}, {}};
    const auto started = server.start();
    ASSERT_FALSE(started) << row.problem;
    EXPECT_THAT(started.error().message, EndsWith(row.problem));
  }
}

}  // namespace
}  // namespace snug::testing::http_tls_test
