// The whole program in its embedded mode, with the nodes of a trace, and what kube-scheduler would
// ask of it about a trace's pods: over HTTP, on one connection to each of its ports.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/extender.hpp"
#include "integration/http_client.hpp"
#include "snug/sim/trace.hpp"

namespace snug::testing {

/// Where a pod is. Nothing and empty: nowhere.
struct PlacedAt {
  std::optional<std::size_t> node;  // its rank
  std::vector<int> gpus;            // their indices, ascending

  friend bool operator==(const PlacedAt&, const PlacedAt&) = default;
};

/// As a failure shows it.
void PrintTo(const PlacedAt& placed, std::ostream* out);

/// What filter said. Nothing stays: it refused all, each with a reason.
struct Filtered {
  std::vector<std::string> kept;
  std::size_t refused = 0;  // names in the two maps of failures
  std::string reason;       // of one of them
};

/// A call that goes wrong fails the test, and says how.
class ReplayExtender {
 public:
  /// Answers with the winner alone, by the policy of this file. The trace outlives it.
  ReplayExtender(const sim::Trace& trace, const std::string& policy_file);
  ~ReplayExtender();
  ReplayExtender(const ReplayExtender&) = delete;
  ReplayExtender& operator=(const ReplayExtender&) = delete;

  /// About the pod of an arrival; `ranks`: the nodes asked about.
  [[nodiscard]] Filtered filter(std::size_t arrival, std::span<const std::size_t> ranks);
  void bind(std::size_t arrival, std::size_t rank);
  void end(std::size_t arrival);

  /// The GPUs that the arrival's pod holds on a node.
  [[nodiscard]] std::vector<int> gpus_held(std::size_t arrival, std::size_t rank);
  /// What the reservations say of all GPU pods that there are, by their names.
  [[nodiscard]] std::map<std::string, PlacedAt> reservations();

 private:
  void write_cluster() const;
  [[nodiscard]] std::string pod_json(std::size_t arrival) const;
  [[nodiscard]] std::string ask(HttpClient& client, const std::string& request);

  const sim::Trace& trace_;
  std::string folder_;
  std::vector<std::string> quoted_;           // names of the nodes by rank, as JSON
  std::map<std::string, std::size_t> ranks_;  // of the names
  std::unique_ptr<app::Extender> extender_;
  std::unique_ptr<HttpClient> verbs_;
  std::unique_ptr<HttpClient> admin_;
};

}  // namespace snug::testing
