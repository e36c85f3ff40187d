#include "advice/min_cost_flow.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/successive_shortest_path_nonnegative_weights.hpp>

namespace snug::advice {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Edge = Traits::edge_descriptor;
using Number = std::int64_t;
using EdgeProperties = boost::property<
    boost::edge_capacity_t, Number,
    boost::property<boost::edge_residual_capacity_t, Number,
                    boost::property<boost::edge_reverse_t, Edge,
                                    boost::property<boost::edge_weight_t, Number>>>>;
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                                    EdgeProperties>;

/// Adds an edge and its reverse edge, which the algorithm needs. The reverse edge has zero capacity
/// and the negated cost.
Edge add_edge_pair(Graph& graph, std::size_t from, std::size_t to, const FlowEdge& edge) {
  const auto there = add_edge(from, to, graph).first;
  const auto back = add_edge(to, from, graph).first;
  put(boost::edge_capacity, graph, there, edge.capacity);
  put(boost::edge_capacity, graph, back, 0);
  put(boost::edge_weight, graph, there, edge.cost);
  put(boost::edge_weight, graph, back, -edge.cost);
  put(boost::edge_reverse, graph, there, back);
  put(boost::edge_reverse, graph, back, there);
  return there;
}

Number flow_on(const Graph& graph, const Edge& edge) {
  return get(boost::edge_capacity, graph, edge) - get(boost::edge_residual_capacity, graph, edge);
}

}  // namespace

std::optional<std::vector<int>> min_cost_flow(const FlowProblem& problem) {
  const std::size_t kinds = problem.pods.size();
  const std::size_t source = kinds + problem.bin_capacity.size();
  const std::size_t sink = source + 1;
  Graph graph(sink + 1);
  std::vector<Edge> from_source;
  std::vector<Edge> between;
  from_source.reserve(kinds);
  between.reserve(problem.edges.size());
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    from_source.push_back(add_edge_pair(graph, source, kind, {.capacity = problem.pods[kind]}));
  }
  for (const FlowEdge& edge : problem.edges) {
    between.push_back(add_edge_pair(graph, edge.pod_class, kinds + edge.bin, edge));
  }
  for (std::size_t bin = 0; bin < problem.bin_capacity.size(); ++bin) {
    add_edge_pair(graph, kinds + bin, sink, {.capacity = problem.bin_capacity[bin]});
  }
  boost::successive_shortest_path_nonnegative_weights(graph, source, sink);
  for (const Edge& edge : from_source) {
    if (get(boost::edge_residual_capacity, graph, edge) > 0) return std::nullopt;
  }
  std::vector<int> flow;
  flow.reserve(between.size());
  for (const Edge& edge : between) flow.push_back(static_cast<int>(flow_on(graph, edge)));
  return flow;
}

}  // namespace snug::advice
