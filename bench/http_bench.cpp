// What kube-scheduler waits for: starts snug-extender in its embedded mode on 5,000 nodes × 8 GPUs
// and measures filter (NodeNames, shuffled) and bind over one keep-alive connection on loopback.
// Exit code 1 where a median is over its bound. How to run it: bench/README.md.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "report.hpp"

namespace {

constexpr int kGpus = 8;

struct Options {
  std::string program;
  int nodes = 5000;
  int calls = 2000;
  int filter_us = 1000;
  int bind_us = 200;
  bool record = false;
};

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "http_bench: %s\n", what.c_str());
  std::exit(1);
}

[[noreturn]] void die_of_errno(const char* what) {
  die(std::string(what) + ": " + std::strerror(errno));
}

std::string node_name(int number) {
  return "gpu-node-" + std::to_string(10000 + number) + ".local";
}

std::string write_manifest(int nodes) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("snug-bench-" + std::to_string(getpid()) + ".json");
  std::ofstream file(path);
  file << R"({"kind":"List","apiVersion":"v1","items":[)";
  for (int n = 0; n < nodes; ++n) {
    file << (n > 0 ? "," : "") << R"({"kind":"Node","metadata":{"name":")" << node_name(n)
         << R"(","annotations":{"snug.dev/inventory":"{\"version\":1,\"gpus\":[)";
    for (int g = 0; g < kGpus; ++g) {
      file << (g > 0 ? "," : "") << R"({\"index\":)" << g << R"(,\"uuid\":\"GPU-)" << n << '-' << g
           << R"(\",\"model\":\"NVIDIA-A100-SXM4-40GB\",\"memoryMiB\":40960,\"healthy\":true})";
    }
    file << R"(]}"}}})";
  }
  file << "]}";
  return path;
}

struct Server {
  pid_t pid = 0;
  int port = 0;
};

/// It ends with us, however we end.
Server start_server(const std::string& program, const std::string& manifest) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) die_of_errno("pipe");
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(pipe_ends[1], STDOUT_FILENO);
    execl(program.c_str(), program.c_str(), "--cluster", manifest.c_str(), "--listen",
          "127.0.0.1:0", "--adminListen", "127.0.0.1:0", "--logLevel", "error", nullptr);
    die_of_errno(program.c_str());
  }
  close(pipe_ends[1]);
  FILE* out = fdopen(pipe_ends[0], "r");
  char line[256] = {};
  if (std::fgets(line, sizeof line, out) == nullptr) die(program + " printed no first line");
  const char* address = std::strstr(line, "extender=");
  const char* colon = address == nullptr ? nullptr : std::strchr(address, ':');
  if (colon == nullptr) die("the first line of " + program + " names no port: " + line);
  return {pid, std::atoi(colon + 1)};
}

/// Whether it drained and ended well.
bool stop_server(const Server& server) {
  kill(server.pid, SIGTERM);
  int status = 0;
  waitpid(server.pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    die_of_errno("connect");
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

std::string post(int fd, const char* path, const std::string& body) {
  const std::string head = std::string("POST ") + path +
                           " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           "Accept-Encoding: gzip\r\nContent-Length: " +
                           std::to_string(body.size()) + "\r\n\r\n";
  const std::string message = head + body;
  for (std::size_t sent = 0; sent < message.size();) {
    const ssize_t n = write(fd, message.data() + sent, message.size() - sent);
    if (n <= 0) die_of_errno("write");
    sent += static_cast<std::size_t>(n);
  }
  std::string reply;
  std::size_t body_at = std::string::npos;
  std::size_t length = 0;
  char buffer[65536];
  while (body_at == std::string::npos || reply.size() < body_at + length) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) die_of_errno("read");
    reply.append(buffer, static_cast<std::size_t>(n));
    if (body_at == std::string::npos && reply.find("\r\n\r\n") != std::string::npos) {
      body_at = reply.find("\r\n\r\n") + 4;
      length = std::strtoul(reply.c_str() + reply.find("Content-Length: ") + 16, nullptr, 10);
    }
  }
  return reply.substr(body_at);
}

