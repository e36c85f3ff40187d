#include "integration/replay_extender.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/trace_conversion.hpp"

namespace snug::testing {
namespace {

using nlohmann::json;

/// The admin port may idle between two pods that leave, however slow the build is.
constexpr std::int64_t kKeepAliveMs = 3'600'000;

json node_json(const sim::TraceNode& node, std::size_t rank) {
  json inventory{{"version", 1}, {"gpus", json::array()}};
  for (int index = 0; index < node.gpus; ++index) {
    inventory["gpus"].push_back({{"index", index},
                                 {"model", node.model},
                                 {"memoryMiB", sim::kTraceGpuMiB},
                                 {"modes", {"whole", "time-slicing"}}});
  }
  return {{"kind", "Node"},
          {"metadata",
           {{"name", sim::node_name_of_rank(rank)},
            {"annotations", {{"snug.dev/inventory", inventory.dump()}}}}},
          {"status",
           {{"allocatable",
             {{"cpu", std::to_string(node.cpu_milli) + "m"},
              {"memory", std::to_string(node.memory_mib) + "Mi"}}}}}};
}

/// The port in `… NAME=HOST:PORT …`.
int port_of(const std::string& line, const std::string& name) {
  const std::size_t host = line.find(name + "=");
  return std::stoi(line.substr(line.find(':', host) + 1));
}

std::vector<int> sorted(std::vector<int> numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace

void PrintTo(const PlacedAt& placed, std::ostream* out) {
  *out << (placed.node ? sim::node_name_of_rank(*placed.node) : "nowhere");
  for (std::size_t i = 0; i < placed.gpus.size(); ++i) {
    *out << (i == 0 ? " GPUs " : ",") << placed.gpus[i];
  }
}

ReplayExtender::ReplayExtender(const sim::Trace& trace, const std::string& policy_file)
    : trace_(trace), folder_(::testing::TempDir() + "snug-replay-XXXXXX") {
  EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
  for (std::size_t rank = 0; rank < trace.nodes.size(); ++rank) {
    quoted_.push_back('"' + sim::node_name_of_rank(rank) + '"');
    ranks_.emplace(sim::node_name_of_rank(rank), rank);
  }
  write_cluster();
  config::Options options;
  options.listen.port = 0;
  options.admin_listen.port = 0;
  options.cluster = {folder_ + "/cluster.json"};
  options.policy = policy_file;
  options.answer = service::AnswerMode::kWinner;
  options.log.level = service::LogLevel::kError;
  options.limits.keep_alive_ms = kKeepAliveMs;
  options.limits.admin_keep_alive_ms = kKeepAliveMs;
  extender_ = std::make_unique<app::Extender>(std::move(options));
  const base::Result<void> started = extender_->start();
  EXPECT_TRUE(started) << started.error().message;
  const std::string line = extender_->listening_line();
  verbs_ = std::make_unique<HttpClient>(port_of(line, "extender"));
  admin_ = std::make_unique<HttpClient>(port_of(line, "admin"));
}

ReplayExtender::~ReplayExtender() {
  verbs_.reset();  // or draining would wait for what they might still send
  admin_.reset();
  extender_.reset();
  std::filesystem::remove_all(folder_);
}

void ReplayExtender::write_cluster() const {
  json list{{"kind", "List"}, {"items", json::array()}};
  for (std::size_t rank = 0; rank < trace_.nodes.size(); ++rank) {
    list["items"].push_back(node_json(trace_.nodes[rank], rank));
  }
  std::ofstream(folder_ + "/cluster.json") << list;
}

std::string ReplayExtender::pod_json(std::size_t arrival) const {
  const sim::TracePod& pod = trace_.pods[trace_.arrivals[arrival].pod];
  const std::string name = sim::arrival_uid(arrival);
  json annotations = json::object();
  for (const auto& [key, value] : sim::annotations_of(pod)) annotations[key] = value;
  const json requests{{"cpu", std::to_string(pod.cpu_milli) + "m"},
                      {"memory", std::to_string(pod.memory_mib) + "Mi"}};
  return json{
      {"metadata",
       {{"name", name},
        {"namespace", "default"},
        {"uid", name},
        {"annotations", std::move(annotations)}}},
      {"spec", {{"containers", {{{"name", "main"}, {"resources", {{"requests", requests}}}}}}}}}
      .dump();
}

std::string ReplayExtender::ask(HttpClient& client, const std::string& request) {
  EXPECT_TRUE(client.send(request)) << "the extender has closed the connection";
  HttpAnswer answer = client.receive().value_or(HttpAnswer{});
  EXPECT_EQ(answer.status, 200) << answer.body << "\nto " << request.substr(0, 400);
  return answer.status == 200 ? std::move(answer.body) : "{}";
}

Filtered ReplayExtender::filter(std::size_t arrival, std::span<const std::size_t> ranks) {
  std::string body = R"({"Pod":)" + pod_json(arrival) + R"(,"Nodes":null,"NodeNames":[)";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) body += ',';
    body += quoted_[ranks[i]];
  }
  const json reply = json::parse(ask(*verbs_, post_text("/filter", body + "]}")));
  EXPECT_EQ(reply.value("Error", "none was given"), "");
  Filtered filtered;
  if (const auto names = reply.find("NodeNames"); names != reply.end() && names->is_array()) {
    filtered.kept = names->get<std::vector<std::string>>();
  }
  for (const char* map : {"FailedNodes", "FailedAndUnresolvableNodes"}) {
    const auto failed = reply.find(map);
    if (failed == reply.end() || !failed->is_object() || failed->empty()) continue;
    filtered.refused += failed->size();
    filtered.reason = failed->begin()->get<std::string>();
  }
  return filtered;
}

void ReplayExtender::bind(std::size_t arrival, std::size_t rank) {
  const std::string name = sim::arrival_uid(arrival);
  const json call{{"PodName", name},
                  {"PodNamespace", "default"},
                  {"PodUID", name},
                  {"Node", sim::node_name_of_rank(rank)}};
  EXPECT_EQ(ask(*verbs_, post_text("/bind", call.dump())), R"({"Error":""})") << name;
}

void ReplayExtender::end(std::size_t arrival) {
  (void)ask(*admin_, "DELETE /v1/pods/default/" + sim::arrival_uid(arrival) +
                         " HTTP/1.1\r\nHost: test\r\n\r\n");
}

std::vector<int> ReplayExtender::gpus_held(std::size_t arrival, std::size_t rank) {
  const json reply = json::parse(ask(*admin_, "GET /v1/nodes?name=" + sim::node_name_of_rank(rank) +
                                                  " HTTP/1.1\r\nHost: test\r\n\r\n"));
  const std::string uid = sim::arrival_uid(arrival);
  std::vector<int> held;
  for (const json& gpu : reply.at("nodes").at(0).at("gpus")) {
    const json& holders = gpu.at("holders");
    const bool holds = std::any_of(holders.begin(), holders.end(),
                                   [&](const json& holder) { return holder.at("uid") == uid; });
    if (holds) held.push_back(gpu.at("index").get<int>());
  }
  return sorted(std::move(held));
}

std::map<std::string, PlacedAt> ReplayExtender::reservations() {
  const json reply = json::parse(ask(*admin_, "GET /v1/pods HTTP/1.1\r\nHost: test\r\n\r\n"));
  std::map<std::string, PlacedAt> all;
  for (const json& pod : reply.at("pods")) {
    PlacedAt& placed = all[pod.at("pod").get<std::string>()];
    const auto reservation = pod.find("reservation");
    if (reservation == pod.end() || !reservation->is_object()) continue;
    placed.node = ranks_.at(reservation->at("node").get<std::string>());
    for (const json& container : reservation->at("containers")) {
      for (const json& device : container.at("devices")) {
        placed.gpus.push_back(device.at("index").get<int>());
      }
    }
    placed.gpus = sorted(std::move(placed.gpus));
  }
  return all;
}

}  // namespace snug::testing
