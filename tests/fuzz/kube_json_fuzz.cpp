// Pods, nodes and watch events in JSON. What is read can be used, and the same pod in protobuf
// gives the same facts.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/inventory_codec.hpp"
#include "snug/codec/kube_objects.hpp"
#include "snug/codec/object_names.hpp"
#include "snug/request/near_misses.hpp"
#include "snug/request/pod_request_parser.hpp"
#include "support/kube_proto.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

using nlohmann::json;

bool is_time(const std::string& text) {
  static const std::regex kTime(R"(\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ)");
  if (text.size() != 20 || !std::regex_match(text, kTime)) return false;
  const auto number = [&](std::size_t from) { return std::stoi(text.substr(from)); };
  const std::chrono::year_month_day date{std::chrono::year{number(0)},
                                         std::chrono::month{static_cast<unsigned>(number(5))},
                                         std::chrono::day{static_cast<unsigned>(number(8))}};
  return date.ok() && date.year() > std::chrono::year{0};
}

bool is_int32(const json& value) {
  using Range = std::numeric_limits<std::int32_t>;
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= Range::max();
  return value.is_number_integer() && value.get<std::int64_t>() >= Range::min();
}

json known_fields(const json& object, const std::string& type);

/// Whether protobuf can express the value, which is replaced by what remains of it.
bool reduce(json& value, const std::string& type) {
  if (type == "number") return is_int32(value);
  if (type == "text" || type == "quantity") return value.is_string();
  if (type == "time") return value.is_string() && is_time(value.get_ref<const std::string&>());
  if (!value.is_object()) return false;
  value = known_fields(value, type);
  return true;
}

void add_field(json& out, const std::string& key, const json& value, const proto::Row& row) {
  if (row.many == proto::Row::kOne) {
    json reduced = value;
    if (reduce(reduced, row.type)) out[key] = reduced;
    return;
  }
  const bool is_list = row.many == proto::Row::kList;
  if (is_list ? !value.is_array() : !value.is_object()) return;
  out[key] = is_list ? json::array() : json::object();
  for (const auto& [name, item] : value.items()) {
    json reduced = item;
    if (!reduce(reduced, row.type)) continue;
    if (is_list) {
      out[key].push_back(reduced);
    } else {
      out[key][name] = reduced;
    }
  }
}

/// The fields of `object` that tests/support/kube_proto.hpp can encode.
json known_fields(const json& object, const std::string& type) {
  json out = json::object();
  for (const auto& [key, row] : proto::schema().at(type)) {
    if (key == "volumeSource") {
      out.update(known_fields(object, row.type));
    } else if (object.contains(key)) {
      add_field(out, key, object[key], row);
    }
  }
  return out;
}

void compare_with_proto(std::string_view input, codec::KubeObjectReader& reader) {
  const json whole = json::parse(input, nullptr, false);
  if (!whole.is_object()) return;
  const json pod = known_fields(
      whole.contains("object") && whole["object"].is_object() ? whole["object"] : whole, "Pod");
  const auto from_json = reader.read_pod_event(json{{"type", "ADDED"}, {"object", pod}}.dump());
  const auto from_proto =
      reader.read_pod_event(proto::event("ADDED", pod), codec::WireFormat::kProtobuf);
  require(from_json.has_value() == from_proto.has_value(), "JSON and protobuf accept the same");
  if (from_json) {
    require(from_json->pod == from_proto->pod, "JSON and protobuf give the same facts");
    require(from_json->resource_version == from_proto->resource_version, "resource_version");
  } else {
    require(from_json.error().message == from_proto.error().message, "the same message");
  }
}

void use(const model::PodFacts& pod) {
  const auto request = request::parse_request(pod);
  require(request || !request.error().sentence.empty(), "a refusal has a sentence");
  require(request::host_requests_of(pod).cpu_milli >= 0, "CPU is not negative");
  require(request::mirrored_amounts_of(pod).milli.value >= 0, "amounts are not negative");
  require(request::near_misses(pod).size() <= base::kMaxNearMisses, "near_misses");
}

void use(const model::NodeFacts& node) {
  require(codec::read_inventory(node, {}).name == node.name, "the node's name");
}

void use(const codec::WatchEvent& event) {
  require(event.pod.name.empty() || event.node.name.empty(), "an event is about one object");
}

template <typename Value>
void check(const base::Result<Value>& read) {
  if (read) return use(*read);
  require(!read.error().message.empty(), "an error has a message");
  require(base::find_invalid_text(read.error().message) == std::string_view::npos,
          "a message is printable");
}

}  // namespace

void take_input(std::string_view input) {
  static codec::KubeObjectReader reader{base::Limits{}};
  check(reader.read_pod(input));
  check(reader.read_node(input));
  check(reader.read_pod_event(input));
  check(reader.read_node_event(input));
  require(codec::name_unreadable(input).size() <= 2 * codec::kNamedWithin, "name_unreadable");
  require(codec::first_item_name(input).size() <= input.size() + 1, "first_item_name");
  compare_with_proto(input, reader);
}

}  // namespace snug::fuzz
