#include "snug/adapters/http/probe_routes.hpp"

#include <utility>

namespace snug::http {
namespace {

AdminReply plain_text(int status, std::string body) {
  return {.status = status, .body = std::move(body), .content_type = "text/plain; charset=utf-8"};
}

}  // namespace

std::vector<AdminRoute> probe_routes(ProbeAnswers answers) {
  return {{.method = "GET",
           .pattern = "/livez",
           .summary = "whether the process lives",
           .handler = [](const AdminRequest&) { return plain_text(200, "ok\n"); }},
          {.method = "GET",
           .pattern = "/readyz",
           .summary = std::move(answers.readiness),
           .handler =
               [why_not_ready = std::move(answers.why_not_ready)](const AdminRequest&) {
                 const std::string why_not = why_not_ready();
                 return why_not.empty() ? plain_text(200, "ok\n")
                                        : plain_text(503, "not ready: " + why_not + "\n");
               }},
          {.method = "GET",
           .pattern = "/metrics",
           .summary = "metrics for Prometheus",
           .handler = [exposition = std::move(answers.exposition)](const AdminRequest&) {
             return AdminReply{.body = exposition(), .content_type = "text/plain; version=0.0.4"};
           }}};
}

}  // namespace snug::http
