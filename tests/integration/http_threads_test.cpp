// Which thread gets the next request, and how the loop's drain ends.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "adapters/http/connection_loop.hpp"
#include "adapters/http/listening_socket.hpp"
#include "adapters/http/request_threads.hpp"
#include "integration/http_client.hpp"

namespace snug::testing::http_threads_test {
namespace {

/// Requests that last until the test ends them.
class Requests {
 public:
  explicit Requests(std::size_t threads) : threads_(threads, "test", hooks()) {}

  /// Returns when a thread serves it.
  void begin() {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    clients_.push_back(ends[1]);
    threads_.submit(std::make_unique<http::Connection>(ends[0], nullptr, limits_, clock_));
    char byte = 0;
    ASSERT_EQ(::recv(ends[1], &byte, 1, 0), 1);
  }
  /// Returns when its thread has nothing to do.
  void end(std::size_t i) {
    const std::size_t idle = threads_.idle_count();
    ::close(clients_[i]);
    while (threads_.idle_count() == idle) std::this_thread::yield();
  }
  [[nodiscard]] std::vector<std::thread::id> served_by() {
    const std::lock_guard lock(mutex_);
    return served_by_;
  }

 private:
  http::RequestThreads::Hooks hooks() {
    return {.serve =
                [this](http::Connection& connection) {
                  {
                    const std::lock_guard lock(mutex_);
                    served_by_.push_back(std::this_thread::get_id());
                  }
                  ::send(connection.socket(), "!", 1, MSG_NOSIGNAL);
                  pollfd waited{connection.socket(), POLLIN, 0};
                  ::poll(&waited, 1, 30'000);
                  return http::NextAction::kClose;
                },
            .served = [](http::RequestThreads::ConnectionPtr, http::NextAction) {}};
  }

  const base::Limits limits_;
  const base::SteadyClock clock_;
  std::mutex mutex_;
  std::vector<std::thread::id> served_by_;  // guarded by mutex_, in the order of beginnings
  std::vector<int> clients_;
  http::RequestThreads threads_;
};

TEST(RequestThreadsTest, TheThreadThatEndedItsRequestLastGetsTheNext) {
  Requests requests{3};
  for (int i = 0; i < 3; ++i) requests.begin();
  for (const std::size_t i : {1U, 2U, 0U}) requests.end(i);
  for (int i = 0; i < 3; ++i) requests.begin();
  const std::vector<std::thread::id> by = requests.served_by();
  for (const std::size_t i : {3U, 4U, 5U}) requests.end(i);
  ASSERT_EQ(by.size(), 6U);
  EXPECT_EQ(by[3], by[0]);
  EXPECT_EQ(by[4], by[2]);
  EXPECT_EQ(by[5], by[1]);
}

TEST(ConnectionLoopTest, ADrainTakesNoMoreThanTheBacklog) {
  constexpr std::size_t kBacklog = 3;
  const auto listening = http::listen_on("127.0.0.1", 0, 64);
  ASSERT_TRUE(listening.has_value());
  std::vector<std::unique_ptr<HttpClient>> clients;
  while (clients.size() < kBacklog + 4) {
    clients.push_back(std::make_unique<HttpClient>(listening->port));
    ASSERT_TRUE(clients.back()->send("\r\n"));
  }
  const base::Limits limits;
  const base::SteadyClock clock;
  http::ConnectionLoop* served = nullptr;
  http::ConnectionLoop loop(
      {.max_open = 8, .backlog = kBacklog, .timers = {}}, clock,
      {.open_connection =
           [&](int fd) { return std::make_unique<http::Connection>(fd, nullptr, limits, clock); },
       .on_head =
           [&](http::ConnectionLoop::ConnectionPtr connection) {
             connection->send_best_effort("!");
             served->take_back(std::move(connection), http::NextAction::kClose);
           },
       .on_head_timeout = [](http::Connection&) {},
       .on_turn = [] { return false; }});
  served = &loop;
  // All of them wait when the loop begins, and it drains from the beginning.
  EXPECT_TRUE(loop.drain(std::chrono::milliseconds{0})) << "it waits for no loop that never began";
  ASSERT_TRUE(loop.start(listening->fd));
  for (std::size_t i = 0; i < clients.size(); ++i) {
    EXPECT_EQ(clients[i]->receive_bytes(1), i < kBacklog) << i;
  }
  EXPECT_TRUE(loop.drain(std::chrono::seconds{30}));
}

}  // namespace
}  // namespace snug::testing::http_threads_test
