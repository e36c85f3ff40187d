#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ctl/commands.hpp"
#include "snug/adapters/http/admin_client.hpp"
#include "snug/codec/repack_codec.hpp"

namespace snug::ctl {
namespace {

constexpr int kHttpOk = 200;
constexpr int kHttpBadRequest = 400;
constexpr int kHttpNotFound = 404;
constexpr const char* kDefragPath = "/v1/defrag";

struct DefragFlags {
  std::map<std::string, std::optional<std::string>> query;  // parameters by key; nullopt: not given
  std::string server = "http://127.0.0.1:8889";
  bool json = false;
};

std::string place_text(const codec::ParsedAdvice::Place& place) {
  return place.node + (place.devices.empty() ? "" : " GPU " + place.devices);
}

using MoveRow = std::array<std::string, 4>;

std::string table_text(const std::vector<MoveRow>& rows) {
  std::array<std::size_t, 4> widths{};
  for (const MoveRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const MoveRow& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] + 2 - row[i].size(), ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string advice_text(const codec::ParsedAdvice& advice) {
  const std::string request_line = "request: " + advice.request_text + "\n";
  if (advice.place.node.empty())
    return request_line + "no solution found: " + advice.explanation + "\n";
  if (advice.fits_now) {
    return request_line + "it already fits on " + place_text(advice.place) +
           "; no pod needs to move\n";
  }
  std::vector<MoveRow> rows{{"", "POD", "FROM", "TO"}};
  for (const codec::ParsedAdvice::Move& move : advice.moves) {
    rows.push_back({std::to_string(rows.size()), move.name_space + "/" + move.pod,
                    place_text(move.from), place_text(move.to)});
  }
  return request_line + "it would fit on " + place_text(advice.place) +
         (advice.moves.size() == 1 ? ", if this pod moved:\n\n"
                                   : ", if these pods moved, in this order:\n\n") +
         table_text(rows) +
         "\nNothing was changed. To move a pod, delete it; its controller creates a new one, "
         "which is scheduled\nlike any new pod.\n";
}

/// Returns whether `server` is an admin port of snug-extender, that is, whether the list of
/// endpoints that it returns for `GET /` has kDefragPath.
bool is_admin_port(const std::string& server) {
  const base::Result<http::AdminResponse> endpoints = http::get_from_admin(server, "/", {});
  return endpoints && endpoints->status == kHttpOk &&
         endpoints->body.find(kDefragPath) != std::string::npos;
}

int report_refusal(const DefragFlags& flags, const http::AdminResponse& response) {
  if (response.status == kHttpNotFound && !is_admin_port(flags.server)) {
    return report_error(kExitFailure,
                        flags.server +
                            " is not the admin address of snug-extender (adminListen, whose "
                            "port is 8889 by default)");
  }
  const std::string sentence = codec::read_error_sentence(response.body);
  return report_error(response.status == kHttpBadRequest ? kExitUsage : kExitFailure,
                      sentence.empty()
                          ? flags.server + " answers with status " + std::to_string(response.status)
                          : sentence);
}

int run(const DefragFlags& flags) {
  std::multimap<std::string, std::string> query;
  for (const auto& [key, value] : flags.query) {
    if (value) query.emplace(key, *value);
  }
  const bool names_pod = query.contains("pod");
  const bool states_request = std::ranges::any_of(
      query, [](const auto& parameter) { return parameter.first.starts_with("gpu-"); });
  if (names_pod == states_request) {
    return report_error(kExitUsage,
                        "defrag takes --pod (with --namespace), or a request (--gpu-fraction, "
                        "--gpu-memory…), and not both; see --help");
  }
  const base::Result<http::AdminResponse> reply =
      http::get_from_admin(flags.server, kDefragPath, query);
  if (!reply) {
    const bool flag = reply.error().code == base::ErrorCode::kInvalid;
    return report_error(flag ? kExitUsage : kExitFailure, reply.error().message);
  }
  if (reply->status != kHttpOk) return report_refusal(flags, *reply);
  const base::Result<codec::ParsedAdvice> advice = codec::read_repack_advice(reply->body);
  if (!advice) return report_error(kExitFailure, flags.server + ": " + advice.error().message);
  const auto printed = print(flags.json ? reply->body + "\n" : advice_text(*advice));
  return printed ? kExitOk : report_error(kExitFailure, printed.error().message);
}

}  // namespace

void add_defrag(CLI::App& app, Action& chosen_action) {
  CLI::App* command = app.add_subcommand(
      "defrag",
      "Advises which few pods to move so that a pod or a request fits; moves no pods itself");
  const auto flags = std::make_shared<DefragFlags>();
  for (const codec::RepackQueryKey& key : codec::repack_keys()) {
    command->add_option(std::string("--") + key.name, flags->query[key.name], key.help)
        ->type_name(key.placeholder);
  }
  command->add_option("--server", flags->server, "URL of the admin port of snug-extender")
      ->type_name("URL")
      ->capture_default_str();
  command->add_flag("--json", flags->json, "print the JSON reply unchanged");
  command->callback([flags, &chosen_action] { chosen_action = [flags] { return run(*flags); }; });
}

}  // namespace snug::ctl
