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

/// Reads single labels and annotations of a node.
class MetadataReader {
 public:
  MetadataReader(const MetadataReader&) = delete;
  MetadataReader& operator=(const MetadataReader&) = delete;
  explicit MetadataReader(const json& node)
      : node_{.value = &node, .key = "node"}, metadata_(reader_.member(node_, "metadata")) {
    if (!metadata_.present()) reader_.report(metadata_, "is missing");
  }

  [[nodiscard]] std::optional<std::string> value(std::string_view map_key, std::string_view key) {
    const JsonPlace map = reader_.member(metadata_, map_key);
    const JsonPlace place = reader_.member(map, key);
    std::string text = reader_.text(place);
    return place.present() ? std::optional(std::move(text)) : std::nullopt;
  }
  [[nodiscard]] std::string uid() { return reader_.text(reader_.member(metadata_, "uid")); }
  [[nodiscard]] bool ok() const { return reader_.ok(); }
  [[nodiscard]] auto error() const { return reader_.error(); }

 private:
  ObjectReader reader_;
  const JsonPlace node_;
  const JsonPlace metadata_;  // points to node_
};

}  // namespace

base::Result<NodeMarks> read_node_marks(std::string_view text, const base::Limits& limits) {
  const auto object = parse_object(text, "the node", limits);
  if (!object) return std::unexpected(object.error());
  MetadataReader metadata(*object);
  NodeMarks marks{.inventory = metadata.value("annotations", kInventoryAnnotation),
                  .enforced = metadata.value("labels", kEnforcedLabel),
                  .usage = metadata.value("annotations", kUsageAnnotation)};
  if (!metadata.ok()) return metadata.error();
  return marks;
}

base::Result<std::optional<std::string>> read_node_label(std::string_view text,
                                                         std::string_view key,
                                                         const base::Limits& limits) {
  const auto object = parse_object(text, "the node", limits);
  if (!object) return std::unexpected(object.error());
  MetadataReader metadata(*object);
  std::optional<std::string> label = metadata.value("labels", key);
  if (!metadata.ok()) return metadata.error();
  return label;
}

base::Result<std::string> read_node_uid(std::string_view text, const base::Limits& limits) {
  const auto object = parse_object(text, "the node", limits);
  if (!object) return std::unexpected(object.error());
  MetadataReader metadata(*object);
  std::string uid = metadata.uid();
  if (!metadata.ok()) return metadata.error();
  return uid;
}

std::string write_node_marks(const NodeMarks& marks) {
  return dump_body({{"metadata",
                     {{"annotations",
                       {{kInventoryAnnotation, value_or_null(marks.inventory)},
                        {kUsageAnnotation, value_or_null(marks.usage)}}},
                      {"labels", {{kEnforcedLabel, value_or_null(marks.enforced)}}}}}});
}

std::string write_retry_patch(std::string_view uid, std::string_view value) {
  return dump_body({{"metadata", {{"uid", uid}, {"annotations", {{kRetryAnnotation, value}}}}}});
}

std::string write_heartbeat(const leader::LeaseName& name, const HeartbeatOwner& node,
                            const leader::Lease* replaced_lease, std::string_view now) {
  leader::LeaseRecord record{.holder = std::string(node.name),
                             .duration_s = base::agent_limits::heartbeat_lost_ms / 1000};
  if (replaced_lease != nullptr) {
    record.transitions = replaced_lease->record.transitions;
    if (replaced_lease->record.holder == node.name) {
      record.acquire_time = replaced_lease->record.acquire_time;
    } else {
      ++record.transitions;
    }
  }
  json lease = json::parse(codec::write_lease(name, record, replaced_lease, now), nullptr, false);
  json& labels = lease["metadata"]["labels"];
  if (!labels.is_object()) labels = json::object();
  labels[kAgentLabel] = "true";
  if (!node.uid.empty()) {
    lease["metadata"]["ownerReferences"] = json::array(
        {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node.name}, {"uid", node.uid}}});
  }
  return dump_body(lease);
}

}  // namespace snug::agent_codec
