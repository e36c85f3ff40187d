#include "adapters/kube/object_feeds.hpp"

#include <string>
#include <utility>
#include <vector>

#include "snug/codec/proto_wire.hpp"

namespace snug::kube {
namespace {

ObjectFeed::Step step_of(const codec::WatchEvent& watch_event) {
  return {watch_event.type, watch_event.resource_version, watch_event.error_code,
          watch_event.error_message};
}

class PodFeed final : public ObjectFeed {
 public:
  PodFeed(const base::Limits& limits, service::ClusterSink& cluster_sink)
      : pod_reader_(limits), cluster_sink_(cluster_sink) {}

  [[nodiscard]] service::WatchedResource resource() const override {
    return service::WatchedResource::kPods;
  }
  [[nodiscard]] std::string_view target() const override {
    return "/api/v1/pods"
           "?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&";
  }
  /// Prefers protobuf, because pods change often. The API server encodes each change in protobuf
  /// anyway, for kube-scheduler's watch; it would encode each change in JSON for Snug alone.
  [[nodiscard]] std::string_view watch_accept() const override { return watch_accept_; }

  void alive(std::string_view resource_version) override {
    cluster_sink_.stream_alive(service::Resource::kPods, resource_version);
  }
  void lost() override { cluster_sink_.stream_lost(service::Resource::kPods); }
  void list_begins() override {
    listed_pods_.clear();
    cluster_sink_.pod_list_started();
  }
  [[nodiscard]] base::Result<void> list_item(std::string_view pod_json) override {
    auto pod = pod_reader_.read_pod(pod_json);
    if (!pod) return std::unexpected(pod.error());
    listed_pods_.push_back(*std::move(pod));
    return {};
  }
  void list_ends() override { cluster_sink_.pods_listed(std::exchange(listed_pods_, {})); }

  [[nodiscard]] base::Result<Step> event(std::string_view event_bytes,
                                         codec::WireFormat wire_format) override {
    auto pod_event = pod_reader_.read_pod_event(event_bytes, wire_format);
    if (!pod_event) return std::unexpected(pod_event.error());
    if (pod_event->type == codec::WatchEventType::kDeleted) cluster_sink_.pod_gone(pod_event->pod);
    Step event_step = step_of(*pod_event);
    if (pod_event->type == codec::WatchEventType::kAdded ||
        pod_event->type == codec::WatchEventType::kModified) {
      cluster_sink_.pod_changed(std::move(pod_event->pod));
    }
    return event_step;
  }

 private:
  const std::string watch_accept_ =
      std::string(codec::kProtobufType) + ";stream=watch,application/json";
  codec::KubeObjectReader pod_reader_;
  service::ClusterSink& cluster_sink_;
  std::vector<model::PodFacts> listed_pods_;
};

class NodeFeed final : public ObjectFeed {
 public:
  NodeFeed(const base::Limits& limits, service::ClusterSink& cluster_sink)
      : node_reader_(limits), cluster_sink_(cluster_sink) {}

  [[nodiscard]] service::WatchedResource resource() const override {
    return service::WatchedResource::kNodes;
  }
  [[nodiscard]] std::string_view target() const override { return "/api/v1/nodes?"; }
  [[nodiscard]] std::string_view watch_accept() const override { return "application/json"; }

  void alive(std::string_view resource_version) override {
    cluster_sink_.stream_alive(service::Resource::kNodes, resource_version);
  }
  void lost() override { cluster_sink_.stream_lost(service::Resource::kNodes); }
  void list_begins() override {
    listed_nodes_.clear();
    cluster_sink_.node_list_started();
  }
  [[nodiscard]] base::Result<void> list_item(std::string_view node_json) override {
    auto node = node_reader_.read_node(node_json);
    if (!node) return std::unexpected(node.error());
    listed_nodes_.push_back(*std::move(node));
    return {};
  }
  void list_ends() override { cluster_sink_.nodes_listed(std::exchange(listed_nodes_, {})); }

  [[nodiscard]] base::Result<Step> event(std::string_view event_json, codec::WireFormat) override {
    auto node_event = node_reader_.read_node_event(event_json);
    if (!node_event) return std::unexpected(node_event.error());
    if (node_event->type == codec::WatchEventType::kDeleted)
      cluster_sink_.node_gone(node_event->node.name);
    Step event_step = step_of(*node_event);
    if (node_event->type == codec::WatchEventType::kAdded ||
        node_event->type == codec::WatchEventType::kModified) {
      cluster_sink_.node_changed(std::move(node_event->node));
    }
    return event_step;
  }

 private:
  codec::KubeObjectReader node_reader_;
  service::ClusterSink& cluster_sink_;
  std::vector<model::NodeFacts> listed_nodes_;
};

}  // namespace

ObjectFeed::Step step_of(const codec::LeaseEvent& lease_event) {
  ObjectFeed::Step step{codec::WatchEventType::kBookmark, lease_event.resource_version,
                        lease_event.error_code, lease_event.error_message};
  switch (lease_event.type) {
    case codec::LeaseEvent::Type::kChanged:
      step.kind = codec::WatchEventType::kModified;
      break;
    case codec::LeaseEvent::Type::kDeleted:
      step.kind = codec::WatchEventType::kDeleted;
      break;
    case codec::LeaseEvent::Type::kError:
      step.kind = codec::WatchEventType::kError;
      break;
    case codec::LeaseEvent::Type::kBookmark:
      break;
  }
  return step;
}

std::unique_ptr<ObjectFeed> make_pod_feed(const base::Limits& limits,
                                          service::ClusterSink& cluster_sink) {
  return std::make_unique<PodFeed>(limits, cluster_sink);
}

std::unique_ptr<ObjectFeed> make_node_feed(const base::Limits& limits,
                                           service::ClusterSink& cluster_sink) {
  return std::make_unique<NodeFeed>(limits, cluster_sink);
}

}  // namespace snug::kube
