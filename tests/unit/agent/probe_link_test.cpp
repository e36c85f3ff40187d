// The connection between the agent and the container `probe` of its pod.
#include "agent_app/probe_link.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace snug::probe_link_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{60};

/// A uid that no other process uses for its pod.
std::string pod_uid() { return "test-" + std::to_string(::getpid()); }

/// A connection to the agent, made as the probe makes it.
class Connection {
 public:
  explicit Connection(const std::string& pod)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const std::string name = "snug-probe." + pod;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), length) == 0;
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  /// Whether the agent closes it within `time`.
  [[nodiscard]] bool ends_within(milliseconds time) const {
    pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, static_cast<int>(time.count())) > 0;
  }

 private:
  int socket_;
  bool connected_ = false;
};

/// Runs as the probe of the pod, and says when it has ended. The thread is not waited for, so that
/// a probe that does not end fails the test and does not stop it.
std::future<void> run_probe(const std::string& pod) {
  auto ended = std::make_shared<std::promise<void>>();
  std::future<void> future = ended->get_future();
  std::thread([pod, ended] {
    agent_app::wait_as_probe(pod);
    ended->set_value();
  }).detach();
  return future;
}

bool has_ended(const std::future<void>& probe, milliseconds time) {
  return probe.wait_for(time) == std::future_status::ready;
}

/// Calls `act` until the probe has ended: the probe may connect only after the first calls. `wait`:
/// after each, within which a probe that has seen the end of its connection surely ends.
template <typename Act>
bool ends_by(const std::future<void>& probe, const Act& act, milliseconds wait = milliseconds(5)) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    act();
    if (has_ended(probe, wait)) return true;
  }
  return false;
}

TEST(ProbeLinkTest, AProbeWaitsForTheAgentAndEndsWhenItIsRestarted) {
  const std::future<void> probe = run_probe(pod_uid());
  EXPECT_FALSE(has_ended(probe, milliseconds(0))) << "there is no agent yet";
  agent_app::ProbeLink link(pod_uid());
  ASSERT_TRUE(link.start());
  EXPECT_TRUE(ends_by(probe, [&link] { link.restart_probe(); }));
  const std::future<void> next = run_probe(pod_uid());
  EXPECT_TRUE(ends_by(next, [&link] { link.restart_probe(); }));
}

TEST(ProbeLinkTest, AProbeEndsWithItsAgent) {
  const std::future<void> probe = run_probe(pod_uid());
  const auto run_agent = [&probe] {
    agent_app::ProbeLink link(pod_uid());
    ASSERT_TRUE(link.start());
    // Longer than a probe waits between two tries to connect.
    EXPECT_FALSE(has_ended(probe, milliseconds(400))) << "the agent has not ended";
  };
  // A probe that ends while the next agent runs would be taken for one that does not wait.
  EXPECT_TRUE(ends_by(probe, run_agent, seconds(10)));
}

TEST(ProbeLinkTest, OnlyTheNewestConnectionIsKept) {
  std::optional<agent_app::ProbeLink> link(std::in_place, pod_uid());
  EXPECT_FALSE(Connection(pod_uid()).connected()) << "the agent has not started";
  ASSERT_TRUE(link->start());
  const Connection first(pod_uid());
  ASSERT_TRUE(first.connected());
  const Connection second(pod_uid());
  ASSERT_TRUE(second.connected());
  EXPECT_TRUE(first.ends_within(kPatience)) << "an older probe has ended";
  EXPECT_FALSE(second.ends_within(milliseconds(0)));
  link.reset();
  EXPECT_TRUE(second.ends_within(kPatience));
}

TEST(ProbeLinkTest, PodsHaveSocketsOfTheirOwn) {
  agent_app::ProbeLink link(pod_uid());
  ASSERT_TRUE(link.start());
  EXPECT_FALSE(Connection(pod_uid() + "-other").connected());
  agent_app::ProbeLink same(pod_uid());
  const auto started = same.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, base::ErrorCode::kUnavailable);
  EXPECT_EQ(started.error().message.find("the socket @snug-probe." + pod_uid()), 0U);
  agent_app::ProbeLink other(pod_uid() + "-other");
  EXPECT_TRUE(other.start());
}

TEST(ProbeLinkTest, ARestartWithoutAProbeOrAnAgentDoesNothing) {
  agent_app::ProbeLink link(pod_uid());
  link.restart_probe();
  ASSERT_TRUE(link.start());
  link.restart_probe();
  const Connection later(pod_uid());
  EXPECT_TRUE(later.connected());
}

}  // namespace
}  // namespace snug::probe_link_test
