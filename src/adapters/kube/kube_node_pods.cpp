#include "snug/adapters/kube/kube_node_pods.hpp"

#include <utility>
#include <vector>

#include "adapters/kube/resource_stream.hpp"
#include "adapters/kube/url.hpp"
#include "snug/agent_codec/node_pods.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/check.hpp"

namespace snug::kube {
namespace {

class NodePodFeed final : public ObjectFeed {
 public:
  NodePodFeed(const base::Limits& limits, std::string_view node,
              agent_service::NodePodSink& pod_sink)
      : limits_(limits),
        list_target_("/api/v1/pods?fieldSelector=spec.nodeName%3D" + encode_query(node) +
                     "%2Cstatus.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&"),
        pod_sink_(pod_sink) {}

  [[nodiscard]] service::WatchedResource resource() const override {
    return service::WatchedResource::kPods;
  }
  [[nodiscard]] std::string_view target() const override { return list_target_; }
  [[nodiscard]] std::string_view watch_accept() const override { return "application/json"; }

  void alive(std::string_view) override { pod_sink_.stream_alive(); }
  void lost() override { pod_sink_.stream_lost(); }
  void list_begins() override { listed_pods_.clear(); }
  [[nodiscard]] base::Result<void> list_item(std::string_view pod_json) override {
    if (std::cmp_greater_equal(listed_pods_.size(), base::agent_limits::max_node_pods)) {
      return base::fail(
          base::ErrorCode::kTooLarge,
          "the node has more than " + std::to_string(base::agent_limits::max_node_pods) + " pods");
    }
    auto pod = agent_codec::read_node_pod(pod_json, limits_);
    if (!pod) return std::unexpected(pod.error());
    listed_pods_.push_back(*std::move(pod));
    return {};
  }
  void list_ends() override { pod_sink_.pods_listed(std::exchange(listed_pods_, {})); }

  [[nodiscard]] base::Result<Step> event(std::string_view event_json, codec::WireFormat) override {
    auto pod_event = agent_codec::read_node_pod_event(event_json, limits_);
    if (!pod_event) return std::unexpected(pod_event.error());
    Step event_step{pod_event->type, pod_event->resource_version, pod_event->error_code,
                    pod_event->error_message};
    if (pod_event->type == codec::WatchEventType::kDeleted) pod_sink_.pod_gone(pod_event->pod);
    if (pod_event->type == codec::WatchEventType::kAdded ||
        pod_event->type == codec::WatchEventType::kModified) {
      pod_sink_.pod_changed(std::move(pod_event->pod));
    }
    return event_step;
  }

 private:
  const base::Limits limits_;
  const std::string list_target_;
  agent_service::NodePodSink& pod_sink_;
  std::vector<agent::PodView> listed_pods_;
};

}  // namespace

struct KubeNodePods::State {
  const ApiEndpoint endpoint;
  const KubeOptions options;
  const KubeContext context;
  const std::string node;
  std::unique_ptr<ResourceStream> pod_stream;
};

KubeNodePods::KubeNodePods(const ApiEndpoint& endpoint, const KubeOptions& options,
                           const KubeContext& context, std::string node)
    : state_(new State{endpoint, options, context, std::move(node), nullptr}) {}

KubeNodePods::~KubeNodePods() { stop(); }

void KubeNodePods::start(agent_service::NodePodSink& sink) {
  SNUG_CHECK(state_->pod_stream == nullptr);
  state_->pod_stream = std::make_unique<ResourceStream>(
      state_->endpoint, state_->options, state_->context,
      std::make_unique<NodePodFeed>(state_->context.limits, state_->node, sink));
}

void KubeNodePods::stop() { state_->pod_stream.reset(); }

}  // namespace snug::kube
