#include "app/routes.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/codec/repack_codec.hpp"

namespace snug {
namespace {

constexpr const char* kPlainText = "text/plain; charset=utf-8";

AdminReply to_admin(Reply reply) { return {.status = reply.status, .body = std::move(reply.body)}; }

AdminReply show_metrics(Core& core, PrometheusMetrics& metrics) {
  ClusterGauges gauges;
  gauges.ready = core.readiness.ready();
  gauges.leads = core.readiness.leads();
  gauges.in_conflict = core.readiness.in_conflict();
  if (gauges.in_conflict) gauges.lease_holder = core.readiness.leader();
  for (const Resource resource : kResourceNames.values()) {
    const auto age = core.readiness.age(resource).value_or(std::chrono::milliseconds(0));
    gauges.streams.emplace(resource, StreamGauges{age, core.readiness.version(resource)});
  }
  gauges.ledger = totals_of(core.ledger);
  gauges.pending_pods = static_cast<std::int64_t>(core.pending.size());
  metrics.set_gauges(gauges);
  return {.body = metrics.exposition(), .content_type = "text/plain; version=0.0.4"};
}

AdminReply show_readiness(const Core& core) {
  const Readiness& readiness = core.readiness;
  if (readiness.ready()) return {.body = "ok\n", .content_type = kPlainText};
  // A standby is as it should be: it takes no calls, and it is ready to lead.
  const bool warm = !readiness.leads() && readiness.warm();
  return {.status = warm ? 200 : 503,
          .body = (warm ? "ok: " : "not ready: ") + readiness.why_not() + "\n",
          .content_type = kPlainText};
}

AdminReply end_pod(MemoryApi* memory, const AdminRequest& request) {
  if (memory == nullptr) {
    return {.status = 405,
            .body = R"({"Error":"pods are ended here in the embedded mode (--cluster) alone"})"};
  }
  const Result<void> ended = memory->delete_pod(request.variables.find("namespace")->second,
                                                request.variables.find("name")->second);
  if (ended) return {.body = "{}"};
  return {.status = 404, .body = R"({"Error":"there is no pod of this name"})"};
}

std::optional<std::string_view> parameter(const AdminRequest& request, std::string_view name) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return std::nullopt;
  return found->second;
}

AdminReply defrag(AdminService& admin, const AdminRequest& request) {
  RepackQuestion question;
  for (const auto& [key, value] : request.query) {
    if (key == "namespace") {
      question.name_space = value;
    } else if (key == "pod") {
      question.pod = value;
    } else {
      question.request.emplace(key, value);
    }
  }
  return to_admin(admin.defrag(question));
}

std::vector<std::string> names_of(std::span<const RepackKey> keys) {
  std::vector<std::string> names;
  for (const RepackKey& key : keys) names.emplace_back(key.name);
  return names;
}

}  // namespace

ExtenderHandlers extender_handlers(ExtenderService& service) {
  return {.filter = [&service](std::string& body) { return service.filter(body); },
          .prioritize = [&service](std::string& body) { return service.prioritize(body); },
          .preempt = [&service](std::string& body) { return service.preempt(body); },
          .bind = [&service](std::string& body) { return service.bind(body); }};
}

std::vector<AdminRoute> admin_routes(Core& core, PrometheusMetrics& metrics, MemoryApi* memory) {
  return {
      {"GET", "/livez", "200 while the process serves",
       [](const AdminRequest&) { return AdminReply{.body = "ok\n", .content_type = kPlainText}; }},
      {"GET", "/readyz",
       "200 while Snug decides, or stands by and could; 503 with a sentence otherwise",
       [&core](const AdminRequest&) { return show_readiness(core); }},
      {"GET", "/metrics", "numbers, in Prometheus' text format",
       [&core, &metrics](const AdminRequest&) { return show_metrics(core, metrics); }},
      {"GET",
       "/v1/nodes",
       "every GPU and who holds it (?name=NODE: of one node)",
       [&core](const AdminRequest& request) {
         return to_admin(core.admin.nodes(parameter(request, "name")));
       },
       {"name"}},
      {"GET", "/v1/pods", "every GPU pod, its state and its reservation",
       [&core](const AdminRequest&) { return to_admin(core.admin.pods()); }},
      {"GET", "/v1/defrag",
       "which few pods to move so that a pod that waits fits (?namespace=N&pod=P), or a request "
       "(?gpu-memory=4G…)",
       [&core](const AdminRequest& request) { return defrag(core.admin, request); },
       names_of(repack_keys())},
      {"DELETE", "/v1/pods/{namespace}/{name}", "ends a pod (embedded mode alone)",
       [memory](const AdminRequest& request) { return end_pod(memory, request); }},
  };
}

}  // namespace snug
