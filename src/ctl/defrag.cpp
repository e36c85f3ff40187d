#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/commands.hpp"
#include "ctl/connection.hpp"
#include "ctl/text_table.hpp"
#include "snug/codec/repack_codec.hpp"

namespace snug::ctl {
namespace {

constexpr const char* kDefragPath = "/v1/defrag";

struct DefragFlags {
  std::map<std::string, std::optional<std::string>> query;  // parameters by key; nullopt: not given
  ConnectionFlags connection;
  bool json = false;
};

std::string place_text(const codec::ParsedAdvice::Place& place) {
  return place.node + (place.devices.empty() ? "" : " GPU " + place.devices);
}

/// The line, without what could control a terminal: names and values come from the cluster.
std::string safe_line(const std::string& text) { return line_text(text, Colour::kNone, {}) + "\n"; }

std::string advice_text(const codec::ParsedAdvice& advice) {
  const std::string request_line = safe_line("request: " + advice.request_text);
  if (advice.place.node.empty())
    return request_line + safe_line("no solution found: " + advice.explanation);
  if (advice.fits_now) {
    return request_line +
           safe_line("it already fits on " + place_text(advice.place) + "; no pod needs to move");
  }
  TextTable table({{.title = ""}, {.title = "POD"}, {.title = "FROM"}, {.title = "TO"}});
  int number = 0;
  for (const codec::ParsedAdvice::Move& move : advice.moves) {
    table.add_row({{.text = std::to_string(++number)},
                   {.text = move.name_space + "/" + move.pod},
                   {.text = place_text(move.from)},
                   {.text = place_text(move.to)}});
  }
  std::string table_text;
  for (const std::string& line : table.lines({})) table_text += line + "\n";
  return request_line +
         safe_line("it would fit on " + place_text(advice.place) +
                   (advice.moves.size() == 1 ? ", if this pod moved:"
                                             : ", if these pods moved, in this order:")) +
         "\n" + table_text +
         "\nNothing was changed. To move a pod, delete it; its controller creates a new one, "
         "which is scheduled\nlike any new pod.\n";
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
  if (!query.contains("namespace")) {
    const base::Result<std::string> name_space = default_namespace(flags.connection);
    if (!name_space) return report_error(name_space.error());
    query.emplace("namespace", *name_space);
  }
  base::Result<AdminConnection> snug = AdminConnection::open(flags.connection);
  if (!snug) return report_error(snug.error());
  const base::Result<std::string> reply = snug->get(kDefragPath, query);
  if (!reply) return report_error(reply.error());
  const base::Result<codec::ParsedAdvice> advice = codec::read_repack_advice(*reply);
  if (!advice) return report_error(kExitFailure, snug->name() + ": " + advice.error().message);
  const auto printed = print(flags.json ? *reply + "\n" : advice_text(*advice));
  return printed ? kExitOk : report_error(kExitFailure, printed.error().message);
}

}  // namespace

void add_defrag(CLI::App& app, Action& chosen_action) {
  CLI::App* command = app.add_subcommand(
      "defrag",
      "Advises which few pods to move so that a pod or a request fits; moves no pods itself");
  const auto flags = std::make_shared<DefragFlags>();
  for (const codec::RepackQueryKey& key : codec::repack_keys()) {
    const std::string short_name = std::string_view(key.name) == "namespace" ? "-n," : "";
    command->add_option(short_name + "--" + key.name, flags->query[key.name], key.help)
        ->type_name(key.placeholder);
  }
  command->add_flag("--json", flags->json, "print the JSON reply unchanged");
  add_connection_flags(*command, flags->connection);
  command->callback([flags, &chosen_action] { chosen_action = [flags] { return run(*flags); }; });
}

}  // namespace snug::ctl
