// Appends JSON strings, and the JSON objects that several replies contain, to a text. Writes
// without a JSON library because that is faster.
#pragma once

#include <string>
#include <string_view>

#include "snug/model/reservation.hpp"

namespace snug::codec {

/// Appends `text` as a JSON string in quotes. The output is valid JSON and UTF-8 for any `text`:
/// each invalid byte, and each incomplete UTF-8 character, becomes one U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// Appends the JSON object of the reservation, as in the annotation snug.dev/reservation and in
/// GET /v1/pods.
void append_reservation(std::string& out, const model::Reservation& reservation);
/// Appends the devices of all containers as one JSON list, in the order of the containers.
void append_devices(std::string& out, const model::Reservation& reservation);

}  // namespace snug::codec
