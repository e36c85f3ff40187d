#include "advice/min_cost_flow.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/successive_shortest_path_nonnegative_weights.hpp>

namespace snug::advice {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using GraphEdge = Traits::edge_descriptor;
using FlowAmount = std::int64_t;
using EdgeProperties = boost::property<
    boost::edge_capacity_t, FlowAmount,
    boost::property<boost::edge_residual_capacity_t, FlowAmount,
                    boost::property<boost::edge_reverse_t, GraphEdge,
                                    boost::property<boost::edge_weight_t, FlowAmount>>>>;
using FlowGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS,
                                        boost::no_property, EdgeProperties>;

/// Adds an edge and its reverse edge, which the algorithm needs. The reverse edge has zero capacity
/// and the negated cost.
GraphEdge add_edge_pair(FlowGraph& graph, std::size_t from, std::size_t to, const FlowEdge& edge) {
  const auto forward_edge = add_edge(from, to, graph).first;
  const auto reverse_edge = add_edge(to, from, graph).first;
  put(boost::edge_capacity, graph, forward_edge, edge.capacity);
  put(boost::edge_capacity, graph, reverse_edge, 0);
  put(boost::edge_weight, graph, forward_edge, edge.cost);
  put(boost::edge_weight, graph, reverse_edge, -edge.cost);
  put(boost::edge_reverse, graph, forward_edge, reverse_edge);
  put(boost::edge_reverse, graph, reverse_edge, forward_edge);
  return forward_edge;
}

FlowAmount flow_on(const FlowGraph& graph, const GraphEdge& edge) {
  return get(boost::edge_capacity, graph, edge) - get(boost::edge_residual_capacity, graph, edge);
}

}  // namespace

std::optional<std::vector<int>> min_cost_flow(const FlowProblem& problem) {
  const std::size_t class_count = problem.pods.size();
  const std::size_t source = class_count + problem.bin_capacity.size();
  const std::size_t sink = source + 1;
  FlowGraph graph(sink + 1);
  std::vector<GraphEdge> from_source;
  std::vector<GraphEdge> between;
  from_source.reserve(class_count);
  between.reserve(problem.edges.size());
  for (std::size_t pod_class = 0; pod_class < class_count; ++pod_class) {
    from_source.push_back(
        add_edge_pair(graph, source, pod_class, {.capacity = problem.pods[pod_class]}));
  }
  for (const FlowEdge& edge : problem.edges) {
    between.push_back(add_edge_pair(graph, edge.pod_class, class_count + edge.bin, edge));
  }
  for (std::size_t bin = 0; bin < problem.bin_capacity.size(); ++bin) {
    add_edge_pair(graph, class_count + bin, sink, {.capacity = problem.bin_capacity[bin]});
  }
  boost::successive_shortest_path_nonnegative_weights(graph, source, sink);
  for (const GraphEdge& edge : from_source) {
    if (get(boost::edge_residual_capacity, graph, edge) > 0) return std::nullopt;
  }
  std::vector<int> flow;
  flow.reserve(between.size());
  for (const GraphEdge& edge : between) flow.push_back(static_cast<int>(flow_on(graph, edge)));
  return flow;
}

}  // namespace snug::advice
