#include "snug/verify_codec/observation_codec.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "snug/base/text.hpp"
#include "snug/verify/verify_limits.hpp"

namespace snug::verify_codec {
namespace {

using ObservationJson = nlohmann::json;

constexpr auto kReplaceInvalid = ObservationJson::error_handler_t::replace;

std::string clipped(const std::string& text, std::size_t bytes) {
  return base::clip_text(text, bytes);
}

const char* verdict_word(verify::CheckVerdict verdict) {
  switch (verdict) {
    case verify::CheckVerdict::kOk:
      return "ok";
    case verify::CheckVerdict::kFailed:
      return "failed";
    case verify::CheckVerdict::kNotChecked:
      return "not-checked";
    case verify::CheckVerdict::kNotEnforced:
      break;
  }
  return "not-enforced";
}

verify::Observation observation_of(const ObservationJson& json) {
  verify::Observation seen;
  for (const ObservationJson& node : json.at("nodes")) {
    seen.nodes.push_back(
        {.name = node.at("name").get<std::string>(), .denied = node.at("denied").get<bool>()});
  }
  for (const auto& [name, value] : json.at("variables").items())
    seen.variables.emplace(name, value.get<std::string>());
  const ObservationJson& cuda = json.at("cuda");
  seen.cuda = {.library = cuda.at("library").get<std::string>(),
               .problem = cuda.at("problem").get<std::string>(),
               .devices = cuda.at("devices").get<std::int64_t>(),
               .uuid = cuda.at("uuid").get<std::string>(),
               .total_mib = cuda.at("totalMiB").get<std::int64_t>()};
  const ObservationJson& allocation = json.at("allocation");
  seen.allocation = {.wanted_mib = allocation.at("wantedMiB").get<std::int64_t>(),
                     .got_mib = allocation.at("gotMiB").get<std::int64_t>(),
                     .out_of_memory = allocation.at("outOfMemory").get<bool>()};
  return seen;
}

}  // namespace

namespace {

std::string line_of(const ObservationJson& json) {
  return json.dump(-1, ' ', false, kReplaceInvalid);
}

/// Leaves out the variable that needs most bytes, or the last node. Returns whether there was one.
bool leave_one_out(ObservationJson& json) {
  std::size_t most = 0;
  std::string longest;
  for (const auto& [name, value] : json["variables"].items()) {
    const std::size_t size = line_of(value).size();
    if (size > most) longest = name;
    most = std::max(most, size);
  }
  if (most > 0) return json["variables"].erase(longest) > 0;
  if (json["nodes"].empty()) return false;
  json["nodes"].erase(json["nodes"].size() - 1);
  return true;
}

}  // namespace

std::string write_observation(const verify::Observation& seen) {
  ObservationJson nodes = ObservationJson::array();
  for (const verify::SeenNode& node : seen.nodes) {
    if (nodes.size() == verify::kMaxSeenNodes) break;
    nodes.push_back({{"name", clipped(node.name, 64)}, {"denied", node.denied}});
  }
  ObservationJson variables = ObservationJson::object();
  for (const auto& [name, value] : seen.variables)
    variables[name] = clipped(value, verify::kMaxSeenVariableBytes);
  ObservationJson json = {{"nodes", std::move(nodes)},
                          {"variables", std::move(variables)},
                          {"cuda",
                           {{"library", clipped(seen.cuda.library, verify::kMaxSeenProblemBytes)},
                            {"problem", clipped(seen.cuda.problem, verify::kMaxSeenProblemBytes)},
                            {"devices", seen.cuda.devices},
                            {"uuid", seen.cuda.uuid},
                            {"totalMiB", seen.cuda.total_mib}}},
                          {"allocation",
                           {{"wantedMiB", seen.allocation.wanted_mib},
                            {"gotMiB", seen.allocation.got_mib},
                            {"outOfMemory", seen.allocation.out_of_memory}}}};
  while (line_of(json).size() >= verify::kMaxObservationBytes && leave_one_out(json)) {
  }
  return line_of(json);
}

base::Result<verify::Observation> read_observation(std::string_view json) {
  try {
    return observation_of(ObservationJson::parse(json));
  } catch (const ObservationJson::exception& problem) {
    return base::fail(base::ErrorCode::kInvalid,
                      std::string("it is no observation of snug-observe: ") + problem.what());
  }
}

std::string write_checks(const std::string& node, std::span<const verify::Check> checks) {
  ObservationJson rows = ObservationJson::array();
  for (const verify::Check& check : checks) {
    rows.push_back({{"check", check.what},
                    {"expected", check.expected},
                    {"seen", check.seen},
                    {"verdict", verdict_word(check.verdict)}});
  }
  return ObservationJson{{"node", node}, {"checks", std::move(rows)}}.dump(2, ' ', false,
                                                                           kReplaceInvalid);
}

}  // namespace snug::verify_codec
