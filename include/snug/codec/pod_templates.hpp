// Reads the pods that a manifest would create: Pods, and the pod templates of Deployments, Jobs and
// other workloads, for tools that people give their own files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/model/pod.hpp"

namespace snug::codec {

struct PodTemplate {
  model::PodFacts pod;
  std::string workload;  // its kind, such as Deployment; empty: the manifest is of a Pod
  /// One sentence for each GPU annotation of the workload that its pods do not have.
  std::vector<std::string> misplaced_keys;
};

/// Reads YAML (also several documents) or JSON. Objects of other kinds are skipped. A pod without a
/// namespace gets `default_namespace`; one from a template has the name of its workload. `source`
/// is the name of the text in messages. kInvalid: the text is malformed or has no pod.
[[nodiscard]] base::Result<std::vector<PodTemplate>> read_pod_templates(
    std::string_view text, std::string_view source, std::string_view default_namespace,
    const base::Limits& limits);

}  // namespace snug::codec
