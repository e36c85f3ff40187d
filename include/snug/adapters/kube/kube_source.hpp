// Lists and watches nodes and pods of a real API server, in a thread each, and feeds the sink until
// stop(). A list is read from the API server's store (resourceVersion "") and parsed object by
// object as it arrives. A watch that ends, is cut or falls silent continues from the last
// resourceVersion; after an expired version (410) or an invalid stream the resource is listed
// again. Failures back off with jitter. A list with an object that cannot be read is discarded,
// since applying it would free what the object holds; a watch with such an object is ended and the
// resource listed again. stop() also ends waits on the network. start(), relist() and stop() may be
// called from any one thread.
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

  /// May be called once.
  void start(service::ClusterSink& sink) override;
  void relist() override;
  void stop() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::kube
