#include "snug/adapters/kube/kube_source.hpp"

#include <memory>

#include "adapters/kube/proxy.hpp"
#include "adapters/kube/resource_stream.hpp"
#include "snug/base/check.hpp"

namespace snug::kube {
namespace {

std::string api_server_text(const ApiEndpoint& endpoint) {
  std::string api_server_url = server_url(endpoint);
  if (endpoint.proxy.empty()) return api_server_url;
  return api_server_url + ", reached through the proxy " + proxy_without_password(endpoint.proxy);
}

}  // namespace

struct KubeSource::State {
  const ApiEndpoint endpoint;
  const KubeOptions options;
  const KubeContext context;
  bool started = false;
  std::unique_ptr<ResourceStream> node_stream;
  std::unique_ptr<ResourceStream> pod_stream;
};

KubeSource::KubeSource(const ApiEndpoint& endpoint, const KubeOptions& options,
                       const KubeContext& context)
    : state_(new State{endpoint, options, context, false, nullptr, nullptr}) {}

KubeSource::~KubeSource() { stop(); }

void KubeSource::start(service::ClusterSink& sink) {
  SNUG_CHECK(!state_->started);
  state_->started = true;
  state_->context.log.write(service::LogLevel::kInfo,
                            "the API server is " + api_server_text(state_->endpoint));
  const auto start_stream = [this](std::uint64_t seed_factor,
                                   std::unique_ptr<ObjectFeed> object_feed) {
    // Each stream gets a seed of its own, so that their random waits differ.
    KubeOptions stream_options = state_->options;
    stream_options.seed ^= seed_factor * 0x9E3779B97F4A7C15ULL;
    return std::make_unique<ResourceStream>(state_->endpoint, stream_options, state_->context,
                                            std::move(object_feed));
  };
  state_->node_stream = start_stream(1, make_node_feed(state_->context.limits, sink));
  state_->pod_stream = start_stream(2, make_pod_feed(state_->context.limits, sink));
}

void KubeSource::relist() {
  if (state_->node_stream) state_->node_stream->relist();
  if (state_->pod_stream) state_->pod_stream->relist();
}

void KubeSource::stop() {
  if (state_->node_stream) state_->node_stream->begin_stop();
  if (state_->pod_stream) state_->pod_stream->begin_stop();
  state_->node_stream.reset();
  state_->pod_stream.reset();
}

}  // namespace snug::kube
