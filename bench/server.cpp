#include "server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace snug_bench {
namespace {

std::string write_manifest(int nodes) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("snug-bench-" + std::to_string(getpid()) + ".json");
  std::ofstream file(path);
  file << R"({"kind":"List","apiVersion":"v1","items":[)";
  for (int n = 0; n < nodes; ++n) {
    file << (n > 0 ? "," : "") << R"({"kind":"Node","metadata":{"name":")" << node_name(n)
         << R"(","annotations":{"snug.dev/inventory":"{\"version\":1,\"gpus\":[)";
    for (int g = 0; g < kGpusPerNode; ++g) {
      file << (g > 0 ? "," : "") << R"({\"index\":)" << g << R"(,\"uuid\":\"GPU-)" << n << '-' << g
           << R"(\",\"model\":\"NVIDIA-A100-SXM4-40GB\",\"memoryMiB\":40960,\"healthy\":true})";
    }
    file << R"(]}"}}})";
  }
  file << "]}";
  return path;
}

/// Returns the port after `key=HOST:` in `line`, the first output line of snug-extender.
int port_in(const std::string& line, const char* key) {
  const std::size_t found = line.find(key);
  const std::size_t colon = found == std::string::npos ? found : line.find(':', found);
  if (colon == std::string::npos) die("the first line of snug-extender names no port: " + line);
  return std::atoi(line.c_str() + colon + 1);
}

}  // namespace

void die(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  std::exit(1);
}

void die_of_errno(const std::string& what) { die(what + ": " + std::strerror(errno)); }

std::string extender_beside(const char* self) {
  return std::filesystem::path(self).parent_path().parent_path() / "snug-extender";
}

std::string node_name(int number) {
  return "gpu-node-" + std::to_string(10000 + number) + ".local";
}

Server::Server(const std::string& program, int nodes) {
  const std::string manifest = write_manifest(nodes);
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) die_of_errno("pipe");
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(pipe_ends[1], STDOUT_FILENO);
    execl(program.c_str(), program.c_str(), "--cluster", manifest.c_str(), "--listen",
          "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-level", "error", nullptr);
    die_of_errno(program);
  }
  close(pipe_ends[1]);
  FILE* out = fdopen(pipe_ends[0], "r");
  char line[256] = {};
  const bool started = std::fgets(line, sizeof line, out) != nullptr;
  std::filesystem::remove(manifest);
  if (!started) die(program + " printed no first line");
  port_ = port_in(line, "extender=");
  admin_port_ = port_in(line, "admin=");
}

bool Server::stop() {
  kill(pid_, SIGTERM);
  int status = 0;
  waitpid(pid_, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
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

std::string post_text(std::string_view path, std::string_view body) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Accept-Encoding: gzip\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

std::string post(int fd, std::string_view path, std::string_view body) {
  const std::string message = post_text(path, body);
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

std::string pod_json(const std::string& name) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"bench","uid":"uid-)" + name +
         R"(","annotations":{"gpu-fraction":"0.25"}},"spec":{"containers":[{"name":"main"}]}})";
}

}  // namespace snug_bench
