#include "adapters/http/no_reply.hpp"

#include "snug/base/limits.hpp"

namespace snug::http {
namespace {

constexpr std::string_view kFromOutside =
    "from outside the cluster, use `kubectl snug` or --context, which reach Snug by a "
    "port-forward";
constexpr std::string_view kPerhapsTls =
    "; it may be a port with TLS: if adminAuth or adminTlsCert is set, name it as "
    "https://HOST:PORT; "
    "or it is not the port of adminListen";

std::string seconds_text(std::int64_t time_ms) { return std::to_string(time_ms / 1'000) + " s"; }

std::string reason_and_advice(NoReply why, std::string_view detail) {
  switch (why) {
    case NoReply::kRefused:
      return "cannot be connected to: the connection was refused, so nothing listens there; start "
             "snug-extender, or name its adminListen address with --server; " +
             std::string(kFromOutside);
    case NoReply::kUnknownHost:
      return "cannot be connected to: its host name is unknown to DNS; correct --server; the name "
             "of a Service is known only within its cluster: " +
             std::string(kFromOutside);
    case NoReply::kUnreachable:
      return "cannot be connected to: there is no route to this address; correct --server; " +
             std::string(kFromOutside);
    case NoReply::kTimedOut:
      return "cannot be connected to: no answer within " +
             seconds_text(base::kAdminConnectTimeoutMs) +
             ", as when a firewall or a NetworkPolicy drops the connection, or the host is down; " +
             std::string(kFromOutside);
    case NoReply::kClosed:
      return "closes the connection without a reply" + std::string(kPerhapsTls);
    case NoReply::kNotHttp:
      return "does not answer in HTTP" + std::string(kPerhapsTls);
    case NoReply::kNotTls:
      return "does not answer in TLS; if the admin port has none, name it as http://HOST:PORT";
    case NoReply::kUntrusted:
      return "has a certificate that cannot be trusted; give its authority with --ca-file, or, for "
             "a certificate that Snug signed itself, use --insecure-skip-tls-verify on a network "
             "that you trust";
    case NoReply::kBadAuthority:
      return "cannot be asked: the file of --ca-file cannot be read as PEM certificates";
    case NoReply::kSilent:
      return "accepts the connection, but sends nothing for " +
             seconds_text(base::kAdminIdleTimeoutMs) +
             "; look at the log of snug-extender, or whether another program has this port";
    case NoReply::kOther:
      break;
  }
  return "does not answer (" + std::string(detail) + ")";
}

}  // namespace

std::string no_reply_sentence(NoReply why, std::string_view server, std::string_view detail) {
  return std::string(server) + " " + reason_and_advice(why, detail);
}

}  // namespace snug::http
