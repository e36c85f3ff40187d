#include "snug/codec/lease_codec.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/codec/json_scan.hpp"

namespace snug::codec {
namespace {

using Json = nlohmann::json;

std::string dump_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Returns the member `key` of an object. JSON null if `value` is not an object or lacks the
/// member.
const Json& member(const Json& value, const char* key) {
  static const Json none;
  const auto json_field = value.is_object() ? value.find(key) : value.end();
  return value.is_object() && json_field != value.end() ? *json_field : none;
}

/// Parses JSON. If that fails, tries again without the contents of managedFields. The result is
/// `discarded` if the text is not JSON or is nested deeper than kMaxLeaseDepth.
Json parse(std::string_view text) {
  const auto parse_once = [](std::string_view json) {
    bool too_deep = false;
    const auto bound = [&](int depth, Json::parse_event_t, Json&) {
      too_deep = too_deep || depth > base::kMaxLeaseDepth;
      return !too_deep;
    };
    Json value = Json::parse(json, bound, false);
    return too_deep ? Json(Json::value_t::discarded) : value;
  };
  Json value = parse_once(text);
  if (!value.is_discarded()) return value;
  std::string trimmed_text(text);
  return blank_managed_fields(trimmed_text) ? parse_once(trimmed_text) : value;
}

/// Reads the fields of a Lease's spec. Remembers the last field with an invalid value.
class SpecReader {
 public:
  explicit SpecReader(const Json& spec) : spec_(spec) {}

  std::string text(const char* key) {
    const Json& spec_field = member(spec_, key);
    if (spec_field.is_string()) return spec_field.get<std::string>();
    if (!spec_field.is_null()) invalid_key_ = key;
    return {};
  }
  /// Accepts only 32-bit integers, because the fields of the API are int32.
  std::int64_t number(const char* key) {
    const Json& spec_field = member(spec_, key);
    if (spec_field.is_number_integer()) {
      const auto number = spec_field.get<std::int64_t>();
      if (std::in_range<std::int32_t>(number)) return number;
    }
    if (!spec_field.is_null()) invalid_key_ = key;
    return 0;
  }
  [[nodiscard]] const std::string& invalid_key() const { return invalid_key_; }

 private:
  const Json& spec_;
  std::string invalid_key_;
};

base::Result<leader::Lease> to_lease(const Json& object) {
  const Json& version = member(member(object, "metadata"), "resourceVersion");
  if (!version.is_string())
    return base::fail(base::ErrorCode::kInvalid, "it is not a Lease of the API server");
  const Json& spec_object = member(object, "spec");
  if (!spec_object.is_null() && !spec_object.is_object()) {
    return base::fail(base::ErrorCode::kInvalid, "spec of the Lease is not an object");
  }
  SpecReader spec(spec_object);
  leader::Lease lease;
  lease.record = {.holder = spec.text("holderIdentity"),
                  .duration_s = spec.number("leaseDurationSeconds"),
                  .acquire_time = spec.text("acquireTime"),
                  .renew_time = spec.text("renewTime"),
                  .transitions = spec.number("leaseTransitions")};
  if (!spec.invalid_key().empty()) {
    return base::fail(
        base::ErrorCode::kInvalid,
        "spec." + spec.invalid_key() + " of the Lease has a wrong type or is too large");
  }
  lease.resource_version = version.get<std::string>();
  lease.object = dump_json(object);
  return lease;
}

base::Result<model::AgentHeartbeat> to_heartbeat(const Json& object) {
  const Json& metadata = member(object, "metadata");
  if (!member(metadata, "resourceVersion").is_string())
    return base::fail(base::ErrorCode::kInvalid, "it is not a Lease of the API server");
  const Json& name = member(metadata, "name");
  const Json& spec = member(object, "spec");
  const Json& holder = member(spec, "holderIdentity");
  const Json& renew_time = member(spec, "renewTime");
  if (!name.is_string() || !holder.is_string() || !renew_time.is_string() ||
      name.get_ref<const std::string&>() !=
          std::string(model::kHeartbeatNamePrefix) + holder.get_ref<const std::string&>()) {
    return model::AgentHeartbeat{};
  }
  return model::AgentHeartbeat{.node = holder.get<std::string>(),
                               .renew_time = renew_time.get<std::string>()};
}

/// Reads a watch event. `read_object` reads its object, unless the event is an error.
template <typename ReadObject>
base::Result<LeaseEvent> read_event(const Json& event, const ReadObject& read_object) {
  const Json& type = member(event, "type");
  const Json& object = member(event, "object");
  if (!type.is_string()) return base::fail(base::ErrorCode::kInvalid, "it is not a watch event");
  LeaseEvent lease_event;
  if (type == "ERROR") {
    lease_event.type = LeaseEvent::Type::kError;
    const Json& code = member(object, "code");
    if (code.is_number_integer()) lease_event.error_code = code.get<int>();
    const Json& message = member(object, "message");
    if (message.is_string()) lease_event.error_message = message.get<std::string>();
    return lease_event;
  }
  if (const auto read = read_object(object); !read) return std::unexpected(read.error());
  lease_event.resource_version =
      member(member(object, "metadata"), "resourceVersion").get<std::string>();
  if (type == "DELETED") lease_event.type = LeaseEvent::Type::kDeleted;
  if (type == "ADDED" || type == "MODIFIED") lease_event.type = LeaseEvent::Type::kChanged;
  return lease_event;
}

}  // namespace

base::Result<leader::Lease> read_lease(std::string_view json) { return to_lease(parse(json)); }

std::string write_lease(const leader::LeaseName& name, const leader::LeaseRecord& record,
                        const leader::Lease* replaced_lease, std::string_view now) {
  Json object = replaced_lease == nullptr ? Json::object()
                                          : Json::parse(replaced_lease->object, nullptr, false);
  if (!object.is_object()) object = Json::object();
  object["apiVersion"] = "coordination.k8s.io/v1";
  object["kind"] = "Lease";
  object["metadata"]["namespace"] = name.name_space;
  object["metadata"]["name"] = name.name;
  Json& spec = object["spec"];
  spec["holderIdentity"] = record.holder;
  spec["leaseDurationSeconds"] = record.duration_s;
  spec["acquireTime"] = record.acquire_time.empty() ? std::string(now) : record.acquire_time;
  spec["renewTime"] = now;
  spec["leaseTransitions"] = record.transitions;
  return dump_json(object);
}

base::Result<LeaseEvent> read_lease_event(std::string_view json) {
  return read_event(parse(json), [](const Json& object) { return to_lease(object); });
}

base::Result<model::AgentHeartbeat> read_heartbeat(std::string_view json) {
  return to_heartbeat(parse(json));
}

base::Result<HeartbeatEvent> read_heartbeat_event(std::string_view json) {
  model::AgentHeartbeat heartbeat;
  auto event = read_event(parse(json), [&](const Json& object) {
    auto read_heartbeat = to_heartbeat(object);
    if (read_heartbeat) heartbeat = *read_heartbeat;
    return read_heartbeat;
  });
  if (!event) return std::unexpected(event.error());
  return HeartbeatEvent{.event = *std::move(event), .heartbeat = std::move(heartbeat)};
}

}  // namespace snug::codec
