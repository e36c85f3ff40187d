#include "adapters/kube/object_feeds.hpp"

#include <string>
#include <utility>
#include <vector>

#include "snug/codec/proto_wire.hpp"

namespace snug::kube {
namespace {

ObjectFeed::Step step_of(const codec::WatchEvent& event) {
  return {event.type, event.resource_version, event.error_code, event.error_message};
}

class PodFeed final : public ObjectFeed {
 public:
  PodFeed(const base::Limits& limits, service::ClusterSink& sink) : reader_(limits), sink_(sink) {}

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

  void alive(std::string_view version) override {
    sink_.stream_alive(service::Resource::kPods, version);
  }
  void lost() override { sink_.stream_lost(service::Resource::kPods); }
  void list_begins() override {
    listed_.clear();
    sink_.pod_list_started();
  }
  [[nodiscard]] base::Result<void> list_item(std::string_view json) override {
    auto pod = reader_.read_pod(json);
    if (!pod) return std::unexpected(pod.error());
    listed_.push_back(*std::move(pod));
    return {};
  }
  void list_ends() override { sink_.pods_listed(std::exchange(listed_, {})); }

  [[nodiscard]] base::Result<Step> event(std::string_view bytes,
                                         codec::WireFormat format) override {
    auto event = reader_.read_pod_event(bytes, format);
    if (!event) return std::unexpected(event.error());
    if (event->type == codec::WatchEventType::kDeleted) sink_.pod_gone(event->pod);
    Step step = step_of(*event);
    if (event->type == codec::WatchEventType::kAdded ||
        event->type == codec::WatchEventType::kModified) {
      sink_.pod_changed(std::move(event->pod));
    }
    return step;
  }

 private:
  const std::string watch_accept_ =
      std::string(codec::kProtobufType) + ";stream=watch,application/json";
  codec::KubeObjectReader reader_;
  service::ClusterSink& sink_;
  std::vector<model::PodFacts> listed_;
};

class NodeFeed final : public ObjectFeed {
 public:
  NodeFeed(const base::Limits& limits, service::ClusterSink& sink) : reader_(limits), sink_(sink) {}

  [[nodiscard]] service::WatchedResource resource() const override {
    return service::WatchedResource::kNodes;
  }
  [[nodiscard]] std::string_view target() const override { return "/api/v1/nodes?"; }
  [[nodiscard]] std::string_view watch_accept() const override { return "application/json"; }

  void alive(std::string_view version) override {
    sink_.stream_alive(service::Resource::kNodes, version);
  }
  void lost() override { sink_.stream_lost(service::Resource::kNodes); }
  void list_begins() override {
    listed_.clear();
    sink_.node_list_started();
  }
  [[nodiscard]] base::Result<void> list_item(std::string_view json) override {
    auto node = reader_.read_node(json);
    if (!node) return std::unexpected(node.error());
    listed_.push_back(*std::move(node));
    return {};
  }
  void list_ends() override { sink_.nodes_listed(std::exchange(listed_, {})); }

  [[nodiscard]] base::Result<Step> event(std::string_view json, codec::WireFormat) override {
    auto event = reader_.read_node_event(json);
    if (!event) return std::unexpected(event.error());
    if (event->type == codec::WatchEventType::kDeleted) sink_.node_gone(event->node.name);
    Step step = step_of(*event);
    if (event->type == codec::WatchEventType::kAdded ||
        event->type == codec::WatchEventType::kModified) {
      sink_.node_changed(std::move(event->node));
    }
    return step;
  }

 private:
  codec::KubeObjectReader reader_;
  service::ClusterSink& sink_;
  std::vector<model::NodeFacts> listed_;
};

}  // namespace

std::unique_ptr<ObjectFeed> make_pod_feed(const base::Limits& limits, service::ClusterSink& sink) {
  return std::make_unique<PodFeed>(limits, sink);
}

std::unique_ptr<ObjectFeed> make_node_feed(const base::Limits& limits, service::ClusterSink& sink) {
  return std::make_unique<NodeFeed>(limits, sink);
}

}  // namespace snug::kube
