// What kube-scheduler waits for: starts snug-extender in its embedded mode on 5,000 nodes × 8 GPUs
// and measures filter (NodeNames, shuffled) and bind over one keep-alive connection on loopback.
// Run: build/dev/bench/http_bench [PATH-OF-snug-extender [NODES [CALLS]]]
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

namespace {

constexpr int kGpus = 8;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
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

Server start_server(const std::string& program, const std::string& manifest) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) die("pipe");
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(pipe_ends[1], STDOUT_FILENO);
    execl(program.c_str(), program.c_str(), "--cluster", manifest.c_str(), "--listen",
          "127.0.0.1:0", "--adminListen", "127.0.0.1:0", "--logLevel", "error", nullptr);
    die(program.c_str());
  }
  close(pipe_ends[1]);
  FILE* out = fdopen(pipe_ends[0], "r");
  char line[256] = {};
  if (std::fgets(line, sizeof line, out) == nullptr) die("no first line");
  const char* colon = std::strchr(std::strstr(line, "extender="), ':');
  return {pid, std::atoi(colon + 1)};
}

int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) die("connect");
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
    if (n <= 0) die("write");
    sent += static_cast<std::size_t>(n);
  }
  std::string reply;
  std::size_t body_at = std::string::npos;
  std::size_t length = 0;
  char buffer[65536];
  while (body_at == std::string::npos || reply.size() < body_at + length) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) die("read");
    reply.append(buffer, static_cast<std::size_t>(n));
    if (body_at == std::string::npos && reply.find("\r\n\r\n") != std::string::npos) {
      body_at = reply.find("\r\n\r\n") + 4;
      length = std::strtoul(reply.c_str() + reply.find("Content-Length: ") + 16, nullptr, 10);
    }
  }
  return reply.substr(body_at);
}

void print(const char* what, std::vector<double> micros) {
  std::sort(micros.begin(), micros.end());
  const auto at = [&](double part) {
    return micros[static_cast<std::size_t>(part * static_cast<double>(micros.size() - 1))];
  };
  std::printf("%-8s p50 %8.1f us   p90 %8.1f us   p99 %8.1f us   (%zu calls)\n", what, at(0.5),
              at(0.9), at(0.99), micros.size());
}

template <typename Call>
double timed(const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

std::string pod_json(int pod) {
  const std::string name = "pod-" + std::to_string(pod);
  return R"({"metadata":{"name":")" + name + R"(","namespace":"bench","uid":"uid-)" + name +
         R"(","annotations":{"gpu-fraction":"0.25"}},"spec":{"containers":[{"name":"main"}]}})";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string here = std::filesystem::path(argv[0]).parent_path().parent_path();
  const std::string program = argc > 1 ? argv[1] : here + "/snug-extender";
  const int nodes = argc > 2 ? std::atoi(argv[2]) : 5000;
  const int calls = argc > 3 ? std::atoi(argv[3]) : 2000;
  const std::string manifest = write_manifest(nodes);
  const Server server = start_server(program, manifest);
  const int fd = connect_to(server.port);

  std::vector<int> order(static_cast<std::size_t>(nodes));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(42));
  std::string names;
  for (const int n : order) names += (names.empty() ? "\"" : ",\"") + node_name(n) + '"';

  std::vector<double> filter_us;
  std::vector<double> bind_us;
  for (int pod = 0; pod < calls; ++pod) {
    const std::string args =
        R"({"Pod":)" + pod_json(pod) + R"(,"Nodes":null,"NodeNames":[)" + names + "]}";
    std::string reply;
    filter_us.push_back(timed([&] { reply = post(fd, "/filter", args); }));
    const std::size_t winner = reply.find("\"NodeNames\":[\"") + 14;
    const std::string node = reply.substr(winner, reply.find('"', winner) - winner);
    const std::string name = "pod-" + std::to_string(pod);
    const std::string binding = R"({"PodName":")" + name +
                                R"(","PodNamespace":"bench","PodUID":"uid-)" + name +
                                R"(","Node":")" + node + "\"}";
    bind_us.push_back(timed([&] { reply = post(fd, "/bind", binding); }));
    if (reply != R"({"Error":""})") {
      std::fprintf(stderr, "bind failed: %s\n", reply.c_str());
      return 1;
    }
  }
  std::printf("%d nodes x %d GPUs, one keep-alive connection\n", nodes, kGpus);
  print("filter", filter_us);
  print("bind", bind_us);
  kill(server.pid, SIGTERM);
  int status = 0;
  waitpid(server.pid, &status, 0);
  std::filesystem::remove(manifest);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}
