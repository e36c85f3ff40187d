#include "snug/agent_codec/node_writes.hpp"

#include <nlohmann/json.hpp>

#include "agent_codec/object_reader.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/codec/lease_codec.hpp"

namespace snug::agent_codec {
namespace {

using nlohmann::json;

std::string dump_body(const json& body) {
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

json value_or_null(const std::optional<std::string>& value) {
  return value ? json(*value) : json(nullptr);
}

}  // namespace

base::Result<NodeMarks> read_node_marks(std::string_view text, const base::Limits& limits) {
  const auto object = parse_object(text, "the node", limits);
  if (!object) return std::unexpected(object.error());
  ObjectReader reader;
  const JsonPlace node{.value = &*object, .key = "node"};
  const JsonPlace metadata = reader.member(node, "metadata");
  const auto mark = [&](std::string_view map_key, std::string_view key) {
    const JsonPlace map = reader.member(metadata, map_key);
    const JsonPlace value = reader.member(map, key);
    std::string mark_text = reader.text(value);
    return value.present() ? std::optional(std::move(mark_text)) : std::nullopt;
  };
  NodeMarks marks{.inventory = mark("annotations", kInventoryAnnotation),
                  .enforced = mark("labels", kEnforcedLabel)};
  if (!metadata.present()) reader.report(metadata, "is missing");
  if (!reader.ok()) return reader.error();
  return marks;
}

std::string write_node_marks(const NodeMarks& marks) {
  return dump_body({{"metadata",
                     {{"annotations", {{kInventoryAnnotation, value_or_null(marks.inventory)}}},
                      {"labels", {{kEnforcedLabel, value_or_null(marks.enforced)}}}}}});
}

std::string write_heartbeat(const leader::LeaseName& name, std::string_view node,
                            const leader::Lease* replaced_lease, std::string_view now) {
  leader::LeaseRecord record{.holder = std::string(node),
                             .duration_s = base::agent_limits::heartbeat_lost_ms / 1000};
  if (replaced_lease != nullptr) {
    record.transitions = replaced_lease->record.transitions;
    if (replaced_lease->record.holder == node) {
      record.acquire_time = replaced_lease->record.acquire_time;
    } else {
      ++record.transitions;
    }
  }
  json lease = json::parse(codec::write_lease(name, record, replaced_lease, now), nullptr, false);
  json& labels = lease["metadata"]["labels"];
  if (!labels.is_object()) labels = json::object();
  labels[kAgentLabel] = "true";
  return dump_body(lease);
}

}  // namespace snug::agent_codec
