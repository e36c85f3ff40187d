#include "integration/kube_support.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace snug::testing {

std::vector<std::string> RecordingSink::pod_lines() const {
  auto all = lines.get();
  std::erase_if(all, [](const std::string& line) { return !line.starts_with("pod"); });
  return all;
}

namespace {

std::size_t body_length(std::string_view head) {
  constexpr std::string_view kHeader = "Content-Length: ";
  const auto at = head.find(kHeader);
  return at == head.npos ? 0 : std::stoul(std::string(head.substr(at + kHeader.size())));
}

/// Between two bytes of a server that dawdles.
constexpr std::chrono::milliseconds kTrickle{20};

std::string kind_of_lease(const httplib::Request& request) {
  if (request.method != "GET") return "write lease";
  if (request.has_param("watch")) return "watch leases";
  return request.path.ends_with("/leases") ? "list leases" : "get lease";
}

std::string kind_of(const httplib::Request& request) {
  if (request.path.find("/leases") != std::string::npos) return kind_of_lease(request);
  if (request.path.find("/mirrorparameters/") != std::string::npos)
    return request.method + " parameters";
  if (request.method == "PATCH") return "patch";
  if (request.method == "POST") return request.path.ends_with("/binding") ? "bind" : "event";
  if (request.has_param("limit")) return "one node";
  const std::string verb = request.has_param("watch") ? "watch" : "list";
  if (request.path.ends_with("/api/v1/pods")) return verb + " pods";
  if (request.path.ends_with("/api/v1/nodes")) return verb + " nodes";
  return "get pod";
}

ScriptedReply unscripted(const std::string& kind) {
  ScriptedReply reply;
  if (kind.starts_with("watch")) {
    reply.end = ScriptedReply::End::kHold;
    reply.pieces = {"\n"};
  } else if (kind.starts_with("list")) {
    reply.body = list_json(kind == "list pods" ? "PodList" : "NodeList", {}, "1");
  } else {
    reply.status = kind == "bind" || kind == "event" ? 201 : 200;
    reply.body = R"({"kind":"Status","status":"Success"})";
  }
  return reply;
}

}  // namespace

ScriptedApi::ScriptedApi(std::unique_ptr<httplib::Server> server, const std::string& address)
    : server_(std::move(server)), address_(address) {
  const auto handler = [this](const httplib::Request& request, httplib::Response& response) {
    handle(request, response);
  };
  server_->new_task_queue = [] { return new httplib::ThreadPool(16); };
  server_->set_tcp_nodelay(true);
  server_->set_keep_alive_max_count(1'000'000);
  server_->set_keep_alive_timeout(1);
  server_->Get(".*", handler);
  server_->Post(".*", handler);
  server_->Patch(".*", handler);
  server_->Put(".*", handler);
  server_->Delete(".*", handler);
  port_ = server_->bind_to_any_port(address_);
  thread_ = std::thread([this] { server_->listen_after_bind(); });
  while (!server_->is_running()) std::this_thread::yield();
}

ScriptedApi::~ScriptedApi() {
  released_.change([](bool& released) { released = true; });
  server_->stop();
  thread_.join();
}

kube::ApiEndpoint ScriptedApi::endpoint() const {
  kube::ApiEndpoint endpoint;
  endpoint.tls = false;
  endpoint.host = address_;
  endpoint.port = static_cast<std::uint16_t>(port_);
  return endpoint;
}

void ScriptedApi::script(const std::string& kind, ScriptedReply reply) {
  scripts_.change([&](auto& scripts) { scripts[kind].push_back(std::move(reply)); });
}

void ScriptedApi::guard(Guard guard) {
  guard_.change([&](Guard& current) { current = std::move(guard); });
}

std::vector<SeenRequest> ScriptedApi::seen(const std::string& kind) const {
  auto all = seen_.get();
  std::erase_if(all, [&](const SeenRequest& request) { return request.kind != kind; });
  return all;
}

