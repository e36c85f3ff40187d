#include "app/routes.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/codec/repack_codec.hpp"

namespace snug::app {
namespace {

constexpr const char* kPlainText = "text/plain; charset=utf-8";

http::AdminReply to_admin_reply(service::Reply reply) {
  return {.status = reply.status, .body = std::move(reply.body)};
}

http::AdminReply show_metrics(ServiceCore& core, obs::PrometheusMetrics& metrics) {
  obs::ClusterGauges gauges;
  gauges.ready = core.readiness.is_ready();
  gauges.leads = core.readiness.is_leader();
  gauges.in_conflict = core.readiness.is_in_conflict();
  if (gauges.in_conflict) gauges.lease_holder = core.readiness.leader();
  for (const service::Resource resource : service::kResourceNames.values()) {
    const auto stream_age = core.readiness.age(resource).value_or(std::chrono::milliseconds(0));
    gauges.streams.emplace(resource,
                           obs::StreamGauges{stream_age, core.readiness.version(resource)});
  }
  service::MeasuredUsage measured = core.usage.measure();
  gauges.snapshot = std::move(measured.snapshot);
  gauges.usage = std::move(measured.usage);
  gauges.policy_generation = measured.policy.version;
  gauges.holdings = core.ledger.gpu_holding_counts();
  gauges.pending_pods = static_cast<std::int64_t>(core.pending.size());
  return {.body = metrics.exposition(gauges), .content_type = "text/plain; version=0.0.4"};
}

http::AdminReply show_readiness(const ServiceCore& core) {
  const service::Readiness& readiness = core.readiness;
  if (readiness.is_ready()) return {.body = "ok\n", .content_type = kPlainText};
  // A warm standby counts as ready: it answers no calls, but it could become the leader.
  const bool is_warm = !readiness.is_leader() && readiness.is_warm_standby();
  return {.status = is_warm ? 200 : 503,
          .body = (is_warm ? "ok: " : "not ready: ") + readiness.why_not() + "\n",
          .content_type = kPlainText};
}

http::AdminReply delete_pod(memory::MemoryApi* memory, const http::AdminRequest& request) {
  if (memory == nullptr) {
    return {.status = 405,
            .body = R"({"Error":"pods can be deleted here in embedded mode (--cluster) only"})"};
  }
  const base::Result<void> deletion = memory->delete_pod(
      request.variables.find("namespace")->second, request.variables.find("name")->second);
  if (deletion) return {.body = "{}"};
  return {.status = 404, .body = R"({"Error":"there is no pod of this name"})"};
}

std::optional<std::string_view> query_parameter(const http::AdminRequest& request,
                                                std::string_view key) {
  const auto parameter = request.query.find(key);
  if (parameter == request.query.end()) return std::nullopt;
  return parameter->second;
}

http::AdminReply show_nodes(service::AdminService& admin, const http::AdminRequest& request) {
  const auto name = query_parameter(request, "name");
  const auto since = query_parameter(request, "since");
  if (name && since) {
    return {.status = 400, .body = R"({"Error":"the query of /v1/nodes has both name and since"})"};
  }
  return to_admin_reply(since ? admin.nodes_since(*since) : admin.nodes(name));
}

http::AdminReply show_defrag(service::AdminService& admin, const http::AdminRequest& request) {
  service::RepackQuery repack_query;
  for (const auto& [key, value] : request.query) {
    if (key == "namespace") {
      repack_query.name_space = value;
    } else if (key == "pod") {
      repack_query.pod = value;
    } else {
      repack_query.request.emplace(key, value);
    }
  }
  return to_admin_reply(admin.defrag(repack_query));
}

http::AdminReply show_explanation(service::ExplainService& explanations,
                                  const http::AdminRequest& request) {
  const auto text = [&](std::string_view key) -> std::optional<std::string> {
    const auto parameter = query_parameter(request, key);
    return parameter ? std::optional<std::string>(*parameter) : std::nullopt;
  };
  const auto per_node = query_parameter(request, "nodes");
  if (per_node && *per_node != "true" && *per_node != "false") {
    return {.status = 400, .body = R"({"Error":"the query's nodes must be true or false"})"};
  }
  return to_admin_reply(explanations.explain({.name_space = text("namespace"),
                                              .pod = text("pod"),
                                              .manifest = text("manifest"),
                                              .per_node = per_node == "true",
                                              .own_pods_only = request.own_pods_only}));
}

std::vector<std::string> names_of_keys(std::span<const codec::RepackQueryKey> keys) {
  std::vector<std::string> key_names;
  for (const codec::RepackQueryKey& key : keys) key_names.emplace_back(key.name);
  return key_names;
}

}  // namespace

http::ExtenderHandlers extender_handlers(service::ExtenderService& service) {
  return {.filter = [&service](std::string& body) { return service.filter(body); },
          .prioritize = [&service](std::string& body) { return service.prioritize(body); },
          .preempt = [&service](std::string& body) { return service.preempt(body); },
          .bind = [&service](std::string& body) { return service.bind(body); }};
}

std::vector<http::AdminRoute> admin_routes(ServiceCore& core, obs::PrometheusMetrics& metrics,
                                           memory::MemoryApi* memory) {
  return {
      {.method = "GET",
       .pattern = "/livez",
       .summary = "liveness: 200 while the process answers",
       .handler =
           [](const http::AdminRequest&) {
             return http::AdminReply{.body = "ok\n", .content_type = kPlainText};
           },
       .audience = http::Audience::kEveryone},
      {.method = "GET",
       .pattern = "/readyz",
       .summary =
           "readiness: 200 if Snug decides or is a warm standby; otherwise 503 with the reason",
       .handler = [&core](const http::AdminRequest&) { return show_readiness(core); },
       .audience = http::Audience::kEveryone},
      {"GET", "/metrics", "metrics in Prometheus' text format",
       [&core, &metrics](const http::AdminRequest&) { return show_metrics(core, metrics); }},
      {"GET",
       "/v1/nodes",
       "all GPUs and the pods that hold them (?name=NODE: only those of one node; ?since=VERSION: "
       "of the nodes that have changed since an earlier reply)",
       [&core](const http::AdminRequest& request) { return show_nodes(core.admin, request); },
       {"name", "since"}},
      {"GET",
       "/v1/pods",
       "all GPU pods, each with its state and its reservation (?namespace=N: only those of one "
       "namespace)",
       [&core](const http::AdminRequest& request) {
         return to_admin_reply(core.admin.pods(query_parameter(request, "namespace")));
       },
       {"namespace"},
       http::Audience::kTenants},
      {"GET", "/v1/cluster",
       "how full the cluster is, by GPU model and namespace, and why pods are pending",
       [&core](const http::AdminRequest&) { return to_admin_reply(core.admin.cluster()); }},
      {"GET", "/v1/history", "how full the cluster was in the last hours",
       [&core](const http::AdminRequest&) { return to_admin_reply(core.admin.history()); }},
      {"GET", "/v1/policy", "the policy in force",
       [&core](const http::AdminRequest&) { return to_admin_reply(core.admin.policy()); }},
      {"GET", "/v1/defrag",
       "which few pods to move so that a waiting pod (?namespace=N&pod=P) or a request "
       "(?gpu-memory=4G…) fits",
       [&core](const http::AdminRequest& request) { return show_defrag(core.admin, request); },
       names_of_keys(codec::repack_keys())},
      {"GET",
       "/v1/explain",
       "why a pod (?namespace=N&pod=P, or ?manifest=JSON for one that does not exist) is pending "
       "or "
       "where it is, and what would make it fit",
       [&core](const http::AdminRequest& request) {
         return show_explanation(core.explanations, request);
       },
       {"namespace", "pod", "manifest", "nodes"},
       http::Audience::kTenants},
      {"DELETE", "/v1/pods/{namespace}/{name}", "deletes a pod (only in embedded mode)",
       [memory](const http::AdminRequest& request) { return delete_pod(memory, request); }},
  };
}

}  // namespace snug::app
