#include "snug/codec/api_writes.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>

#include "snug/base/text.hpp"
#include "snug/codec/proto_wire.hpp"

namespace snug::codec {
namespace {

// The API server's limits for events, in bytes.
constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMaxEventReason = 128;
constexpr std::size_t kMaxInstance = 128;
constexpr std::size_t kMaxEventName = 253;
constexpr std::size_t kEventSuffix = 17;  // a dot and 16 hexadecimal digits

std::string dump_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Field numbers are those in Kubernetes' generated.proto files.

std::string binding_metadata(const model::Binding& binding) {
  std::string bytes;
  protozero::pbf_writer writer{bytes};
  writer.add_string(1, binding.pod);
  writer.add_string(3, binding.name_space);
  writer.add_string(5, binding.uid);
  for (const auto& [key, value] : binding.annotations) {
    protozero::pbf_writer entry{writer, 12};
    entry.add_string(1, key);
    entry.add_string(2, value);
  }
  return bytes;
}

std::string binding_target(const model::Binding& binding) {
  std::string bytes;
  protozero::pbf_writer writer{bytes};
  writer.add_string(1, "Node");
  writer.add_string(3, binding.node);
  writer.add_string(5, "v1");
  return bytes;
}

std::string event_name(const std::string& pod, std::uint64_t number) {
  std::array<char, kEventSuffix + 1> suffix{};
  std::snprintf(suffix.data(), suffix.size(), ".%016llx", static_cast<unsigned long long>(number));
  std::string name = pod.substr(0, kMaxEventName - kEventSuffix);
  while (name.ends_with('-') || name.ends_with('.')) name.pop_back();
  return name + suffix.data();
}

}  // namespace

std::string write_binding(const model::Binding& binding) {
  std::string bytes{kEnvelopeMark};
  protozero::pbf_writer unknown{bytes};
  {
    protozero::pbf_writer type{unknown, 1};
    type.add_string(1, "v1");
    type.add_string(2, "Binding");
  }
  protozero::pbf_writer object{unknown, 2};
  object.add_message(1, binding_metadata(binding));
  object.add_message(2, binding_target(binding));
  object.commit();
  return bytes;
}

std::string write_event(const model::Notice& notice, const EventOrigin& origin) {
  const nlohmann::json event = {
      {"apiVersion", "events.k8s.io/v1"},
      {"kind", "Event"},
      {"metadata",
       {{"name", event_name(notice.pod, origin.number)}, {"namespace", notice.name_space}}},
      {"eventTime", micro_time(origin.time)},
      {"reportingController", "snug.dev/extender"},
      {"reportingInstance", base::clip_text(origin.host, kMaxInstance)},
      {"action", "Scheduling"},
      {"reason", base::clip_text(notice.reason, kMaxEventReason)},
      {"regarding",
       {{"apiVersion", notice.lease ? "coordination.k8s.io/v1" : "v1"},
        {"kind", notice.lease ? "Lease" : "Pod"},
        {"namespace", notice.name_space},
        {"name", notice.pod},
        {"uid", notice.uid}}},
      {"note", base::clip_text(notice.note, kMaxNote)},
      {"type", "Warning"},
  };
  return dump_text(event);
}

std::string write_annotation_patch(std::string_view key, std::string_view value) {
  return dump_text({{"metadata", {{"annotations", {{std::string(key), value}}}}}});
}

std::string micro_time(std::chrono::system_clock::time_point time) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = micros / 1'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 16> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%06dZ", static_cast<int>(micros % 1'000'000));
  return std::string(text.data()) + fraction.data();
}

}  // namespace snug::codec
