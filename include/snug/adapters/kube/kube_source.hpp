// Lists and watches the nodes and pods of a real API server and passes them to the sink until
// stop(). Nodes and pods have a thread each. A list is read from the API server's store (without
// resourceVersion) and is parsed object by object as it arrives. If a watch ends, loses its
// connection or falls silent, the next watch starts at the last resourceVersion. If that version
// has expired (410) or the stream is invalid, the resource is listed again. After a failure, the
// thread waits with exponential back-off and jitter. A list with an object that cannot be read is
// discarded, because applying it would free what that object holds; a watch with such an object is
// ended, and the resource is listed again. stop() interrupts waits for the network. One thread at a
// time may call start(), relist() and stop().
#pragma once

#include <memory>

#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/service/ports.hpp"

namespace snug::kube {

class KubeSource final : public service::ClusterSource {
 public:
  KubeSource(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context);
  ~KubeSource() override;
  KubeSource(const KubeSource&) = delete;
  KubeSource& operator=(const KubeSource&) = delete;

  /// Call this at most once.
  void start(service::ClusterSink& sink) override;
  void relist() override;
  void stop() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::kube
