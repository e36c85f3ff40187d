#include "snug/codec/api_writes.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>

#include "snug/base/text.hpp"
#include "snug/codec/object_names.hpp"
#include "snug/codec/proto_wire.hpp"

namespace snug::codec {
namespace {

// The API server's limits for events, in bytes.
constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMaxEventReason = 128;
constexpr std::size_t kMaxInstance = 128;
constexpr std::size_t kEventSuffix = 17;  // a dot and 16 hexadecimal digits

std::string request_body(const nlohmann::json& body) {
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Field numbers are those in Kubernetes' generated.proto files.

std::string binding_metadata(const model::Binding& binding) {
  std::string metadata_bytes;
  protozero::pbf_writer metadata{metadata_bytes};
  metadata.add_string(1, binding.pod);
  metadata.add_string(3, binding.name_space);
  metadata.add_string(5, binding.uid);
  for (const auto& [key, value] : binding.annotations) {
    protozero::pbf_writer annotation{metadata, 12};
    annotation.add_string(1, key);
    annotation.add_string(2, value);
  }
  return metadata_bytes;
}

std::string binding_target(const model::Binding& binding) {
  std::string target_bytes;
  protozero::pbf_writer target{target_bytes};
  target.add_string(1, "Node");
  target.add_string(3, binding.node);
  target.add_string(5, "v1");
  return target_bytes;
}

std::string event_name(const std::string& object, std::uint64_t event_number) {
  std::string clipped_name = object.substr(0, kMaxObjectName - kEventSuffix);
  while (clipped_name.ends_with('-') || clipped_name.ends_with('.')) clipped_name.pop_back();
  return clipped_name + "." + base::hex_number(event_number);
}

}  // namespace

std::string write_binding(const model::Binding& binding) {
  std::string binding_bytes{kEnvelopeMark};
  protozero::pbf_writer envelope{binding_bytes};
  {
    protozero::pbf_writer object_type{envelope, 1};
    object_type.add_string(1, "v1");
    object_type.add_string(2, "Binding");
  }
  protozero::pbf_writer binding_object{envelope, 2};
  binding_object.add_message(1, binding_metadata(binding));
  binding_object.add_message(2, binding_target(binding));
  binding_object.commit();
  return binding_bytes;
}

std::string write_event(const model::Notice& notice, const EventOrigin& origin) {
  nlohmann::json regarding = {
      {"apiVersion", notice.about == model::ObjectKind::kLease ? "coordination.k8s.io/v1" : "v1"},
      {"kind", model::kObjectKindNames[notice.about]},
      {"name", notice.name},
      {"uid", notice.uid}};
  if (!notice.name_space.empty()) regarding["namespace"] = notice.name_space;
  const nlohmann::json event = {
      {"apiVersion", "events.k8s.io/v1"},
      {"kind", "Event"},
      {"metadata",
       {{"name", event_name(notice.name, origin.number)},
        {"namespace", notice.name_space.empty() ? "default" : notice.name_space}}},
      {"eventTime", micro_time(origin.time)},
      {"reportingController", "snug.dev/extender"},
      {"reportingInstance", base::clip_text(origin.host, kMaxInstance)},
      {"action", "Scheduling"},
      {"reason", base::clip_text(notice.reason, kMaxEventReason)},
      {"regarding", regarding},
      {"note", base::clip_text(notice.note, kMaxNote)},
      {"type", model::kEventTypeNames[notice.type]},
  };
  return request_body(event);
}

std::string write_annotation_patch(std::string_view key, std::string_view value) {
  return request_body({{"metadata", {{"annotations", {{std::string(key), value}}}}}});
}

std::string write_capacity_patch(const std::optional<model::MirroredAmounts>& capacity) {
  const auto quantity = [&](std::int64_t amount) {
    return capacity ? nlohmann::json(std::to_string(amount)) : nlohmann::json(nullptr);
  };
  const model::MirroredAmounts amounts = capacity.value_or(model::MirroredAmounts{});
  const nlohmann::json resources = {
      {std::string(model::kMilliResource), quantity(amounts.milli.value)},
      {std::string(model::kMemoryResource), quantity(amounts.memory.value)}};
  return request_body({{"status", {{"capacity", resources}, {"allocatable", resources}}}});
}

std::string write_mirror_parameters(const admission::CardRange& cards) {
  return request_body(
      {{"apiVersion", "snug.dev/v1"},
       {"kind", "MirrorParameters"},
       {"metadata", {{"name", "snug"}}},
       {"spec", {{"smallestMib", cards.smallest.value}, {"largestMib", cards.largest.value}}}});
}

std::string micro_time(std::chrono::system_clock::time_point time) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = micros / 1'000'000;
  std::tm utc_time{};
  ::gmtime_r(&seconds, &utc_time);
  std::array<char, 32> whole_seconds{};
  std::strftime(whole_seconds.data(), whole_seconds.size(), "%Y-%m-%dT%H:%M:%S", &utc_time);
  std::array<char, 16> microsecond_suffix{};
  std::snprintf(microsecond_suffix.data(), microsecond_suffix.size(), ".%06dZ",
                static_cast<int>(micros % 1'000'000));
  return std::string(whole_seconds.data()) + microsecond_suffix.data();
}

}  // namespace snug::codec
