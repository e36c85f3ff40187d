// Measures what a bind costs in this process: processor time, latency and binds per second of
// KubeApi. A server in another process reads each request and answers 201 without parsing the body.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "snug/adapters/kube/kube_api.hpp"
#include "snug/base/clock.hpp"
#include "support/fake_ports.hpp"

namespace snug_bench {
namespace {

using namespace snug;  // NOLINT(google-build-using-namespace)
using Real = std::chrono::steady_clock;

constexpr std::string_view kReply =
    "HTTP/1.1 201 Created\r\nAudit-Id: 6d7d3a4e-5f5b-4a6f-9f3d-9a1f4f5f2b11\r\n"
    "Cache-Control: no-cache, private\r\nContent-Type: application/json\r\n"
    "X-Kubernetes-Pf-Flowschema-Uid: 5b8b3c1e-2a58-4f9b-8f0b-0b4b7b2e2f6a\r\n"
    "X-Kubernetes-Pf-Prioritylevel-Uid: 0c6d6f5e-7d0a-4a47-9a6b-1f3e5d7c9b2a\r\n"
    "Date: Wed, 25 Nov 2026 03:00:00 GMT\r\nContent-Length: 74\r\n\r\n"
    R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","c":1})";

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// Returns a TLS context with a new key and a self-signed certificate.
std::shared_ptr<SSL_CTX> server_context() {
  const std::shared_ptr<EVP_PKEY> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const std::shared_ptr<X509> certificate(X509_new(), &X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (SSL_CTX_use_certificate(context.get(), certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1) {
    give_up("the server's certificate");
  }
  return context;
}

/// Answers the requests on a connection until the client closes it.
void serve_connection(int socket, SSL_CTX* context) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const std::shared_ptr<SSL> ssl(context == nullptr ? nullptr : SSL_new(context), &SSL_free);
  if (ssl != nullptr && (SSL_set_fd(ssl.get(), socket) != 1 || SSL_accept(ssl.get()) != 1)) return;
  std::string text;
  std::array<char, 16'384> buffer{};
  while (true) {
    const auto size = static_cast<int>(buffer.size());
    const ssize_t got = ssl != nullptr ? SSL_read(ssl.get(), buffer.data(), size)
                                       : ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    const std::size_t head = text.find("\r\n\r\n");
    const std::size_t length = text.find("ontent-Length: ");
    if (head == std::string::npos || length == std::string::npos) continue;
    if (text.size() < head + 4 + std::stoul(text.substr(length + 15, 8))) continue;
    text.clear();
    const auto reply = static_cast<int>(kReply.size());
    const ssize_t sent = ssl != nullptr ? SSL_write(ssl.get(), kReply.data(), reply)
                                        : ::send(socket, kReply.data(), kReply.size(), 0);
    if (sent != reply) break;
  }
  ::close(socket);
}

/// The server. It runs in a process of its own, so that its processor time is not counted.
class Server {
 public:
  explicit Server(bool tls) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener, plain, size) != 0 || ::listen(listener, 128) != 0 ||
        ::getsockname(listener, plain, &size) != 0) {
      give_up("the server's port");
    }
    port_ = ntohs(address.sin_port);
    process_ = ::fork();
    if (process_ < 0) give_up("fork");
    if (process_ == 0) serve(listener, tls);
    ::close(listener);
  }
  ~Server() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  [[noreturn]] static void serve(int listener, bool tls) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::signal(SIGPIPE, SIG_IGN);
    const std::shared_ptr<SSL_CTX> context = tls ? server_context() : nullptr;
    while (true) {
      const int client = ::accept(listener, nullptr, nullptr);
      if (client < 0) give_up("accept");
      std::thread([client, context] { serve_connection(client, context.get()); }).detach();
    }
  }

  std::uint16_t port_ = 0;
  pid_t process_ = -1;
};

class StderrLog final : public service::Log {
 public:
  [[nodiscard]] bool is_enabled(service::LogLevel level) const override {
    return level > service::LogLevel::kDebug;
  }
  void write_line(service::LogLevel, std::string_view message,
                  std::span<const service::LogField>) override {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
  }
};

double cpu_us() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto us = [](const timeval& time) {
    return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
  };
  return us(used.ru_utime) + us(used.ru_stime);
}

struct Shape {
  bool tls;
  int threads;
  int binds;  // binds of each thread
};

std::vector<double> bind_many(kube::KubeApi& api, int binds) {
  const model::Binding binding{"default",
                               "train-5f6d8c9b7-x2x9k",
                               "6d7d3a4e-5f5b-4a6f-9f3d-9a1f4f5f2b11",
                               "gpu-node-017",
                               {{"snug.dev/reservation", std::string(400, 'r')}}};
  std::vector<double> micros;
  micros.reserve(static_cast<std::size_t>(binds));
  for (int i = 0; i < binds; ++i) {
    const auto began = Real::now();
    if (const auto bound = api.bind(binding); !bound) {
      std::fprintf(stderr, "a bind failed: %s\n", bound.error().message.c_str());
      std::exit(1);
    }
    micros.push_back(std::chrono::duration<double, std::micro>(Real::now() - began).count());
  }
  return micros;
}

void measure(const Shape& shape) {
  const Server server(shape.tls);
  kube::ApiEndpoint endpoint;
  endpoint.tls = shape.tls;
  endpoint.host = "127.0.0.1";
  endpoint.port = server.port();
  endpoint.verify_server = false;
  const base::Limits limits;
  NoMetrics metrics;
  StderrLog log;
  base::SteadyClock clock;
  kube::KubeOptions options;
  options.api_timeout = std::chrono::seconds(10);
  kube::KubeApi api(endpoint, options, {limits, metrics, log, clock});
  bind_many(api, shape.binds / 10);

  std::vector<std::vector<double>> all(static_cast<std::size_t>(shape.threads));
  const double cpu = cpu_us();
  const auto began = Real::now();
  {
    std::vector<std::jthread> threads;
    for (auto& micros : all) {
      threads.emplace_back([&] { micros = bind_many(api, shape.binds); });
    }
  }
  const double seconds = std::chrono::duration<double>(Real::now() - began).count();
  std::vector<double> micros;
  for (const auto& part : all) micros.insert(micros.end(), part.begin(), part.end());
  std::ranges::sort(micros);
  const auto count = static_cast<double>(micros.size());
  std::printf(
      "%-5s %3d threads  %6.1f us of processor time per bind  p50 %6.1f us  p99 %7.1f us  "
      "%7.0f binds/s\n",
      shape.tls ? "TLS" : "plain", shape.threads, (cpu_us() - cpu) / count,
      micros[micros.size() / 2], micros[micros.size() * 99 / 100], count / seconds);
}

}  // namespace
}  // namespace snug_bench

int main(int argc, char** argv) {
  CLI::App app{"Measures what a bind costs: processor time, latency and binds per second."};
  int binds = 10'000;
  int rounds = 3;
  app.add_option("--binds", binds, "binds of each thread")->check(CLI::Range(100, 1'000'000));
  app.add_option("--rounds", rounds, "how often each shape is measured")->check(CLI::Range(1, 100));
  CLI11_PARSE(app, argc, argv);
  for (int round = 0; round < rounds; ++round) {
    for (const bool tls : {false, true}) {
      for (const int threads : {1, 8}) snug_bench::measure({tls, threads, binds});
    }
  }
  return 0;
}
