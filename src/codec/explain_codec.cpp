#include "snug/codec/explain_codec.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json_writer.hpp"
#include "snug/request/near_misses.hpp"

namespace snug::codec {
namespace {

using ExplainJson = nlohmann::ordered_json;

ExplainJson score_json(const explain::PlacementScore& score) {
  ExplainJson terms = ExplainJson::array();
  for (const explain::TermScore& term : score.terms) {
    terms.push_back({{"term", term.term},
                     {"weight", term.weight},
                     {"value", term.value},
                     {"score", term.score()}});
  }
  return {{"node", score.node},
          {"total", score.total},
          {"scoreClass", score.score_class},
          {"quantum", score.quantum},
          {"terms", std::move(terms)}};
}

ExplainJson placement_json(const ExplainReply::Placement& placement) {
  const auto& [chosen, runner_up] = placement.comparison;
  ExplainJson json{
      {"node", chosen.node}, {"profile", chosen.profile}, {"decided", placement.decided}};
  json.update(score_json(chosen));
  json["runnerUp"] = runner_up ? score_json(*runner_up) : ExplainJson(nullptr);
  return json;
}

ExplainJson node_reason_json(const ExplainReply::Node& node) {
  return {{"node", node.node}, {"code", node.code}, {"sentence", node.sentence}};
}

/// Adds the last field to the text of an object. There are thousands of nodes, so this writes
/// without the JSON library, which takes several times as long.
void append_per_node(const std::vector<ExplainReply::Node>& nodes, std::string& object) {
  object.pop_back();  // the closing brace
  object += R"(,"perNode":[)";
  for (const ExplainReply::Node& node : nodes) {
    object += R"({"node":)";
    append_json_string(object, node.node);
    object += R"(,"code":)";
    append_json_string(object, node.code);
    object += R"(,"sentence":)";
    append_json_string(object, node.sentence);
    object += "},";
  }
  if (!nodes.empty()) object.pop_back();  // the last comma
  object += "]}";
}

ExplainJson blocker_json(const explain::Blocker& blocker) {
  ExplainJson json{{"node", blocker.node}};
  if (blocker.gpu) json["gpu"] = *blocker.gpu;
  json["namespace"] = blocker.name_space;
  json["pod"] = blocker.pod;
  json["uid"] = blocker.uid;
  if (blocker.units > 0) {
    json["units"] = blocker.units;
  } else {
    json["memoryMiB"] = blocker.memory_mib;
    json["computeMilli"] = blocker.compute_milli;
  }
  return json;
}

template <typename Row, typename Write>
ExplainJson array_of(const std::vector<Row>& rows, const Write& write) {
  ExplainJson array = ExplainJson::array();
  for (const Row& row : rows) array.push_back(write(row));
  return array;
}

std::string text_at(const ExplainJson& json, const char* key) {
  return json.value(key, std::string{});
}
std::int64_t number_at(const ExplainJson& json, const char* key) {
  return json.value(key, std::int64_t{0});
}

explain::PlacementScore score_from(const ExplainJson& json, const std::string& profile) {
  const std::int64_t total = number_at(json, "total");
  // A Snug of another version may not write the score class.
  explain::PlacementScore score{.node = text_at(json, "node"),
                                .profile = profile,
                                .total = total,
                                .score_class = json.value("scoreClass", total),
                                .quantum = json.value("quantum", std::int64_t{1}),
                                .terms = {}};
  for (const ExplainJson& term : json.at("terms"))
    score.terms.push_back(
        {text_at(term, "term"), number_at(term, "weight"), number_at(term, "value")});
  return score;
}

ExplainReply::Node node_reason_from(const ExplainJson& json) {
  return {text_at(json, "node"), text_at(json, "code"), text_at(json, "sentence")};
}

explain::Blocker blocker_from(const ExplainJson& json) {
  explain::Blocker blocker{.node = text_at(json, "node"),
                           .gpu = {},
                           .name_space = text_at(json, "namespace"),
                           .pod = text_at(json, "pod"),
                           .uid = text_at(json, "uid"),
                           .memory_mib = number_at(json, "memoryMiB"),
                           .compute_milli = number_at(json, "computeMilli"),
                           .units = number_at(json, "units")};
  if (json.contains("gpu")) blocker.gpu = json.at("gpu").get<int>();
  return blocker;
}

void read_lists(const ExplainJson& json, ExplainReply& reply) {
  for (const ExplainJson& row : json.at("request")) {
    reply.request.push_back({text_at(row, "container"), number_at(row, "count"),
                             text_at(row, "text"), text_at(row, "asks")});
  }
  for (const ExplainJson& row : json.at("reasons")) {
    reply.reasons.push_back(
        {text_at(row, "code"), text_at(row, "sentence"), number_at(row, "nodes")});
  }
  for (const ExplainJson& row : json.at("blockers")) reply.blockers.push_back(blocker_from(row));
  for (const ExplainJson& row : json.at("advice")) {
    reply.advice.push_back({.kind = text_at(row, "kind"),
                            .sentence = text_at(row, "sentence"),
                            .command = text_at(row, "command")});
  }
  for (const ExplainJson& note : json.at("notes")) reply.notes.push_back(note.get<std::string>());
  if (!json.contains("perNode")) return;
  std::vector<ExplainReply::Node>& per_node = reply.per_node.emplace();
  for (const ExplainJson& row : json.at("perNode")) per_node.push_back(node_reason_from(row));
}

ExplainReply read_reply(const ExplainJson& json) {
  ExplainReply reply{.generation = json.at("generation").get<std::int64_t>(),
                     .name_space = text_at(json, "namespace"),
                     .pod = text_at(json, "pod"),
                     .uid = text_at(json, "uid"),
                     .state = json.at("state").get<std::string>(),
                     .node = text_at(json, "node")};
  if (const ExplainJson& refusal = json.at("refusal"); !refusal.is_null())
    reply.refusal = {text_at(refusal, "code"), text_at(refusal, "sentence")};
  reply.nodes = number_at(json, "nodes");
  reply.feasible = number_at(json, "feasible");
  if (const ExplainJson& nearest = json.at("nearest"); !nearest.is_null())
    reply.nearest = node_reason_from(nearest);
  if (const ExplainJson& placement = json.at("placement"); !placement.is_null()) {
    const std::string profile = text_at(placement, "profile");
    reply.placement = {.comparison = {.chosen = score_from(placement, profile), .runner_up = {}},
                       .decided = text_at(placement, "decided")};
    if (const ExplainJson& runner_up = placement.at("runnerUp"); !runner_up.is_null())
      reply.placement->comparison.runner_up = score_from(runner_up, profile);
  }
  read_lists(json, reply);
  return reply;
}

/// A list of resources that has the amounts above zero.
ExplainJson resource_list(const model::HostResources& amounts) {
  ExplainJson list = ExplainJson::object();
  if (amounts.cpu_milli != 0) list["cpu"] = std::to_string(amounts.cpu_milli) + "m";
  if (amounts.memory_bytes != 0) list["memory"] = std::to_string(amounts.memory_bytes);
  return list;
}

ExplainJson container_manifest(const model::ContainerFacts& container) {
  ExplainJson limits = ExplainJson::object();
  for (const auto& [resource, quantity] : container.gpu_resources) limits[resource] = quantity;
  if (container.mirrored.milli.value > 0)
    limits[std::string(model::kMilliResource)] = std::to_string(container.mirrored.milli.value);
  if (container.mirrored.memory.value > 0)
    limits[std::string(model::kMemoryResource)] = std::to_string(container.mirrored.memory.value);
  ExplainJson json{{"name", container.name}};
  ExplainJson requests = resource_list(container.host);
  if (!requests.empty()) json["resources"]["requests"] = std::move(requests);
  if (!limits.empty()) json["resources"]["limits"] = std::move(limits);
  if (container.type == model::ContainerType::kSidecar) json["restartPolicy"] = "Always";
  return json;
}

/// Writes the resources of the pod as a whole, and for each flag a field that sets it.
void write_pod_fields(const model::PodFacts& pod, ExplainJson& spec) {
  ExplainJson requests = ExplainJson::object();
  if (pod.pod_level_cpu_milli) requests["cpu"] = std::to_string(*pod.pod_level_cpu_milli) + "m";
  if (pod.pod_level_memory_bytes) requests["memory"] = std::to_string(*pod.pod_level_memory_bytes);
  if (!requests.empty()) spec["resources"]["requests"] = std::move(requests);
  ExplainJson overhead = resource_list(pod.overhead);
  if (!overhead.empty()) spec["overhead"] = std::move(overhead);
  if (pod.gated) spec["schedulingGates"] = ExplainJson::array({{{"name", "gate"}}});
  // The facts do not say which constraints and preferences the pod has.
  if (pod.has_other_constraints)
    spec["resourceClaims"] = ExplainJson::array({{{"name", "constraint"}}});
  if (pod.has_soft_preferences) {
    spec["topologySpreadConstraints"] =
        ExplainJson::array({{{"whenUnsatisfiable", "ScheduleAnyway"}}});
  }
}

}  // namespace

std::string write_explanation(const ExplainReply& reply) {
  ExplainJson json{
      {"generation", reply.generation}, {"namespace", reply.name_space}, {"pod", reply.pod}};
  if (!reply.uid.empty()) json["uid"] = reply.uid;
  json["state"] = reply.state;
  if (!reply.node.empty()) json["node"] = reply.node;
  json["request"] = array_of(reply.request, [](const explain::RequestInWords& row) {
    return ExplainJson{
        {"container", row.container}, {"count", row.count}, {"text", row.text}, {"asks", row.asks}};
  });
  json["refusal"] = reply.refusal ? ExplainJson{{"code", reply.refusal->code},
                                                {"sentence", reply.refusal->sentence}}
                                  : ExplainJson(nullptr);
  json["nodes"] = reply.nodes;
  json["feasible"] = reply.feasible;
  json["reasons"] = array_of(reply.reasons, [](const ExplainReply::Reason& row) {
    return ExplainJson{{"code", row.code}, {"sentence", row.sentence}, {"nodes", row.nodes}};
  });
  json["nearest"] = reply.nearest ? node_reason_json(*reply.nearest) : ExplainJson(nullptr);
  json["blockers"] = array_of(reply.blockers, blocker_json);
  json["advice"] = array_of(reply.advice, [](const ExplainReply::Advice& row) {
    ExplainJson advice{{"kind", row.kind}, {"sentence", row.sentence + row.place}};
    if (!row.command.empty()) advice["command"] = row.command;
    return advice;
  });
  json["placement"] = reply.placement ? placement_json(*reply.placement) : ExplainJson(nullptr);
  json["notes"] = reply.notes;
  std::string text = json.dump(-1, ' ', false, ExplainJson::error_handler_t::replace);
  if (reply.per_node) append_per_node(*reply.per_node, text);
  return text;
}

base::Result<ExplainReply> read_explanation(std::string_view json) {
  try {
    return read_reply(ExplainJson::parse(json));
  } catch (const nlohmann::json::exception&) {
    return base::fail(base::ErrorCode::kInvalid, "the reply is not an explanation in JSON");
  }
}

std::string write_pod_manifest(const model::PodFacts& pod) {
  ExplainJson annotations(pod.annotations);
  ExplainJson stray_resources = ExplainJson::object();
  for (const auto& [key, value] : pod.stray_keys)
    (request::is_stray_resource(key) ? stray_resources : annotations)[key] = value;
  ExplainJson init_containers = ExplainJson::array();
  ExplainJson containers = ExplainJson::array();
  for (const model::ContainerFacts& container : pod.containers) {
    (container.type == model::ContainerType::kApp ? containers : init_containers)
        .push_back(container_manifest(container));
  }
  ExplainJson json{{"apiVersion", "v1"},
                   {"kind", "Pod"},
                   {"metadata",
                    {{"namespace", pod.name_space},
                     {"name", pod.name},
                     {"annotations", std::move(annotations)},
                     {"labels", pod.labels}}},
                   {"spec",
                    {{"schedulerName", pod.scheduler_name},
                     {"priority", pod.priority},
                     {"containers", std::move(containers)}}}};
  if (!stray_resources.empty() && !pod.containers.empty())
    json["spec"]["containers"][0]["resources"]["limits"].update(stray_resources);
  write_pod_fields(pod, json["spec"]);
  if (!init_containers.empty()) json["spec"]["initContainers"] = std::move(init_containers);
  return json.dump(-1, ' ', false, ExplainJson::error_handler_t::replace);
}

}  // namespace snug::codec
