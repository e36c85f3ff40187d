// The program snug-extender in its embedded mode, as a process of its own that a bench talks to
// over loopback. What cannot be done ends the bench with a sentence and exit code 1.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace snug_bench {

inline constexpr int kGpusPerNode = 8;

[[noreturn]] void die(const std::string& what);
[[noreturn]] void die_of_errno(const std::string& what);

/// The snug-extender of the build that this bench, started as `self`, is of.
[[nodiscard]] std::string extender_beside(const char* self);

[[nodiscard]] std::string node_name(int number);

/// Ends with the bench, however that ends.
class Server {
 public:
  /// A cluster of so many nodes with kGpusPerNode GPUs each.
  Server(const std::string& program, int nodes);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] int admin_port() const { return admin_port_; }
  /// Whether it drained and ended well.
  [[nodiscard]] bool stop();

 private:
  pid_t pid_ = 0;
  int port_ = 0;
  int admin_port_ = 0;
};

/// A blocking socket with TCP_NODELAY.
[[nodiscard]] int connect_to(int port);

/// POST of JSON with a Content-Length.
[[nodiscard]] std::string post_text(std::string_view path, std::string_view body);

/// The reply's body.
[[nodiscard]] std::string post(int fd, std::string_view path, std::string_view body);

/// The pod bench/`name`, which asks for a quarter of a GPU.
[[nodiscard]] std::string pod_json(const std::string& name);

}  // namespace snug_bench