template <typename Call>
double timed(const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

std::string pod_json(const std::string& name) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"bench","uid":"uid-)" + name +
         R"(","annotations":{"gpu-fraction":"0.25"}},"spec":{"containers":[{"name":"main"}]}})";
}

std::string shuffled_names(int nodes) {
  std::vector<int> order(static_cast<std::size_t>(nodes));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(42));
  std::string names;
  for (const int n : order) names += (names.empty() ? "\"" : ",\"") + node_name(n) + '"';
  return names;
}

/// The one node of a filter reply.
std::string winner_of(const std::string& reply) {
  constexpr std::string_view kBefore = "\"NodeNames\":[\"";
  const std::size_t found = reply.find(kBefore);
  if (found == std::string::npos) die("filter named no node: " + reply.substr(0, 300));
  const std::size_t begin = found + kBefore.size();
  return reply.substr(begin, reply.find('"', begin) - begin);
}

struct Times {
  std::vector<double> filter_us;
  std::vector<double> bind_us;
};

/// One pod after the other: filter over all names, then bind to the winner.
Times measure(int fd, const Options& options) {
  const std::string names = shuffled_names(options.nodes);
  Times times;
  for (int pod = 0; pod < options.calls; ++pod) {
    const std::string name = "pod-" + std::to_string(pod);
    const std::string args =
        R"({"Pod":)" + pod_json(name) + R"(,"Nodes":null,"NodeNames":[)" + names + "]}";
    std::string reply;
    times.filter_us.push_back(timed([&] { reply = post(fd, "/filter", args); }));
    const std::string binding = R"({"PodName":")" + name +
                                R"(","PodNamespace":"bench","PodUID":"uid-)" + name +
                                R"(","Node":")" + winner_of(reply) + "\"}";
    times.bind_us.push_back(timed([&] { reply = post(fd, "/bind", binding); }));
    if (reply != R"({"Error":""})") die("bind failed: " + reply);
  }
  return times;
}

Options read_options(int argc, char** argv) {
  Options options;
  options.program = std::filesystem::path(argv[0]).parent_path().parent_path() / "snug-extender";
  CLI::App app("Latency of filter and bind; see bench/README.md", "http_bench");
  app.add_option("--extender", options.program, "the program snug-extender")->type_name("PROGRAM");
  app.add_option("--nodes", options.nodes, "nodes of 8 GPUs")->check(CLI::Range(1, 50'000));
  app.add_option("--calls", options.calls, "filter and bind calls")->check(CLI::Range(1, 100'000));
  app.add_option("--filterUs", options.filter_us, "the most that filter's median may be");
  app.add_option("--bindUs", options.bind_us, "the most that bind's median may be");
  app.add_flag("--record", options.record, "write bench/results/http.md");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  if (options.calls > options.nodes * kGpus * 4) {
    std::fprintf(stderr, "http_bench: --calls must be at most 4 for each GPU, so that all fit\n");
    std::exit(2);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const std::string manifest = write_manifest(options.nodes);
  const Server server = start_server(options.program, manifest);
  const Times times = measure(connect_to(server.port), options);
  const bool ended_well = stop_server(server);
  std::filesystem::remove(manifest);

  snug_bench::Report report(std::to_string(options.nodes) + " nodes x " + std::to_string(kGpus) +
                            " GPUs, names shuffled, one keep-alive connection");
  report.add("filter", times.filter_us, options.filter_us);
  report.add("bind", times.bind_us, options.bind_us);
  std::fputs(report.text().c_str(), stdout);
  if (options.record) report.write(SNUG_SOURCE_DIR "/bench/results/http.md", argc, argv);
  if (!ended_well) die("snug-extender did not end well after SIGTERM");
  return report.passed() ? 0 : 1;
}
