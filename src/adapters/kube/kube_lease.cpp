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
  LeaseFeed(std::string list_target, service::LeaseSink& lease_sink)
      : list_target_(std::move(list_target)), lease_sink_(lease_sink) {}

  [[nodiscard]] service::WatchedResource resource() const override {
    return service::WatchedResource::kLeases;
  }
  [[nodiscard]] std::string_view target() const override { return list_target_; }
  [[nodiscard]] std::string_view watch_accept() const override { return "application/json"; }

  void alive(std::string_view) override {}
  void lost() override {}
  void list_begins() override { listed_version_.clear(); }
  [[nodiscard]] base::Result<void> list_item(std::string_view lease_json) override {
    auto listed_lease = codec::read_lease(lease_json);
    if (!listed_lease) return std::unexpected(listed_lease.error());
    listed_version_ = listed_lease->resource_version;
    return {};
  }
  void list_ends() override { lease_sink_.lease_changed(listed_version_); }

  [[nodiscard]] base::Result<Step> event(std::string_view event_json, codec::WireFormat) override {
    auto lease_event = codec::read_lease_event(event_json);
    if (!lease_event) return std::unexpected(lease_event.error());
    if (lease_event->type == codec::LeaseEvent::Type::kChanged)
      lease_sink_.lease_changed(lease_event->resource_version);
    if (lease_event->type == codec::LeaseEvent::Type::kDeleted) lease_sink_.lease_changed({});
    return step_of(*lease_event);
  }

 private:
  const std::string list_target_;
  service::LeaseSink& lease_sink_;
  /// resourceVersion of the Lease in the list; empty: the list has none.
  std::string listed_version_;
};

std::string leases_path(const leader::LeaseName& lease_name) {
  return "/apis/coordination.k8s.io/v1/namespaces/" + lease_name.name_space + "/leases";
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
        const KubeContext& the_context, leader::LeaseName the_lease_name)
      : endpoint(the_endpoint),
        options(the_options),
        limits(one_connection(the_context.limits)),
        context{limits, the_context.metrics, the_context.log, the_context.clock},
        lease_name(std::move(the_lease_name)),
        api_caller(endpoint, options, context) {}

  [[nodiscard]] base::Result<void> check_lease_name() const {
    auto valid_names = codec::check_object_name("namespace", lease_name.name_space);
    return valid_names ? codec::check_object_name("Lease", lease_name.name) : valid_names;
  }

  const ApiEndpoint endpoint;
  const KubeOptions options;
  const base::Limits limits;
  const KubeContext context;
  const leader::LeaseName lease_name;
  ApiCaller api_caller;
  std::unique_ptr<ResourceStream> lease_stream;
};

KubeLease::KubeLease(const ApiEndpoint& endpoint, const KubeOptions& options,
                     const KubeContext& context, leader::LeaseName lease_name)
    : state_(std::make_unique<State>(endpoint, options, context, std::move(lease_name))) {}

KubeLease::~KubeLease() { stop_watch(); }

base::Result<std::optional<leader::Lease>> KubeLease::read() {
  if (auto valid_names = state_->check_lease_name(); !valid_names)
    return std::unexpected(valid_names.error());
  ApiRequest get_request;
  get_request.target = leases_path(state_->lease_name) + "/" + state_->lease_name.name;
  const auto lease_reply = state_->api_caller.call(service::ApiCall::kGetLease, get_request);
  if (!lease_reply) return std::unexpected(lease_reply.error());
  if (lease_reply->status == 404 &&
      codec::says_not_found(lease_reply->body, "leases", state_->lease_name.name)) {
    return std::optional<leader::Lease>();
  }
  if (lease_reply->status != 200) {
    return base::fail(base::ErrorCode::kUnavailable,
                      "the API server answered " + std::to_string(lease_reply->status) +
                          " to the GET of the Lease " + state_->lease_name.name_space + "/" +
                          state_->lease_name.name + ": " +
                          codec::status_message(lease_reply->body));
  }
  auto lease = codec::read_lease(lease_reply->body);
  if (!lease) return std::unexpected(lease.error());
  return *std::move(lease);
}

base::Result<leader::Lease> KubeLease::write(const leader::LeaseRecord& record,
                                             const leader::Lease* over) {
  if (auto valid_names = state_->check_lease_name(); !valid_names)
    return std::unexpected(valid_names.error());
  ApiRequest write_request;
  write_request.method = over == nullptr ? "POST" : "PUT";
  write_request.target =
      leases_path(state_->lease_name) + (over == nullptr ? "" : "/" + state_->lease_name.name);
  write_request.content_type = "application/json";
  write_request.body = codec::write_lease(state_->lease_name, record, over,
                                          codec::micro_time(std::chrono::system_clock::now()));
  const auto write_reply = state_->api_caller.call(service::ApiCall::kWriteLease, write_request);
  if (!write_reply) return std::unexpected(write_reply.error());
  if (write_reply->status == 200 || write_reply->status == 201)
    return codec::read_lease(write_reply->body);
  base::ErrorCode code = base::ErrorCode::kUnavailable;
  if (write_reply->status >= 500) code = base::ErrorCode::kUnknown;
  if (write_reply->status == 404) code = base::ErrorCode::kNotFound;
  if (write_reply->status == 409) code = base::ErrorCode::kConflict;
  return base::fail(code, "the API server answered " + std::to_string(write_reply->status) +
                              " to the write of the Lease " + state_->lease_name.name_space + "/" +
                              state_->lease_name.name + ": " +
                              codec::status_message(write_reply->body));
}

void KubeLease::start_watch(service::LeaseSink& lease_sink) {
  if (auto valid_names = state_->check_lease_name(); !valid_names) return;
  const std::string list_target = leases_path(state_->lease_name) +
                                  "?fieldSelector=metadata.name%3D" +
                                  encode_query(state_->lease_name.name) + "&";
  state_->lease_stream =
      std::make_unique<ResourceStream>(state_->endpoint, state_->options, state_->context,
                                       std::make_unique<LeaseFeed>(list_target, lease_sink));
}

void KubeLease::stop_watch() { state_->lease_stream.reset(); }

}  // namespace snug::kube
