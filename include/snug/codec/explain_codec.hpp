// The reply of GET /v1/explain: written by the admin port, read by snugctl. api/openapi.yaml
// documents it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/result.hpp"
#include "snug/explain/explanation.hpp"
#include "snug/model/pod.hpp"

namespace snug::codec {

struct ExplainReply {
  struct Refusal {
    std::string code;
    std::string sentence;
  };
  struct Reason {
    std::string code;
    std::string sentence;
    std::int64_t nodes = 0;
  };
  struct Node {
    std::string node;
    std::string code;  // empty: the pod fits there
    std::string sentence;
  };
  struct Advice {
    std::string kind;
    std::string sentence;
    std::string place = {};  // the end of the sentence (explain::Advice); read as a part of it
    std::string command;     // empty: there is none
  };
  struct Placement {
    explain::PlacementComparison comparison;
    std::string decided;  // `at bind` or `now`
  };

  std::int64_t generation = 0;
  std::string name_space;
  std::string pod;
  std::string uid;    // empty: the pod does not exist
  std::string state;  // pending, reserved, bound, terminating or hypothetical
  std::string node;   // empty: not bound
  std::vector<explain::RequestInWords> request;
  std::optional<Refusal> refusal;  // applies to all nodes
  std::int64_t nodes = 0;
  std::int64_t feasible = 0;
  std::vector<Reason> reasons;
  std::optional<Node> nearest;
  std::vector<explain::Blocker> blockers;
  std::vector<Advice> advice;
  std::optional<Placement> placement;
  std::vector<std::string> notes;
  std::optional<std::vector<Node>> per_node;  // nullopt: not asked for
};

[[nodiscard]] std::string write_explanation(const ExplainReply& reply);
[[nodiscard]] base::Result<ExplainReply> read_explanation(std::string_view json);

/// A pod manifest in JSON with the fields of `pod` that a decision about a new pod reads.
/// KubeObjectReader reads the same facts from it. PodFacts::has_other_constraints and
/// has_soft_preferences are written as one constraint and one preference that set them.
[[nodiscard]] std::string write_pod_manifest(const model::PodFacts& pod);

}  // namespace snug::codec
