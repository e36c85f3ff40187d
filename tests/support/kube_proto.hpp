// Converts JSON objects to Kubernetes' protobuf for tests, either as the API server encodes them or
// in any other form that protobuf allows. Does not use the code under test.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace snug::proto {

using nlohmann::json;

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7U) bytes += static_cast<char>((value & 127U) | 128U);
  return bytes += static_cast<char>(value);
}

inline std::string number_field(unsigned number, std::int64_t value) {
  return varint(number << 3U) + varint(static_cast<std::uint64_t>(value));
}

inline std::string bytes_field(unsigned number, std::string_view bytes) {
  return (varint((number << 3U) | 2U) + varint(bytes.size())).append(bytes);
}

struct Row {
  unsigned number;
  std::string type;  // text, number, time, quantity, or the name of a message in the schema
  enum { kOne, kList, kMap } many = kOne;
};

using Schema = std::map<std::string, std::map<std::string, Row>>;

/// Adds the messages of a pod's spec to `all`.
inline Schema with_spec(Schema all) {
  all.merge(Schema{
      {"Spec",
       {{"volumes", {1, "Volume", Row::kList}},
        {"containers", {2, "Container", Row::kList}},
        {"restartPolicy", {3, "text"}},
        {"nodeName", {10, "text"}},
        {"affinity", {18, "Affinity"}},
        {"schedulerName", {19, "text"}},
        {"initContainers", {20, "Container", Row::kList}},
        {"priority", {25, "number"}},
        {"overhead", {32, "quantity", Row::kMap}},
        {"topologySpreadConstraints", {33, "Spread", Row::kList}},
        {"schedulingGates", {38, "Claim", Row::kList}},  // a gate has only a name, as a Claim
        {"resourceClaims", {39, "Claim", Row::kList}},
        {"resources", {40, "Resources"}}}},
      {"Container",
       {{"name", {1, "text"}},
        {"image", {2, "text"}},
        {"ports", {6, "Port", Row::kList}},
        {"resources", {8, "Resources"}},
        {"restartPolicy", {24, "text"}}}},
      {"Resources",
       {{"limits", {1, "quantity", Row::kMap}}, {"requests", {2, "quantity", Row::kMap}}}},
      {"Port", {{"hostPort", {2, "number"}}, {"containerPort", {3, "number"}}}},
      {"Volume", {{"name", {1, "text"}}, {"volumeSource", {2, "VolumeSource"}}}},
      {"VolumeSource",
       {{"emptyDir", {2, "Empty"}},
        {"persistentVolumeClaim", {10, "VolumeClaim"}},
        {"ephemeral", {29, "Empty"}}}},
      {"VolumeClaim", {{"claimName", {1, "text"}}}},
      {"Claim", {{"name", {1, "text"}}}},
      {"Empty", {}},
      {"Affinity",
       {{"nodeAffinity", {1, "NodeAffinity"}},
        {"podAffinity", {2, "SomeAffinity"}},
        {"podAntiAffinity", {3, "SomeAffinity"}}}},
      {"NodeAffinity",
       {{"requiredDuringSchedulingIgnoredDuringExecution", {1, "Empty"}},
        {"preferredDuringSchedulingIgnoredDuringExecution", {2, "Preferred", Row::kList}}}},
      {"SomeAffinity",
       {{"requiredDuringSchedulingIgnoredDuringExecution", {1, "Term", Row::kList}},
        {"preferredDuringSchedulingIgnoredDuringExecution", {2, "Preferred", Row::kList}}}},
      {"Term", {{"topologyKey", {3, "text"}}}},
      {"Preferred", {{"weight", {1, "number"}}}},
      {"Spread", {{"maxSkew", {1, "number"}}, {"whenUnsatisfiable", {3, "text"}}}},
  });
  return all;
}

/// The messages and the fields that the tests use; generated.proto defines all of them.
inline const Schema& schema() {
  static const Schema kSchema = with_spec({
      {"Pod", {{"metadata", {1, "Meta"}}, {"spec", {2, "Spec"}}, {"status", {3, "PodStatus"}}}},
      {"Meta",
       {{"name", {1, "text"}},
        {"generateName", {2, "text"}},
        {"namespace", {3, "text"}},
        {"uid", {5, "text"}},
        {"resourceVersion", {6, "text"}},
        {"generation", {7, "number"}},
        {"creationTimestamp", {8, "time"}},
        {"deletionTimestamp", {9, "time"}},
        {"labels", {11, "text", Row::kMap}},
        {"annotations", {12, "text", Row::kMap}}}},
      {"PodStatus", {{"phase", {1, "text"}}, {"nominatedNodeName", {11, "text"}}}},
      {"Status", {{"status", {2, "text"}}, {"message", {3, "text"}}, {"code", {6, "number"}}}},
      {"Binding", {{"metadata", {1, "Meta"}}, {"target", {2, "Reference"}}}},
      {"Reference", {{"kind", {1, "text"}}, {"name", {3, "text"}}, {"apiVersion", {5, "text"}}}},
  });
  return kSchema;
}

inline std::int64_t seconds_of(const std::string& time) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  std::sscanf(time.c_str(), "%d-%u-%uT%d:%d:%dZ", &year, &month, &day, &hour, &minute, &second);
  const std::chrono::sys_days date =
      std::chrono::year{year} / std::chrono::month{month} / std::chrono::day{day};
  return std::int64_t{date.time_since_epoch().count()} * 86'400 + hour * 3'600 + minute * 60 +
         second;
}

/// Encodes objects. Without `draw`, the encoding is that of Go. With `draw`, which returns a random
/// number in 0..n-1, it is unusual but valid: fields are in any order, some are unknown, scalars
/// occur twice, and messages are split into parts.
class Writer {
 public:
  explicit Writer(std::function<int(int)> draw = nullptr) : draw_(std::move(draw)) {}

  std::string message(const json& object, const std::string& type) {
    return joined(fields(object, type));
  }

 private:
  using Parts = std::vector<std::string>;

  bool odd(int n) { return draw_ && draw_(n) == 0; }

  static std::string joined(const Parts& parts) {
    std::string bytes;
    for (const std::string& part : parts) bytes += part;
    return bytes;
  }

  std::string single(const json& value, const std::string& type) {
    if (type == "text") return value.get<std::string>();
    if (type == "quantity") return bytes_field(1, value.get<std::string>());
    if (type == "time") {
      return number_field(1, seconds_of(value.get<std::string>())) + number_field(2, 0);
    }
    return message(value, type);
  }

  /// Moves the source of a volume into a field `volumeSource`. In protobuf, the source is a message
  /// of its own; in JSON, its fields are beside the name of the volume.
  static json as_message(const json& object, const std::string& type) {
    if (type != "Volume") return object;
    json volume{{"name", nullptr}, {"volumeSource", object}};
    volume["name"].swap(volume["volumeSource"]["name"]);
    return volume;
  }

  /// Encodes all occurrences of one field.
  Parts field(const json& value, const Row& row) {
    Parts parts;
    if (row.many == Row::kList) {
      for (const json& item : value)
        parts.push_back(bytes_field(row.number, single(item, row.type)));
    } else if (row.many == Row::kMap) {
      for (const auto& [key, item] : value.items()) {
        std::string entry = bytes_field(1, key) + bytes_field(2, single(item, row.type));
        if (odd(4)) entry = bytes_field(2, single(item, row.type)) + bytes_field(1, key);
        if (odd(8)) entry = bytes_field(1, "gpu-junk") + bytes_field(2, "") + entry;
        parts.push_back(bytes_field(row.number, entry));
      }
    } else if (row.type == "number") {
      if (odd(8)) parts.push_back(number_field(row.number, 77));
      parts.push_back(number_field(row.number, value.get<std::int64_t>()));
    } else if (schema().contains(row.type) && odd(3)) {
      const Parts all = fields(value, row.type);
      const auto cut = all.begin() + draw_(static_cast<int>(all.size()) + 1);
      parts.push_back(bytes_field(row.number, joined({all.begin(), cut})));
      parts.push_back(bytes_field(row.number, joined({cut, all.end()})));
    } else {
      if (row.type == "text" && odd(8)) parts.push_back(bytes_field(row.number, "junk"));
      if (row.type == "time" && odd(8)) parts.push_back(bytes_field(row.number, ""));
      parts.push_back(bytes_field(row.number, single(value, row.type)));
    }
    return parts;
  }

  Parts fields(const json& object, const std::string& type) {
    std::map<unsigned, Parts> in_order;  // by field number, as in Go
    const json whole = as_message(object, type);
    for (const auto& [key, value] : whole.items()) {
      if (value.is_null()) continue;
      const Row& row = schema().at(type).at(key);
      in_order.emplace(row.number, field(value, row));
    }
    std::vector<Parts> groups;
    for (auto& [number, parts] : in_order) groups.push_back(std::move(parts));
    if (odd(3)) groups.push_back({bytes_field(200, "unknown"), number_field(201, -1)});
    if (odd(6)) groups.push_back({varint((202U << 3U) | 5U) + "four"});
    if (odd(6)) groups.push_back({varint((203U << 3U) | 1U) + "eight123"});
    Parts parts;
    std::size_t next = 0;
    while (!groups.empty()) {
      if (draw_) next = static_cast<std::size_t>(draw_(static_cast<int>(groups.size())));
      if (!groups[next].empty()) {
        parts.push_back(groups[next].front());
        groups[next].erase(groups[next].begin());
      }
      if (groups[next].empty()) groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(next));
    }
    return parts;
  }

  std::function<int(int)> draw_;
};

inline std::string envelope(const std::string& kind, std::string_view raw) {
  return std::string("k8s\0", 4) + bytes_field(1, bytes_field(1, "v1") + bytes_field(2, kind)) +
         bytes_field(2, raw) + bytes_field(3, "") + bytes_field(4, "");
}

/// The shortest valid envelope: it omits the empty fields, which Go writes.
inline std::string short_envelope(const std::string& kind, std::string_view raw) {
  return std::string("k8s\0", 4) + bytes_field(1, bytes_field(1, "v1") + bytes_field(2, kind)) +
         bytes_field(2, raw);
}

inline std::string event_of(const std::string& type, std::string_view enveloped) {
  return bytes_field(1, type) + bytes_field(2, bytes_field(1, enveloped));
}

/// A frame of a watch without its length.
inline std::string event(const std::string& type, const json& object,
                         const std::string& kind = "Pod") {
  return event_of(type, envelope(kind, Writer{}.message(object, kind)));
}

}  // namespace snug::proto
