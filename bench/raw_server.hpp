// The floor that the extender port is measured against: a thread that reads one request after
// another from one blocking socket, without any of the checks that a server needs, and answers.
#pragma once

#include <thread>

namespace snug_bench {

class RawServer {
 public:
  /// Parses each body and answers with its NodeNames.
  RawServer();
  ~RawServer() { thread_.join(); }  // after the client has closed
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  [[nodiscard]] int port() const { return port_; }

 private:
  int port_ = 0;
  std::thread thread_;
};

}  // namespace snug_bench
