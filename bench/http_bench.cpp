// Measures how long kube-scheduler waits for filter and bind. Starts snug-extender in embedded mode
// with 5,000 nodes of 8 GPUs, and calls it over one keep-alive connection on loopback. The
// NodeNames of a filter call are shuffled. For comparison, sends the same filter calls to a raw
// socket server, which only parses the names and sends them back. Exit code 1 if a median exceeds
// its bound. bench/README.md says how to run it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "raw_server.hpp"
#include "report.hpp"
#include "server.hpp"

namespace {

using snug_bench::die;
using snug_bench::kGpusPerNode;
using snug_bench::node_name;
using snug_bench::post;

struct Options {
  std::string program;
  int nodes = 5000;
  int calls = 2000;
  int filter_us = 1000;
  int bind_us = 200;
  bool record = false;
};

template <typename Call>
double timed(const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

std::string shuffled_names(int nodes) {
  std::vector<int> order(static_cast<std::size_t>(nodes));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(42));
  std::string names;
  for (const int n : order) names += (names.empty() ? "\"" : ",\"") + node_name(n) + '"';
  return names;
}

/// Returns the first node in a filter reply.
std::string winner_of(const std::string& reply) {
  constexpr std::string_view kBefore = "\"NodeNames\":[\"";
  const std::size_t found = reply.find(kBefore);
  if (found == std::string::npos) die("filter named no node: " + reply.substr(0, 300));
  const std::size_t begin = found + kBefore.size();
  return reply.substr(begin, reply.find('"', begin) - begin);
}

struct Times {
  std::vector<double> filter_us;
  std::vector<double> bind_us;
  std::vector<double> raw_us;  // filter calls to the raw server
};

/// For each pod, calls filter with all nodes, bind with the node in the reply, and then the raw
/// server with the same filter call. The calls alternate, so that other load of the machine affects
/// all.
Times measure(int fd, int raw_fd, const Options& options) {
  const std::string names = shuffled_names(options.nodes);
  Times times;
  for (int pod = 0; pod < options.calls; ++pod) {
    const std::string name = "pod-" + std::to_string(pod);
    const std::string args =
        R"({"Pod":)" + snug_bench::pod_json(name) + R"(,"Nodes":null,"NodeNames":[)" + names + "]}";
    std::string reply;
    times.filter_us.push_back(timed([&] { reply = post(fd, "/filter", args); }));
    const std::string binding = R"({"PodName":")" + name +
                                R"(","PodNamespace":"bench","PodUID":"uid-)" + name +
                                R"(","Node":")" + winner_of(reply) + "\"}";
    times.bind_us.push_back(timed([&] { reply = post(fd, "/bind", binding); }));
    if (reply != R"({"Error":""})") die("bind failed: " + reply);
    times.raw_us.push_back(timed([&] { reply = post(raw_fd, "/filter", args); }));
  }
  return times;
}

Options read_options(int argc, char** argv) {
  Options options;
  options.program = snug_bench::extender_beside(argv[0]);
  CLI::App app("Latency of filter and bind; see bench/README.md", "http_bench");
  app.add_option("--extender", options.program, "the program snug-extender")->type_name("PROGRAM");
  app.add_option("--nodes", options.nodes, "nodes of 8 GPUs")->check(CLI::Range(1, 50'000));
  app.add_option("--calls", options.calls, "filter and bind calls")->check(CLI::Range(1, 100'000));
  app.add_option("--filter-us", options.filter_us, "the most that filter's median may be");
  app.add_option("--bind-us", options.bind_us, "the most that bind's median may be");
  app.add_flag("--record", options.record, "write bench/results/http.md");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  if (options.calls > options.nodes * kGpusPerNode * 4) {
    std::fprintf(stderr, "http_bench: --calls must be at most 4 for each GPU, so that all fit\n");
    std::exit(2);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  snug_bench::Server server(options.program, options.nodes);
  const snug_bench::RawServer raw;
  const int raw_fd = snug_bench::connect_to(raw.port());
  const Times times = measure(snug_bench::connect_to(server.port()), raw_fd, options);
  close(raw_fd);
  const bool ended_well = server.stop();

  snug_bench::Report report(std::to_string(options.nodes) + " nodes x " +
                                std::to_string(kGpusPerNode) +
                                " GPUs, names shuffled, one keep-alive connection",
                            snug_bench::Judged::kMedian);
  report.add("filter", times.filter_us, options.filter_us);
  report.add("bind", times.bind_us, options.bind_us);
  report.compare("filter", times.filter_us, "a raw server that parses and echoes", times.raw_us);
  std::fputs(report.text().c_str(), stdout);
  if (options.record) {
    report.write(SNUG_SOURCE_DIR "/bench/results/http.md", "Latency of filter and bind", argv);
  }
  if (!ended_well) die("snug-extender did not end well after SIGTERM");
  return report.passed() ? 0 : 1;
}
