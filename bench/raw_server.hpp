// A minimal HTTP server with which the extender port is compared. One thread reads requests from
// one blocking socket and answers them, without the checks that a real server needs.
#pragma once

#include <thread>

namespace snug_bench {

class RawServer {
 public:
  /// Starts the thread, which answers each request with the NodeNames in its body.
  RawServer();
  ~RawServer() { thread_.join(); }  // the thread ends when the client closes its connection
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  [[nodiscard]] int port() const { return port_; }

 private:
  int port_ = 0;
  std::thread thread_;
};

}  // namespace snug_bench
