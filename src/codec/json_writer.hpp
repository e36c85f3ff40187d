// JSON written by hand where speed matters, and the parts that several of our replies share.
#pragma once

#include <string>
#include <string_view>

#include "snug/model/reservation.hpp"

namespace snug {

/// Appends the text in quotes, with escapes: valid JSON and valid UTF-8 whatever the text holds.
/// A run of bytes that is cut from one UTF-8 character becomes one U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// The reservation as an object: the value of snug.dev/reservation, and what /v1/pods shows.
void append_reservation(std::string& out, const Reservation& reservation);
/// Its devices as one list, those of all containers in the containers' order.
void append_devices(std::string& out, const Reservation& reservation);

}  // namespace snug
