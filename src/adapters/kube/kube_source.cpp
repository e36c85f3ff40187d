#include "snug/adapters/kube/kube_source.hpp"

#include <memory>

#include "adapters/kube/proxy.hpp"
#include "adapters/kube/resource_stream.hpp"
#include "snug/base/check.hpp"

namespace snug::kube {
namespace {

std::string described(const ApiEndpoint& endpoint) {
  std::string url = server_url(endpoint);
  if (endpoint.proxy.empty()) return url;
  return url + ", reached through the proxy " + proxy_without_password(endpoint.proxy);
}

}  // namespace

struct KubeSource::State {
  const ApiEndpoint endpoint;
  const KubeOptions options;
  const KubeContext context;
  bool started = false;
  std::unique_ptr<ResourceStream> nodes;
  std::unique_ptr<ResourceStream> pods;
};

KubeSource::KubeSource(const ApiEndpoint& endpoint, const KubeOptions& options,
                       const KubeContext& context)
    : state_(new State{endpoint, options, context, false, nullptr, nullptr}) {}

KubeSource::~KubeSource() { stop(); }

void KubeSource::start(service::ClusterSink& sink) {
  SNUG_CHECK(!state_->started);
  state_->started = true;
  state_->context.log.write(service::LogLevel::kInfo,
                            "the API server is " + described(state_->endpoint));
  const auto stream = [this](std::uint64_t number, std::unique_ptr<ObjectFeed> feed) {
    // Each stream gets a seed of its own, so that their random waits differ.
    KubeOptions options = state_->options;
    options.seed ^= number * 0x9E3779B97F4A7C15ULL;
    return std::make_unique<ResourceStream>(state_->endpoint, options, state_->context,
                                            std::move(feed));
  };
  state_->nodes = stream(1, make_node_feed(state_->context.limits, sink));
  state_->pods = stream(2, make_pod_feed(state_->context.limits, sink));
}

void KubeSource::relist() {
  if (state_->nodes) state_->nodes->relist();
  if (state_->pods) state_->pods->relist();
}

void KubeSource::stop() {
  if (state_->nodes) state_->nodes->begin_stop();
  if (state_->pods) state_->pods->begin_stop();
  state_->nodes.reset();
  state_->pods.reset();
}

}  // namespace snug::kube