bool ScriptedApi::wait_seen(const std::string& kind, std::size_t at_least) const {
  return seen_.wait([&](const std::vector<SeenRequest>& all) {
    const auto count = std::count_if(
        all.begin(), all.end(), [&](const SeenRequest& request) { return request.kind == kind; });
    return static_cast<std::size_t>(count) >= at_least;
  });
}

ScriptedReply ScriptedApi::next(const std::string& kind) {
  ScriptedReply reply = unscripted(kind);
  scripts_.change([&](auto& scripts) {
    auto& queue = scripts[kind];
    if (queue.empty()) return;
    reply = std::move(queue.front());
    queue.pop_front();
  });
  return reply;
}

void ScriptedApi::handle(const httplib::Request& request, httplib::Response& response) {
  const std::string kind = kind_of(request);
  seen_.change([&](std::vector<SeenRequest>& all) {
    all.push_back({kind, request.target, request.body, request.get_header_value("Content-Type"),
                   request.get_header_value("Accept"), request.get_header_value("Authorization"),
                   request.get_header_value("Host"), request.remote_port});
  });
  const Guard guard = guard_.get();
  if (guard && !guard(request)) {
    response.status = 401;
    response.set_content(
        R"({"kind":"Status","apiVersion":"v1","code":401,"message":"Unauthorized"})",
        "application/json");
    return;
  }
  const ScriptedReply reply = next(kind);
  response.status = reply.status;
  for (const auto& [key, value] : reply.headers) response.set_header(key, value);
  if (reply.pieces.empty()) {
    response.set_content(reply.body, reply.type);
  } else {
    stream(reply, response);
  }
}

void ScriptedApi::stream(const ScriptedReply& reply, httplib::Response& response) {
  response.set_chunked_content_provider(
      reply.type, [this, reply](std::size_t, httplib::DataSink& sink) {
        for (const std::string& piece : reply.pieces) sink.write(piece.data(), piece.size());
        if (reply.end == ScriptedReply::End::kFinish) {
          sink.done();
          return true;
        }
        const auto is_set = [](bool released) { return released; };
        if (reply.end == ScriptedReply::End::kHold) {
          EXPECT_TRUE(released_.wait(is_set));
        }
        if (reply.end == ScriptedReply::End::kTrickle) {
          while (!released_.wait(is_set, kTrickle) && sink.write("\n", 1)) {
          }
        }
        return false;
      });
}

BadServer::BadServer(Manner manner) : manner_(manner) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(socket_, plain, size), 0);
  EXPECT_EQ(::getsockname(socket_, plain, &size), 0);
  port_ = ntohs(address.sin_port);
  if (manner == Manner::kNotListening) return;
  EXPECT_EQ(::listen(socket_, manner == Manner::kNeverAccepts ? 0 : 16), 0);
  if (manner == Manner::kNeverAccepts) {
    // One more than the queue holds; none of them blocks the test.
    for (int i = 0; i < 4; ++i) {
      const int filler = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      const int connected = ::connect(filler, plain, size);
      EXPECT_TRUE(connected == 0 || errno == EINPROGRESS);
      fillers_.push_back(filler);
    }
    return;
  }
  thread_ = std::thread([this] { serve(); });
}

BadServer::~BadServer() {
  ending_.change([](bool& ending) { ending = true; });
  ::shutdown(socket_, SHUT_RDWR);
  open_.change([](std::vector<int>& open) {
    for (const int one : open) ::shutdown(one, SHUT_RDWR);
  });
  if (thread_.joinable()) thread_.join();
  for (const int filler : fillers_) ::close(filler);
  for (const int one : open_.get()) ::close(one);
  ::close(socket_);
}

kube::ApiEndpoint BadServer::endpoint() const {
  kube::ApiEndpoint endpoint;
  endpoint.tls = false;
  endpoint.host = "127.0.0.1";
  endpoint.port = static_cast<std::uint16_t>(port_);
  return endpoint;
}

