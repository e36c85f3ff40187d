#include "openb.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "snug/sim_codec/trace_codec.hpp"

namespace snug_bench {
namespace {

template <typename T>
T must(snug::base::Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "packing_bench: %s\n", result.error().message.c_str());
  std::exit(2);
}

std::vector<OpenbRun> runs(const std::string& folder, const std::string& prefix,
                           std::vector<std::uint64_t> seeds) {
  const snug::base::Limits limits;
  const std::string nodes = folder + "/openb_node_list_gpu_node.csv";
  const std::string pods = folder + "/openb_pod_list_default.csv";
  snug::sim::Trace cluster;
  cluster.nodes = must(snug::sim_codec::read_trace_nodes({text_of(nodes), nodes}, limits));
  cluster.pods = must(snug::sim_codec::read_trace_pods({text_of(pods), pods}, limits));
  std::vector<OpenbRun> all;
  for (const std::uint64_t seed : seeds) {
    std::string name = prefix + "." + std::to_string(seed);
    const std::string path = folder + "/arrivals/" + name + ".txt";
    OpenbRun& run = all.emplace_back(OpenbRun{std::move(name), seed, cluster});
    const std::string text = text_of(path);
    if (const auto read = snug::sim_codec::read_trace_arrivals({text, path}, run.trace); !read) {
      std::fprintf(stderr, "packing_bench: %s\n", read.error().message.c_str());
      std::exit(2);
    }
  }
  return all;
}

/// Lines `policy,seed,at100,at130` after a header.
std::vector<PublishedFigure> figures(const std::string& path) {
  std::vector<PublishedFigure> all;
  std::istringstream lines(text_of(path));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    PublishedFigure& figure = all.emplace_back();
    char comma = 0;
    std::getline(cells, figure.policy, ',');
    cells >> figure.seed >> comma >> figure.at100 >> comma >> figure.at130;
  }
  return all;
}

}  // namespace

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "packing_bench: %s cannot be read\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

Openb::Openb(const std::string& folder)
    : fill_(runs(folder, "default", {42, 43, 44, 45, 46})),
      churn_(runs(folder, "default-churn95", {42, 43, 44})),
      published_(figures(folder + "/published.csv")) {}

}  // namespace snug_bench
