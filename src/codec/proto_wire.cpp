#include "snug/codec/proto_wire.hpp"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

namespace snug::codec {
namespace {

/// How a truncated field is read: as empty, or as its bytes up to the end of the message.
enum class CutField { kOmitted, kPartial };

/// Returns the first length-delimited field of `message` with this number. Empty if there is none.
std::string_view first_field(std::string_view message, protozero::pbf_tag_type number,
                             CutField cut = CutField::kPartial) {
  protozero::pbf_reader reader{message.data(), message.size()};
  try {
    if (!reader.next(number, protozero::pbf_wire_type::length_delimited)) return {};
    const protozero::data_view bytes = reader.get_view();
    return {bytes.data(), bytes.size()};
  } catch (const protozero::end_of_buffer_exception&) {
    if (cut == CutField::kOmitted || reader.tag() != number) return {};
    const protozero::data_view partial_field = reader.data();
    return {partial_field.data(), partial_field.size()};
  } catch (const protozero::exception&) {
    return {};
  }
}

/// Returns the runtime.Unknown message in an envelope. Empty if `bytes` is not an envelope.
std::string_view unknown_in(std::string_view bytes) {
  return bytes.starts_with(kEnvelopeMark) ? bytes.substr(kEnvelopeMark.size()) : std::string_view{};
}

/// Returns the runtime.Unknown message that contains the object of `event`, which is a WatchEvent.
/// Its object is a RawExtension, whose field `raw` has the envelope. Empty if there is no envelope.
std::string_view envelope_in_event(std::string_view event) {
  return unknown_in(first_field(first_field(event, 2), 1));
}

/// Returns the WatchEvent in `frame`. The frame is either the event itself or an envelope that
/// contains the event.
std::string_view event_in(std::string_view frame) {
  const std::string_view unknown = unknown_in(frame);
  return unknown.empty() ? frame : first_field(unknown, 2);
}

}  // namespace

ObjectNames proto_object_names(std::string_view beginning) {
  const std::string_view unknown = unknown_in(beginning);
  const bool bare = !unknown.empty() && first_field(first_field(unknown, 1), 2) != "WatchEvent";
  const std::string_view object =
      first_field(bare ? unknown : envelope_in_event(event_in(beginning)), 2);
  const std::string_view metadata = first_field(object, 1);
  return {std::string{first_field(metadata, 3, CutField::kOmitted)},
          std::string{first_field(metadata, 1, CutField::kOmitted)}};
}

bool is_proto_event(std::string_view frame) { return !envelope_in_event(event_in(frame)).empty(); }

std::string_view proto_status_message(std::string_view bytes) {
  return first_field(first_field(unknown_in(bytes), 2), 3);
}

}  // namespace snug::codec
