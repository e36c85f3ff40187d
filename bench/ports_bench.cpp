// Measures whether slow clients delay other clients. Starts snug-extender in embedded mode and
// opens many connections to each of its ports. Each of these connections sends or reads one byte at
// a time, with pauses, and is opened again as soon as the server closes it. At the same time, calls
// /livez and a filter over a few nodes, each on a new connection. Exit code 1 if one of these calls
// exceeds its bound. bench/README.md says how to run it.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "report.hpp"
#include "server.hpp"

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kNodes = 100;
constexpr int kFewNodes = 5;
/// A call without a reply after this time has failed; it counts with this time.
constexpr milliseconds kPatience{5'000};

struct Options {
  std::string program;
  int seconds = 60;
  int connections = 200;
  int byte_ms = 1'500;
  int every_ms = 100;
  int most_ms = 1'000;
  bool mixed = false;
  bool record = false;
};

std::string few_nodes_body() {
  std::string names;
  for (int n = 0; n < kFewNodes; ++n) {
    names += (n == 0 ? "\"" : ",\"") + snug_bench::node_name(n) + '"';
  }
  return R"({"Pod":)" + snug_bench::pod_json("few") + R"(,"NodeNames":[)" + names + "]}";
}

/// How a slow client behaves. It sends `first` at once. Then it sends one byte at a time, or, if
/// `reads`, reads the replies one byte at a time.
struct Manner {
  std::string first;
  bool reads = false;
};

std::string times(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

Manner slow_head() { return {.first = "GET /livez HTTP/1.1\r\nHost: slow\r\nX-Slow: "}; }

/// The slow clients of the admin port: some send heads slowly; others slowly read replies that fill
/// all socket buffers.
std::vector<Manner> admin_manners(bool mixed) {
  if (!mixed) return {slow_head()};
  const std::string nodes = "GET /v1/nodes HTTP/1.1\r\nHost: slow\r\n\r\n";
  const std::string livez = "GET /livez HTTP/1.1\r\nHost: slow\r\n\r\n";
  return {slow_head(), {}, {times(nodes, 100), true}, {times(livez, 500), true}};
}

/// The slow clients of the extender port: they send heads or bodies slowly, or read replies slowly.
std::vector<Manner> extender_manners(bool mixed) {
  if (!mixed) return {slow_head()};
  const std::string post =
      "POST /filter HTTP/1.1\r\nHost: slow\r\nContent-Type: application/json\r\n";
  return {slow_head(),
          {},
          {post + "Content-Length: 10000\r\n\r\n{"},
          {post + "Content-Length: 60000000\r\n\r\n{"},
          {times(snug_bench::post_text("/filter", few_nodes_body()), 500), true}};
}

/// A client with one slow connection, which begin() opens again.
class SlowClient {
 public:
  SlowClient(int port, Manner manner) : port_(port), manner_(std::move(manner)) {}
  ~SlowClient() { end(); }
  SlowClient(SlowClient&& other) noexcept
      : port_(other.port_),
        manner_(std::move(other.manner_)),
        fd_(std::exchange(other.fd_, -1)),
        next_(other.next_) {}
  SlowClient& operator=(SlowClient&&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool due() const { return steady_clock::now() >= next_; }

  void begin(milliseconds after) {
    end();
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0) snug_bench::die_of_errno("socket");
    const int little = 4'096;
    if (manner_.reads) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // A failure of this non-blocking connect shows later, as if the server had closed the
    // connection.
    [[maybe_unused]] const int going =
        ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::send(fd_, manner_.first.data(), manner_.first.size(), MSG_NOSIGNAL);
    next_ = steady_clock::now() + after;
  }

  /// Sends or reads the next byte. Returns false if the server has closed the connection.
  [[nodiscard]] bool go_on(milliseconds after) {
    next_ = steady_clock::now() + after;
    char byte = 'x';
    if (!manner_.reads) {
      return ::send(fd_, &byte, 1, MSG_NOSIGNAL) == 1 || errno == EAGAIN;
    }
    const ssize_t got = ::recv(fd_, &byte, 1, 0);
    return got > 0 || (got < 0 && errno == EAGAIN);
  }

  /// Whether the server has closed the connection. A client that reads slowly does not read here.
  [[nodiscard]] bool ended() const {
    std::array<char, 4'096> said{};
    const ssize_t got =
        ::recv(fd_, said.data(), manner_.reads ? 1 : said.size(), manner_.reads ? MSG_PEEK : 0);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  }

 private:
  void end() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  int port_;
  Manner manner_;
  int fd_ = -1;
  steady_clock::time_point next_;
};

/// Runs the slow clients until `stop` is set. Returns how many connections were opened again.
long attack(const Options& options, const snug_bench::Server& server,
            const std::atomic<bool>& stop) {
  const milliseconds each{options.byte_ms};
  std::vector<SlowClient> clients;
  const auto add = [&](int port, const std::vector<Manner>& manners) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(options.connections); ++i) {
      clients.emplace_back(port, manners[i % manners.size()]);
      clients.back().begin(each);
    }
  };
  add(server.admin_port(), admin_manners(options.mixed));
  add(server.port(), extender_manners(options.mixed));
  long reopened = 0;
  std::vector<pollfd> fds;
  while (!stop) {
    fds.clear();
    for (const SlowClient& client : clients) fds.push_back({client.fd(), POLLRDHUP, 0});
    constexpr int kTickMs = 10;
    ::poll(fds.data(), fds.size(), kTickMs);
    for (std::size_t i = 0; i < clients.size(); ++i) {
      const bool gone = (fds[i].revents != 0 && clients[i].ended()) ||
                        (fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
      if (!gone && (!clients[i].due() || clients[i].go_on(each))) continue;
      ++reopened;
      clients[i].begin(each);
    }
  }
  return reopened;
}

/// Sends one request on a new connection. Returns the microseconds until its reply has arrived.
double ask(int port, const std::string& request) {
  const auto start = steady_clock::now();
  const auto elapsed = [&] { return steady_clock::now() - start; };
  const int fd = snug_bench::connect_to(port);
  std::string reply;
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
      static_cast<ssize_t>(request.size())) {
    std::array<char, 4'096> buffer{};
    pollfd readable{fd, POLLIN, 0};
    while (elapsed() < kPatience && reply.find("\r\n\r\n") == std::string::npos) {
      const auto left = std::chrono::ceil<milliseconds>(kPatience - elapsed());
      if (::poll(&readable, 1, static_cast<int>(left.count())) <= 0) break;
      const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      reply.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }
  ::close(fd);
  using Micros = std::chrono::duration<double, std::micro>;
  return reply.starts_with("HTTP/1.1 200") ? Micros(elapsed()).count() : Micros(kPatience).count();
}

std::vector<double> ask_often(int port, const std::string& request, const Options& options) {
  std::vector<double> micros;
  const auto end = steady_clock::now() + std::chrono::seconds(options.seconds);
  while (micros.empty() || steady_clock::now() < end) {
    micros.push_back(ask(port, request));
    std::this_thread::sleep_for(milliseconds(options.every_ms));
  }
  return micros;
}

Options read_options(int argc, char** argv) {
  Options options;
  options.program = snug_bench::extender_beside(argv[0]);
  CLI::App app("Probes and filters while slow clients hold connections; see bench/README.md",
               "ports_bench");
  app.add_option("--extender", options.program, "the program snug-extender")->type_name("PROGRAM");
  app.add_option("--seconds", options.seconds, "how long")->check(CLI::Range(0, 86'400));
  app.add_option("--connections", options.connections, "slow connections to each port")
      ->check(CLI::Range(0, 10'000));
  app.add_option("--byte-ms", options.byte_ms, "time between two bytes of each")
      ->check(CLI::Range(1, 60'000));
  app.add_option("--every-ms", options.every_ms, "time between two probes, and two filters")
      ->check(CLI::Range(0, 60'000));
  app.add_option("--most-ms", options.most_ms, "the most that the worst may be");
  app.add_flag("--mixed", options.mixed,
               "slow bodies, slow readers of replies and silent connections too, not heads alone");
  app.add_flag("--record", options.record, "write bench/results/ports.md, or ports-mixed.md");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  snug_bench::Server server(options.program, kNodes);
  std::atomic<bool> stop{false};
  long reopened = 0;
  std::thread attacker([&] { reopened = attack(options, server, stop); });
  std::vector<double> filters;
  std::thread scheduler([&] {
    const std::string filter = snug_bench::post_text("/filter", few_nodes_body());
    filters = ask_often(server.port(), filter, options);
  });
  const std::vector<double> probes =
      ask_often(server.admin_port(),
                "GET /livez HTTP/1.1\r\nHost: kubelet\r\nConnection: close\r\n\r\n", options);
  scheduler.join();
  stop = true;
  attacker.join();
  const bool ended_well = server.stop();

  snug_bench::Report report(
      std::to_string(options.connections) + " slow connections to each port (" +
          (options.mixed ? "heads, bodies, readers of replies, silent ones" : "heads") +
          ", a byte each " + std::to_string(options.byte_ms) + " ms) for " +
          std::to_string(options.seconds) + " s, reopened " + std::to_string(reopened) + " times",
      snug_bench::Judged::kWorst);
  report.add("GET /livez", probes, options.most_ms * 1000);
  report.add("filter of " + std::to_string(kFewNodes) + " nodes", filters, options.most_ms * 1000);
  std::fputs(report.text().c_str(), stdout);
  if (options.record) {
    report.write(options.mixed ? SNUG_SOURCE_DIR "/bench/results/ports-mixed.md"
                               : SNUG_SOURCE_DIR "/bench/results/ports.md",
                 "Probes and filters beside slow clients", argv);
  }
  if (!ended_well) snug_bench::die("snug-extender did not end well after SIGTERM");
  return report.passed() ? 0 : 1;
}
