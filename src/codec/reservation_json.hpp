// The reservation as a JSON object: the value of snug.dev/reservation, and what /v1/pods shows.
#pragma once

#include <nlohmann/json.hpp>

#include "snug/model/reservation.hpp"

namespace snug {

[[nodiscard]] nlohmann::ordered_json reservation_json(const Reservation& reservation);

}  // namespace snug
