#include "snug/adapters/kube/kube_lease.hpp"

#include <utility>

#include "adapters/kube/api_caller.hpp"
#include "adapters/kube/resource_stream.hpp"
#include "adapters/kube/url.hpp"
#include "snug/codec/api_status.hpp"
#include "snug/codec/api_writes.hpp"
#include "snug/codec/object_names.hpp"

namespace snug::kube {
namespace {

class LeaseFeed final : public ObjectFeed {
 public:
  LeaseFeed(std::string target, service::LeaseSink& sink)
      : target_(std::move(target)), sink_(sink) {}

  [[nodiscard]] service::WatchedResource resource() const override {
    return service::WatchedResource::kLeases;
  }
  [[nodiscard]] std::string_view target() const override { return target_; }
  [[nodiscard]] std::string_view watch_accept() const override { return "application/json"; }

  void alive(std::string_view) override {}
  void lost() override {}
  void list_begins() override { listed_.clear(); }
  [[nodiscard]] base::Result<void> list_item(std::string_view json) override {
    auto lease = codec::read_lease(json);
    if (!lease) return std::unexpected(lease.error());
    listed_ = lease->resource_version;
    return {};
  }
  void list_ends() override { sink_.lease_changed(listed_); }

  [[nodiscard]] base::Result<Step> event(std::string_view json, codec::WireFormat) override {
    auto event = codec::read_lease_event(json);
    if (!event) return std::unexpected(event.error());
    Step step{codec::WatchEventType::kBookmark, event->resource_version, event->error_code,
              event->error_message};
    switch (event->type) {
      case codec::LeaseEvent::Type::kChanged:
        step.kind = codec::WatchEventType::kModified;
        sink_.lease_changed(event->resource_version);
        break;
      case codec::LeaseEvent::Type::kDeleted:
        step.kind = codec::WatchEventType::kDeleted;
        sink_.lease_changed({});
        break;
      case codec::LeaseEvent::Type::kError:
        step.kind = codec::WatchEventType::kError;
        break;
      case codec::LeaseEvent::Type::kBookmark:
        break;
    }
    return step;
  }

 private:
  const std::string target_;
  service::LeaseSink& sink_;
  std::string listed_;  // resourceVersion of the Lease in the list; empty: the list has none
};

std::string collection(const leader::LeaseName& name) {
  return "/apis/coordination.k8s.io/v1/namespaces/" + name.name_space + "/leases";
}

/// Returns `limits` with apiConnections 1, which is enough because the calls about the Lease are
/// made one after the other.
base::Limits one_connection(base::Limits limits) {
  limits.api_connections = 1;
  return limits;
}

}  // namespace

struct KubeLease::State {
  State(const ApiEndpoint& the_endpoint, const KubeOptions& the_options,
        const KubeContext& the_context, leader::LeaseName the_name)
      : endpoint(the_endpoint),
        options(the_options),
        limits(one_connection(the_context.limits)),
        context{limits, the_context.metrics, the_context.log, the_context.clock},
        name(std::move(the_name)),
        caller(endpoint, options, context) {}

  [[nodiscard]] base::Result<void> check() const {
    auto valid = codec::check_object_name("namespace", name.name_space);
    return valid ? codec::check_object_name("Lease", name.name) : valid;
  }

  const ApiEndpoint endpoint;
  const KubeOptions options;
  const base::Limits limits;
  const KubeContext context;
  const leader::LeaseName name;
  ApiCaller caller;
  std::unique_ptr<ResourceStream> stream;
};

KubeLease::KubeLease(const ApiEndpoint& endpoint, const KubeOptions& options,
                     const KubeContext& context, leader::LeaseName name)
    : state_(std::make_unique<State>(endpoint, options, context, std::move(name))) {}

KubeLease::~KubeLease() { stop_watch(); }

base::Result<std::optional<leader::Lease>> KubeLease::read() {
  if (auto valid = state_->check(); !valid) return std::unexpected(valid.error());
  ApiRequest request;
  request.target = collection(state_->name) + "/" + state_->name.name;
  const auto reply = state_->caller.call(service::ApiCall::kGetLease, request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status == 404 && codec::says_not_found(reply->body, "leases", state_->name.name)) {
    return std::optional<leader::Lease>();
  }
  if (reply->status != 200) {
    return base::fail(base::ErrorCode::kUnavailable,
                      "the API server answered " + std::to_string(reply->status) +
                          " to the GET of the Lease " + state_->name.name_space + "/" +
                          state_->name.name + ": " + codec::status_message(reply->body));
  }
  auto lease = codec::read_lease(reply->body);
  if (!lease) return std::unexpected(lease.error());
  return *std::move(lease);
}

base::Result<leader::Lease> KubeLease::write(const leader::LeaseRecord& record,
                                             const leader::Lease* over) {
  if (auto valid = state_->check(); !valid) return std::unexpected(valid.error());
  ApiRequest request;
  request.method = over == nullptr ? "POST" : "PUT";
  request.target = collection(state_->name) + (over == nullptr ? "" : "/" + state_->name.name);
  request.content_type = "application/json";
  request.body = codec::write_lease(state_->name, record, over,
                                    codec::micro_time(std::chrono::system_clock::now()));
  const auto reply = state_->caller.call(service::ApiCall::kWriteLease, request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status == 200 || reply->status == 201) return codec::read_lease(reply->body);
  base::ErrorCode code = base::ErrorCode::kUnavailable;
  if (reply->status >= 500) code = base::ErrorCode::kUnknown;
  if (reply->status == 404) code = base::ErrorCode::kNotFound;
  if (reply->status == 409) code = base::ErrorCode::kConflict;
  return base::fail(code, "the API server answered " + std::to_string(reply->status) +
                              " to the write of the Lease " + state_->name.name_space + "/" +
                              state_->name.name + ": " + codec::status_message(reply->body));
}

void KubeLease::start_watch(service::LeaseSink& sink) {
  if (auto valid = state_->check(); !valid) return;
  const std::string target = collection(state_->name) + "?fieldSelector=metadata.name%3D" +
                             encode_query(state_->name.name) + "&";
  state_->stream =
      std::make_unique<ResourceStream>(state_->endpoint, state_->options, state_->context,
                                       std::make_unique<LeaseFeed>(target, sink));
}

void KubeLease::stop_watch() { state_->stream.reset(); }

}  // namespace snug::kube
