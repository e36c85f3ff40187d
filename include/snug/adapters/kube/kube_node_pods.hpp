// Lists and watches the pods of one node that have not finished, and passes them to the sink until
// stop(). A pod that finishes is reported as gone. KubeNodePods has a thread of its own, which
// lists again, backs off and treats objects that it cannot read as kube_source.hpp says. A list
// with more than max_node_pods pods fails. One thread at a time may call start() and stop().
#pragma once

#include <memory>
#include <string>

#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/agent_service/ports.hpp"

namespace snug::kube {

class KubeNodePods {
 public:
  KubeNodePods(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context,
               std::string node);
  ~KubeNodePods();
  KubeNodePods(const KubeNodePods&) = delete;
  KubeNodePods& operator=(const KubeNodePods&) = delete;

  /// Call this at most once. `sink` must live until stop() has returned.
  void start(agent_service::NodePodSink& sink);
  /// When this function returns, the last call of the sink has ended.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::kube
