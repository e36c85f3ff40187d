// List and watch of nodes and pods against a real API server: two threads, one for each, that feed
// the sink until stop(). A list is read from the API server's store (resourceVersion "") and parsed
// object by object as it streams in. A watch goes on from the last resourceVersion after it ends,
// is cut or falls silent; what has expired (410) or is no valid stream is listed afresh. Failures
// back off with jitter. A list in which an object cannot be read is not handed on, since it would
// free what the object holds; a watch is listed afresh after one. Nothing ends the threads but
// stop(), which also ends what waits on the network.
#pragma once

#include <memory>

#include "snug/adapters/kube/endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/service/ports.hpp"

namespace snug {

class KubeSource final : public ClusterSource {
 public:
  KubeSource(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context);
  ~KubeSource() override;
  KubeSource(const KubeSource&) = delete;
  KubeSource& operator=(const KubeSource&) = delete;

  /// Once only.
  void start(ClusterSink& sink) override;
  void relist() override;
  void stop() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug
