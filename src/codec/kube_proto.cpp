#include <simdjson.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <span>
#include <string>

#include "codec/kube_pod_reader.hpp"
#include "codec/kube_walk_errors.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/proto_wire.hpp"

namespace snug::codec {
namespace {

using protozero::pbf_wire_type;

std::string_view type_name(pbf_wire_type type) {
  switch (type) {
    case pbf_wire_type::varint:
      return "a varint";
    case pbf_wire_type::fixed64:
      return "a number of 64 bits";
    case pbf_wire_type::fixed32:
      return "a number of 32 bits";
    default:
      return "bytes";
  }
}

/// The value of a protobuf field. If the field occurs more than once, this is its last value.
struct ProtoValue {
  pbf_wire_type type = pbf_wire_type::length_delimited;
  std::uint64_t varint = 0;
  std::string_view bytes;
  std::string_view within;  // the message that has all occurrences of the field
  std::uint32_t number = 0;
  bool repeated = false;  // the field occurs more than once in `within`
};

/// Returns `text` if it is valid UTF-8. Otherwise writes it to `scratch`, with U+FFFD in place of
/// each invalid byte, and returns `scratch`.
std::string_view valid_utf8(std::string_view text, std::string& scratch) {
  if (simdjson::validate_utf8(text.data(), text.size())) return text;
  scratch.clear();
  while (!text.empty()) {
    const std::size_t length = base::character_length(text);
    if (length == 0) {
      scratch += "\xEF\xBF\xBD";
    } else {
      scratch += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return scratch;
}

void append_padded(std::string& out, std::int64_t number, std::size_t digits) {
  const std::string text = std::to_string(number);
  out.append(digits - text.size(), '0').append(text);
}

constexpr std::int64_t kFirstSecond = -62'167'219'200;  // 0000-01-01T00:00:00Z
constexpr std::int64_t kLastSecond = 253'402'300'799;   // 9999-12-31T23:59:59Z

/// Returns the time as RFC 3339. `second` must be in the years 0 to 9999.
std::string time_text(std::int64_t second) {
  const std::chrono::sys_seconds time{std::chrono::seconds{second}};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  std::string text;
  append_padded(text, static_cast<int>(date.year()), 4);
  append_padded(text += '-', static_cast<unsigned>(date.month()), 2);
  append_padded(text += '-', static_cast<unsigned>(date.day()), 2);
  append_padded(text += 'T', clock.hours().count(), 2);
  append_padded(text += ':', clock.minutes().count(), 2);
  append_padded(text += ':', clock.seconds().count(), 2);
  return text += 'Z';
}

/// Reads typed values from protobuf. Values are valid while both the walk and the frame exist.
/// After an error, its functions do nothing.
class ProtoWalk : public WalkErrors {
 public:
  using Value = ProtoValue;
  using Field = WalkField<Value>;

  void fields(const Value& value, const FieldPath& where, std::span<Field> known_fields);
  /// Returns the embedded message `field` of `object`; empty if it is absent. JSON has the fields
  /// of such a message in `object` itself.
  Value embedded(const Value& object, const Field& field, const FieldPath& where);
  void text(const Field& field, const FieldPath& parent, std::string& out);
  void number(const Field& field, const FieldPath& parent, std::int32_t& out);
  /// Reads a time as text. Does not change `out` if the time is an empty message. Returns false if
  /// the field is absent.
  bool time(const Field& field, const FieldPath& parent, std::string& out);
  /// Copies the entries that `rule` keeps.
  void map(const Field& field, const FieldPath& parent, MapRule rule, model::StringMap& out);
  [[nodiscard]] std::string_view bytes(const Field& field, const FieldPath& parent);
  /// Calls visit(value, path) for each occurrence of the field.
  template <typename Visit>
  void each_item(const Field& field, const FieldPath& parent, Visit visit);

 private:
  template <typename Visit>
  void each_field(std::string_view message, const FieldPath& where, Visit visit);
  std::string_view merged(const Value& value, const FieldPath& where);
  bool has_type(const Value& value, const FieldPath& where, pbf_wire_type type,
                std::string_view expected);
  std::string_view utf8_text(const Field& field, const FieldPath& parent, std::string& scratch);
  std::int64_t integer(const Field& field, const FieldPath& parent);

  std::deque<std::string> merged_;  // messages that are merged from several parts
};

/// Reads the current field of `reader`, a reader of the message `within`, and advances the reader.
ProtoValue take_field(protozero::pbf_reader& reader, std::string_view within) {
  ProtoValue value{.type = reader.wire_type(), .within = within, .number = reader.tag()};
  if (value.type == pbf_wire_type::varint) {
    value.varint = reader.get_uint64();
  } else if (value.type == pbf_wire_type::length_delimited) {
    const protozero::data_view bytes = reader.get_view();
    value.bytes = {bytes.data(), bytes.size()};
  } else {
    reader.skip();
  }
  return value;
}

/// Calls visit(reader) at each field. `visit` must take or skip the field.
template <typename Visit>
void ProtoWalk::each_field(std::string_view message, const FieldPath& where, Visit visit) {
  try {
    protozero::pbf_reader reader{message.data(), message.size()};
    while (ok() && reader.next()) visit(reader);
  } catch (const protozero::end_of_buffer_exception&) {
    fail_at(where, "is truncated");
  } catch (const protozero::exception&) {
    fail_at(where, "is not a valid protobuf message");
  }
}

bool ProtoWalk::has_type(const Value& value, const FieldPath& where, pbf_wire_type type,
                         std::string_view expected) {
  if (value.type == type) return true;
  fail_at(where,
          "must be " + std::string{expected} + ", not " + std::string{type_name(value.type)});
  return false;
}

/// Returns the bytes of a message. If the message occurs in several parts, returns the concatenated
/// parts, which protobuf defines to be the merged message.
std::string_view ProtoWalk::merged(const Value& value, const FieldPath& where) {
  if (!value.repeated) return value.bytes;
  std::string& parts = merged_.emplace_back();
  each_field(value.within, where, [&](protozero::pbf_reader& reader) {
    if (reader.tag() == value.number) {
      parts += take_field(reader, value.within).bytes;
    } else {
      reader.skip();
    }
  });
  return parts;
}

void ProtoWalk::fields(const Value& value, const FieldPath& where, std::span<Field> known_fields) {
  if (!ok() || !has_type(value, where, pbf_wire_type::length_delimited, "a message")) return;
  const std::string_view message = merged(value, where);
  each_field(message, where, [&](protozero::pbf_reader& reader) {
    for (Field& field : known_fields) {
      if (field.number != reader.tag()) continue;
      const pbf_wire_type before = field.value.type;
      field.value = take_field(reader, message);
      field.value.repeated = field.present;
      if (field.present && field.value.type != before) {
        fail_at(FieldPath{&where, field.key}, "is given in two wire types");
      }
      field.seen = field.present = true;
      return;
    }
    reader.skip();
  });
}

ProtoValue ProtoWalk::embedded(const Value& object, const Field& field, const FieldPath& where) {
  std::array<Field, 1> embedded_fields{field};
  fields(object, where, embedded_fields);
  has_type(embedded_fields[0].value, FieldPath{&where, field.key}, pbf_wire_type::length_delimited,
           "a message");
  return embedded_fields[0].value;
}

template <typename Visit>
void ProtoWalk::each_item(const Field& field, const FieldPath& parent, Visit visit) {
  if (!ok() || !field.present) return;
  std::ptrdiff_t index = 0;
  each_field(field.value.within, parent, [&](protozero::pbf_reader& reader) {
    if (reader.tag() != field.number) return reader.skip();
    const Value item = take_field(reader, field.value.within);
    const FieldPath where{&parent, field.key, index++};
    if (has_type(item, where, pbf_wire_type::length_delimited, "a message")) visit(item, where);
  });
}

std::string_view ProtoWalk::bytes(const Field& field, const FieldPath& parent) {
  if (!ok() || !field.present) return {};
  has_type(field.value, FieldPath{&parent, field.key}, pbf_wire_type::length_delimited, "bytes");
  return field.value.bytes;
}

std::string_view ProtoWalk::utf8_text(const Field& field, const FieldPath& parent,
                                      std::string& scratch) {
  if (!ok() || !field.present) return {};
  const FieldPath where{&parent, field.key};
  has_type(field.value, where, pbf_wire_type::length_delimited, "a string");
  return valid_utf8(field.value.bytes, scratch);
}

void ProtoWalk::text(const Field& field, const FieldPath& parent, std::string& out) {
  std::string scratch;
  if (ok() && field.present) out = utf8_text(field, parent, scratch);
}

std::int64_t ProtoWalk::integer(const Field& field, const FieldPath& parent) {
  if (!ok() || !field.present) return 0;
  has_type(field.value, FieldPath{&parent, field.key}, pbf_wire_type::varint, "an integer");
  return static_cast<std::int64_t>(field.value.varint);
}

void ProtoWalk::number(const Field& field, const FieldPath& parent, std::int32_t& out) {
  if (ok() && field.present) out = static_cast<std::int32_t>(integer(field, parent));
}

bool ProtoWalk::time(const Field& field, const FieldPath& parent, std::string& out) {
  if (!ok() || !field.present) return false;
  const FieldPath where{&parent, field.key};
  Value last = field.value;
  last.repeated = false;  // takes the last occurrence without merging, as Go does
  std::array<Field, 1> seconds{{{"seconds", 1}}};
  fields(last, where, seconds);
  const std::int64_t second = integer(seconds[0], where);
  if (second < kFirstSecond || second > kLastSecond) {
    fail_at(where, "must be in the years 0 to 9999");
  } else if (!last.bytes.empty()) {
    out = time_text(second);
  }
  return true;
}

void ProtoWalk::map(const Field& field, const FieldPath& parent, MapRule rule,
                    model::StringMap& out) {
  const FieldPath map_path{&parent, field.key};
  std::string key_scratch;
  std::string value_scratch;
  each_item(field, parent, [&](const Value& map_entry, const FieldPath& where) {
    std::array<Field, 2> entry{{{"key", 1}, {"value", 2}}};
    fields(map_entry, where, entry);
    const std::string_view key = utf8_text(entry[0], where, key_scratch);
    const bool is_kept = ok() && rule.keep(key) && (out.size() < rule.most || out.contains(key));
    if (rule.others != nullptr && ok() && !rule.keep(key)) *rule.others = true;
    const bool is_stray = ok() && rule.stray.keep != nullptr && !rule.keep(key);
    if (rule.quantities && !is_kept && !is_stray) return;
    const FieldPath entry_path{&map_path, key};
    std::string_view entry_text;
    if (!rule.quantities) {
      entry_text = utf8_text(entry[1], where, value_scratch);
    } else if (entry[1].present) {
      Value last = entry[1].value;
      last.repeated = false;  // takes the last occurrence without merging, as Go does
      std::array<Field, 1> quantity{{{"string", 1}}};
      fields(last, entry_path, quantity);
      entry_text = utf8_text(quantity[0], entry_path, value_scratch);
    }
    if (rule.bytes != nullptr) *rule.bytes += key.size() + entry_text.size();
    if (is_kept) out.insert_or_assign(std::string{key}, std::string{entry_text});
    if (is_stray && ok()) rule.stray.offer(key, entry_text);
  });
}

/// Returns the object in the envelope `bytes`. Fails if the object is not of kind `kind`.
ProtoValue open_envelope(ProtoWalk& walk, std::string_view bytes, const FieldPath& envelope_path,
                         std::string_view kind) {
  if (!walk.ok()) return {};
  if (!bytes.starts_with(kEnvelopeMark)) {
    walk.fail_at(envelope_path, "must begin with `k8s` and a zero byte");
    return {};
  }
  std::array<ProtoWalk::Field, 3> unknown{{{"typeMeta", 1}, {"raw", 2}, {"contentEncoding", 3}}};
  std::array<ProtoWalk::Field, 1> type_kind{{{"kind", 2}}};
  walk.fields({.bytes = bytes.substr(kEnvelopeMark.size())}, envelope_path, unknown);
  if (unknown[0].present) {
    walk.fields(unknown[0].value, FieldPath{&envelope_path, unknown[0].key}, type_kind);
  }
  std::string envelope_kind;
  std::string encoding;
  walk.text(type_kind[0], FieldPath{&envelope_path, unknown[0].key}, envelope_kind);
  walk.text(unknown[2], envelope_path, encoding);
  if (envelope_kind != kind) {
    walk.fail_at(envelope_path,
                 "must be a " + std::string{kind} + ", not " + base::in_quotes(envelope_kind));
  }
  if (!encoding.empty()) {
    walk.fail_at(envelope_path, "has the unsupported contentEncoding " + base::in_quotes(encoding));
  }
  return {.bytes = walk.bytes(unknown[1], envelope_path)};
}

}  // namespace

base::Result<WatchEvent> pod_event_from_proto(std::string_view frame) {
  const FieldPath event_path{nullptr, "the watch event"};
  ProtoWalk walk;
  ProtoValue root{.bytes = frame};
  if (frame.starts_with(kEnvelopeMark)) root = open_envelope(walk, frame, event_path, "WatchEvent");
  ProtoValue extension;
  WatchEvent event = read_event_head(walk, root, event_path, extension);
  const FieldPath place{&event_path, "object"};
  std::array<ProtoWalk::Field, 1> raw{{{"raw", 1}}};
  walk.fields(extension, place, raw);
  const ProtoValue object = open_envelope(walk, walk.bytes(raw[0], place), place,
                                          event.type == WatchEventType::kError ? "Status" : "Pod");
  if (carries_object(event)) {
    event.pod = read_pod_facts(walk, object, FieldPath{nullptr, "pod"});
    event.resource_version = event.pod.resource_version;
  } else {
    read_event_without_object(walk, object, event);
  }
  if (!walk.ok()) return walk.take_error();
  return event;
}

}  // namespace snug::codec
