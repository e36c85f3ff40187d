// A request that must wait for space in the socket's send buffer. libcurl queues it, sends it
// later, and does not count these bytes in CURLINFO_REQUEST_SIZE. The bind's outcome is unknown all
// the same.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "integration/raw_peer.hpp"
#include "snug/adapters/kube/kube_api.hpp"

namespace snug::kube_full_socket_test {

/// What this thread's next calls of send() do.
enum class Fault {
  kNone,
  kFull,      // one call fails with EAGAIN
  kHalfFull,  // one call sends half of its bytes, and the next one fails with EAGAIN
  kHeadOnly,  // one call fails with EAGAIN, the next one sends 20 bytes, later ones fail with EPIPE
  kStart,     // one call sends 20 bytes, later ones fail with EPIPE
  kClosed,    // each call fails with EPIPE
};
thread_local Fault fault = Fault::kNone;

}  // namespace snug::kube_full_socket_test

/// Replaces the C library's function for this program, libcurl included.
extern "C" ssize_t send(int socket, const void* data, size_t size, int flags) {
  using snug::kube_full_socket_test::fault;
  using Fault = snug::kube_full_socket_test::Fault;
  static const auto real = reinterpret_cast<decltype(&send)>(::dlsym(RTLD_NEXT, "send"));
  switch (fault) {
    case Fault::kNone:
      break;
    case Fault::kFull:
      fault = Fault::kNone;
      errno = EAGAIN;
      return -1;
    case Fault::kHalfFull:
      fault = Fault::kFull;
      size /= 2;
      break;
    case Fault::kHeadOnly:
      fault = Fault::kStart;
      errno = EAGAIN;
      return -1;
    case Fault::kStart:
      fault = Fault::kClosed;
      size = std::min<size_t>(size, 20);
      break;
    case Fault::kClosed:
      errno = EPIPE;
      return -1;
  }
  return real(socket, data, size, flags);
}

namespace snug::kube_full_socket_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using Session = RawPeer::Session;

model::Binding binding() { return {"ns", "pod-1", "uid-1", "node-1", {}}; }

/// Plain or TLS.
class KubeFullSocketTest : public ::testing::TestWithParam<bool> {
 protected:
  void TearDown() override { fault = Fault::kNone; }
  [[nodiscard]] std::optional<Pem> certificate() const {
    if (!GetParam()) return std::nullopt;
    return authority.issue("server", "IP:127.0.0.1");
  }
  [[nodiscard]] kube::ApiEndpoint endpoint(const RawPeer& peer) const {
    kube::ApiEndpoint made = peer.endpoint();
    made.tls = GetParam();
    if (made.tls) made.authorities.text = authority.pem();
    return made;
  }
  /// Reads one request and counts it. Returns false if the client ended without one.
  bool hear(Session& session) {
    if (session.hear().empty()) return false;
    requests.change([](int& count) { ++count; });
    return true;
  }
  /// Answers one request, if there is one, with 201.
  void answer(Session& session) {
    if (hear(session)) session.say(http_reply(201, "{}"));
  }

  Bench bench;
  TestAuthority authority{"authority"};
  Watched<int> requests;
};

INSTANTIATE_TEST_SUITE_P(Both, KubeFullSocketTest, ::testing::Bool(),
                         [](const auto& row) { return std::string(row.param ? "Tls" : "Plain"); });

TEST_P(KubeFullSocketTest, AQueuedPostWithoutAReplyLeavesTheBindUnknown) {
  for (const Fault kind : {Fault::kFull, Fault::kHalfFull}) {
    requests.change([](int& count) { count = 0; });
    // The second connection shows whether the POST is sent again.
    RawPeer peer({[&](Session& session) {
                    answer(session);
                    hear(session);
                  },
                  [&](Session& session) { answer(session); }},
                 certificate());
    kube::KubeApi api(endpoint(peer), bench.options, bench.context());
    ASSERT_TRUE(api.bind(binding()));
    fault = kind;
    const auto bound = api.bind(binding());
    ASSERT_EQ(fault, Fault::kNone) << "libcurl does not call this send()";
    ASSERT_FALSE(bound) << "the POST was sent again";
    EXPECT_EQ(bound.error().code, base::ErrorCode::kUnknown) << bound.error().message;
    EXPECT_EQ(requests.get(), 2);
  }
}

TEST_P(KubeFullSocketTest, AQueuedPostIsAnswered) {
  for (const Fault kind : {Fault::kFull, Fault::kHalfFull}) {
    RawPeer peer({[&](Session& session) {
                   answer(session);
                   answer(session);
                 }},
                 certificate());
    kube::KubeApi api(endpoint(peer), bench.options, bench.context());
    ASSERT_TRUE(api.bind(binding()));
    fault = kind;
    const auto bound = api.bind(binding());
    EXPECT_TRUE(bound) << bound.error().message;
  }
}

TEST_P(KubeFullSocketTest, APostOfWhichNoByteOfTheBodyWasSentIsNotExecuted) {
  for (const Fault kind : {Fault::kClosed, Fault::kHeadOnly}) {
    RawPeer peer({[&](Session& session) { answer(session); }}, certificate());
    kube::KubeApi api(endpoint(peer), bench.options, bench.context());
    ASSERT_TRUE(api.bind(binding()));
    fault = kind;
    const auto bound = api.bind(binding());
    fault = Fault::kNone;
    ASSERT_FALSE(bound);
    EXPECT_EQ(bound.error().code, base::ErrorCode::kUnavailable) << bound.error().message;
  }
}

}  // namespace
}  // namespace snug::kube_full_socket_test
