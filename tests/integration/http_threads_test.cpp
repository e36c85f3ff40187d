// Who has to go when connections wait for a thread.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "adapters/http/connection_threads.hpp"
#include "adapters/http/listen.hpp"
#include "integration/http_client.hpp"

namespace snug::testing {
namespace {

void wait_readable(int fd) {
  pollfd waited{fd, POLLIN, 0};
  ::poll(&waited, 1, 30'000);
}

/// Each connection is idle until a byte comes, and answers it with a byte, again and again. The
/// first answer, to nothing, says that it has begun to idle.
class EchoPool {
 public:
  explicit EchoPool(PoolBounds bounds) : pool_(bounds, [this](int fd) { serve(fd); }) {
    const auto listening = listen_on("127.0.0.1", 0, 64);
    EXPECT_TRUE(listening.has_value());
    port_ = listening->port;
    EXPECT_TRUE(pool_.start(listening->fd));
  }
  ~EchoPool() { pool_.stop(); }
  EchoPool(const EchoPool&) = delete;
  EchoPool& operator=(const EchoPool&) = delete;

  [[nodiscard]] int port() const { return port_; }

 private:
  void serve(int fd) {
    char byte = '!';
    do {
      const ConnectionThreads::Idle idle(pool_, fd);
      ::send(fd, &byte, 1, MSG_NOSIGNAL);
      wait_readable(fd);
    } while (::recv(fd, &byte, 1, 0) == 1);
  }

  ConnectionThreads pool_;
  int port_ = 0;
};

TEST(ConnectionThreadsTest, TheOldestIdleConnectionGoesFirst) {
  constexpr int kThreads = 3;
  EchoPool pool({.threads = kThreads, .queued = 8});
  std::vector<std::unique_ptr<HttpClient>> clients;
  const auto connect = [&] {
    clients.push_back(std::make_unique<HttpClient>(pool.port()));
    ASSERT_TRUE(clients.back()->receive_bytes(1)) << clients.size();
  };
  for (int i = 0; i < kThreads; ++i) connect();
  // The first has spoken last.
  ASSERT_TRUE(clients[0]->send("a"));
  ASSERT_TRUE(clients[0]->receive_bytes(1));
  connect();
  EXPECT_TRUE(clients[1]->wait_closed());
  connect();
  EXPECT_TRUE(clients[2]->wait_closed());
  connect();
  EXPECT_TRUE(clients[0]->wait_closed());
}

TEST(ConnectionThreadsTest, ADrainTakesNoMoreThanTheBacklog) {
  constexpr std::size_t kBacklog = 3;
  const auto listening = listen_on("127.0.0.1", 0, 64);
  ASSERT_TRUE(listening.has_value());
  std::vector<std::unique_ptr<HttpClient>> clients;
  while (clients.size() < kBacklog + 4) {
    clients.push_back(std::make_unique<HttpClient>(listening->port));
  }
  ConnectionThreads pool({.threads = 8, .queued = 8, .backlog = kBacklog},
                         [](int fd) { ::send(fd, "!", 1, MSG_NOSIGNAL); });
  // All of them wait when the draining acceptor begins.
  pool.drain(std::chrono::milliseconds{0});
  ASSERT_TRUE(pool.start(listening->fd));
  for (std::size_t i = 0; i < clients.size(); ++i) {
    EXPECT_EQ(clients[i]->receive_bytes(1), i < kBacklog) << i;
  }
  EXPECT_TRUE(pool.drain(std::chrono::seconds{30}));
}

TEST(ConnectionThreadsTest, NobodyGoesWhileThereAreThreads) {
  EchoPool pool({.threads = 4, .queued = 8});
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<HttpClient>(pool.port()));
    ASSERT_TRUE(clients.back()->receive_bytes(1));
  }
  for (const auto& client : clients) {
    EXPECT_TRUE(client->send("a"));
    EXPECT_TRUE(client->receive_bytes(1));
  }
}

TEST(ConnectionThreadsTest, TheThreadThatEndedItsConnectionLastGetsTheNext) {
  const auto listening = listen_on("127.0.0.1", 0, 64);
  ASSERT_TRUE(listening.has_value());
  std::mutex mutex;
  std::vector<std::thread::id> served;  // by whom, in the order of the connections' beginnings
  ConnectionThreads pool({.threads = 3, .queued = 8}, [&](int fd) {
    {
      const std::lock_guard lock(mutex);
      served.push_back(std::this_thread::get_id());
    }
    ::send(fd, "!", 1, MSG_NOSIGNAL);
    wait_readable(fd);
  });
  ASSERT_TRUE(pool.start(listening->fd));
  std::vector<std::unique_ptr<HttpClient>> clients;
  const auto connect = [&] {
    clients.push_back(std::make_unique<HttpClient>(listening->port));
    ASSERT_TRUE(clients.back()->receive_bytes(1));
  };
  for (int i = 0; i < 3; ++i) connect();
  for (const std::size_t ends : {1U, 2U, 0U}) {
    ASSERT_TRUE(clients[ends]->send("."));
    ASSERT_TRUE(clients[ends]->wait_closed());
  }
  for (int i = 0; i < 3; ++i) connect();
  pool.stop();
  ASSERT_EQ(served.size(), 6U);
  EXPECT_EQ(served[3], served[0]);
  EXPECT_EQ(served[4], served[2]);
  EXPECT_EQ(served[5], served[1]);
}

}  // namespace
}  // namespace snug::testing
