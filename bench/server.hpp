// Runs snug-extender in embedded mode as a process of its own, which a benchmark calls over
// loopback. On an error, these functions print a message and end the benchmark with exit code 1.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace snug_bench {

inline constexpr int kGpusPerNode = 8;

[[noreturn]] void die(const std::string& what);
[[noreturn]] void die_of_errno(const std::string& what);

/// Returns the path of snug-extender in the same build as the benchmark whose path is `self`.
[[nodiscard]] std::string extender_beside(const char* self);

[[nodiscard]] std::string node_name(int number);

/// A snug-extender process. It ends when the benchmark ends, even if the benchmark crashes.
class Server {
 public:
  /// Starts `program` with a cluster of `nodes` nodes with kGpusPerNode GPUs each.
  Server(const std::string& program, int nodes);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] int admin_port() const { return admin_port_; }
  /// Stops the process. Returns whether it drained and ended with exit code 0.
  [[nodiscard]] bool stop();

 private:
  pid_t pid_ = 0;
  int port_ = 0;
  int admin_port_ = 0;
};

/// Returns a blocking socket with TCP_NODELAY that is connected to `port` on loopback.
[[nodiscard]] int connect_to(int port);

/// Returns the bytes of a POST request with the JSON `body`.
[[nodiscard]] std::string post_text(std::string_view path, std::string_view body);

/// Sends a POST request on `fd` and returns the body of the reply.
[[nodiscard]] std::string post(int fd, std::string_view path, std::string_view body);

/// Returns the JSON of a pod `name` in the namespace `bench`, which requests a quarter of a GPU.
[[nodiscard]] std::string pod_json(const std::string& name);

}  // namespace snug_bench
