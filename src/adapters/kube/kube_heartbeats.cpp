#include "snug/adapters/kube/kube_heartbeats.hpp"

#include <utility>
#include <vector>

#include "adapters/kube/resource_stream.hpp"
#include "adapters/kube/url.hpp"
#include "snug/codec/lease_codec.hpp"
#include "snug/codec/object_names.hpp"

namespace snug::kube {
namespace {

class HeartbeatFeed final : public ObjectFeed {
 public:
  HeartbeatFeed(std::string list_target, service::HeartbeatSink& heartbeat_sink)
      : list_target_(std::move(list_target)), heartbeat_sink_(heartbeat_sink) {}

  [[nodiscard]] service::WatchedResource resource() const override {
    return service::WatchedResource::kHeartbeats;
  }
  [[nodiscard]] std::string_view target() const override { return list_target_; }
  [[nodiscard]] std::string_view watch_accept() const override { return "application/json"; }
  /// Most clusters upgrade Snug before they have agents, and then never need the right to watch.
  [[nodiscard]] bool logs_each_failure() const override { return false; }

  void alive(std::string_view) override { heartbeat_sink_.stream_alive(); }
  void lost() override { heartbeat_sink_.stream_lost(); }
  void list_begins() override { listed_heartbeats_.clear(); }
  [[nodiscard]] base::Result<void> list_item(std::string_view lease_json) override {
    auto heartbeat = codec::read_heartbeat(lease_json);
    if (!heartbeat) return std::unexpected(heartbeat.error());
    listed_heartbeats_.push_back(*std::move(heartbeat));
    return {};
  }
  void list_ends() override {
    heartbeat_sink_.heartbeats_listed(std::exchange(listed_heartbeats_, {}));
  }

  [[nodiscard]] base::Result<Step> event(std::string_view event_json, codec::WireFormat) override {
    auto read_event = codec::read_heartbeat_event(event_json);
    if (!read_event) return std::unexpected(read_event.error());
    if (read_event->event.type == codec::LeaseEvent::Type::kChanged)
      heartbeat_sink_.heartbeat_changed(std::move(read_event->heartbeat));
    if (read_event->event.type == codec::LeaseEvent::Type::kDeleted)
      heartbeat_sink_.heartbeat_gone(read_event->heartbeat.node);
    return step_of(read_event->event);
  }

 private:
  const std::string list_target_;
  service::HeartbeatSink& heartbeat_sink_;
  std::vector<model::AgentHeartbeat> listed_heartbeats_;
};

}  // namespace

struct KubeHeartbeats::State {
  const ApiEndpoint endpoint;
  const KubeOptions options;
  const KubeContext context;
  const std::string name_space;
  std::unique_ptr<ResourceStream> stream;
};

KubeHeartbeats::KubeHeartbeats(const ApiEndpoint& endpoint, const KubeOptions& options,
                               const KubeContext& context, std::string name_space)
    : state_(new State{endpoint, options, context, std::move(name_space), nullptr}) {}

KubeHeartbeats::~KubeHeartbeats() { stop_watch(); }

void KubeHeartbeats::start_watch(service::HeartbeatSink& sink) {
  if (!codec::check_object_name("namespace", state_->name_space)) return;
  // A seed of its own, so that its random waits differ from those of other streams.
  KubeOptions stream_options = state_->options;
  stream_options.seed ^= 3 * 0x9E3779B97F4A7C15ULL;
  const std::string list_target =
      "/apis/coordination.k8s.io/v1/namespaces/" + state_->name_space +
      "/leases?labelSelector=" + encode_query(std::string(model::kHeartbeatLabel) + "=true") + "&";
  state_->stream =
      std::make_unique<ResourceStream>(state_->endpoint, stream_options, state_->context,
                                       std::make_unique<HeartbeatFeed>(list_target, sink));
}

void KubeHeartbeats::stop_watch() { state_->stream.reset(); }

}  // namespace snug::kube
