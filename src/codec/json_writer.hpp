// Writes JSON directly into strings, for speed: strings, and the objects that several replies
// share.
#pragma once

#include <string>
#include <string_view>

#include "snug/model/reservation.hpp"

namespace snug::codec {

/// Appends the text in quotes, with escapes: valid JSON and valid UTF-8 whatever the text holds.
/// A run of bytes that is cut from one UTF-8 character becomes one U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// Appends the reservation as an object, as in snug.dev/reservation and in /v1/pods.
void append_reservation(std::string& out, const model::Reservation& reservation);
/// Appends the devices of all containers as one list, in the containers' order.
void append_devices(std::string& out, const model::Reservation& reservation);

}  // namespace snug::codec
