// The reservation as a JSON object: the value of snug.dev/reservation, and what /v1/pods shows.
#pragma once

#include <string>

#include "snug/model/reservation.hpp"

namespace snug {

void append_reservation(std::string& out, const Reservation& reservation);
/// Its devices as one list, of all containers in their order.
void append_devices(std::string& out, const Reservation& reservation);

}  // namespace snug