void BadServer::serve() {
  for (int client = ::accept(socket_, nullptr, nullptr); client >= 0;
       client = ::accept(socket_, nullptr, nullptr)) {
    open_.change([client](std::vector<int>& open) { open.push_back(client); });
    std::string text;
    std::array<char, 4096> buffer{};
    std::size_t end = std::string::npos;
    while (true) {
      const ssize_t got = ::recv(client, buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(got));
      end = text.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      if (text.size() - end - 4 >= body_length(text.substr(0, end))) break;
    }
    if (end != std::string::npos) requests.change([](int& count) { ++count; });
    if (manner_ == Manner::kCloseAfterRequest) ::shutdown(client, SHUT_RDWR);
    if (manner_ == Manner::kAnswersTwice || manner_ == Manner::kAnswersAgain) answer_twice(client);
    if (manner_ == Manner::kLongFirstLine) answer_at_length(client);
    if (manner_ == Manner::kEndlessHead) trickle(client);
  }
}

void BadServer::answer_twice(int client) {
  constexpr std::string_view kFirst = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}";
  constexpr std::string_view kSecond = "HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}";
  std::string text(kFirst);
  if (manner_ == Manner::kAnswersTwice) text += kSecond;
  EXPECT_GT(::send(client, text.data(), text.size(), MSG_NOSIGNAL), 0);
  if (manner_ == Manner::kAnswersTwice) return;
  EXPECT_TRUE(goes_on_.wait([](int step) { return step == 1; }));
  EXPECT_GT(::send(client, kSecond.data(), kSecond.size(), MSG_NOSIGNAL), 0);
  goes_on_.change([](int& step) { step = 2; });
}

void BadServer::answer_at_length(int client) {
  const std::string text = "HTTP/1.1 201 " + std::string(100'000, 'x') + "\r\n\r\n";
  ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
}

void BadServer::go_on() {
  goes_on_.change([](int& step) { step = 1; });
  EXPECT_TRUE(goes_on_.wait([](int step) { return step == 2; }));
}

void BadServer::trickle(int client) {
  std::string text = "HTTP/1.1 200 OK\r\nX: ";
  const auto sent = [&] { return ::send(client, text.data(), text.size(), MSG_NOSIGNAL) > 0; };
  while (sent() && !ending_.wait([](bool ending) { return ending; }, kTrickle)) text = "x";
}

TempFolder::TempFolder() {
  std::string pattern = ::testing::TempDir() + "snug-kube-XXXXXX";
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
  folder_ = pattern;
}

TempFolder::~TempFolder() { std::filesystem::remove_all(folder_); }

std::string TempFolder::write(const std::string& name, const std::string& text) const {
  const std::string where = path(name);
  std::ofstream(where, std::ios::binary) << text;
  return where;
}

std::string encode_base64(const std::string& text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

Bench::Bench() {
  options.api_timeout = std::chrono::seconds(20);
  limits.backoff_first_ms = 10;
  limits.backoff_last_ms = 100;
  // Manual clocks start at the epoch of the steady clock, where nothing was ever read.
  clock.advance(std::chrono::hours(1));
}

std::string pod_json(const std::string& name, int version) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"uid-)" + name +
         R"(","resourceVersion":")" + std::to_string(version) +
         R"(","annotations":{"note":"\"}]{[\\"}},"spec":{"schedulerName":"snug","containers":[{"name":"main"}]},)"
         R"("status":{"phase":"Pending"}})";
}

std::string event_json(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

std::string bookmark_json(const std::string& version) {
  return event_json("BOOKMARK", R"({"kind":"Pod","metadata":{"resourceVersion":")" + version +
                                    R"(","creationTimestamp":null}})");
}

std::string list_json(const std::string& kind, const std::vector<std::string>& items,
                      const std::string& version) {
  std::string text = R"({"kind":")" + kind +
                     R"(","apiVersion":"v1","metadata":{"resourceVersion":")" + version +
                     R"("},"items":[)";
  for (std::size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ",") + items[i];
  return text + "]}";
}

}  // namespace snug::testing
