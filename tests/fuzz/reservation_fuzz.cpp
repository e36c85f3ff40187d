// The annotation snug.dev/reservation: what is read can be written, is then read as the same, and
// can be charged to a node.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/codec/reservation_codec.hpp"
#include "support/node_states.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

std::string written(const model::Reservation& reservation) {
  model::StringMap annotations = codec::write_reservation(reservation, "main", model::PodFacts{});
  return annotations[std::string(codec::kReservationKey)];
}

void charge(const codec::ParsedReservation& read) {
  static const model::NodeStatePtr kNode = make_state(
      "n1: NVIDIA-A100-SXM4-80GB 81920 x2, T4 16384, NVIDIA-A100-SXM4-80GB 81920 mig | dynamic "
      "nvidia.com/gpu=4");
  auto holding = std::make_shared<model::Holding>();
  holding->uid = read.reservation.uid;
  holding->reservation = read.reservation;
  holding->container_requests = read.container_requests;
  holding->suspect = read.suspect;
  const model::NodeStatePtr charged = fit::build_node_state(kNode->inventory, {holding});
  require(charged->holdings.size() == 1, "the holding stays counted");
  const model::NodeStatePtr freed = fit::with_holdings(*charged, {});
  for (std::size_t i = 0; i < kNode->gpus.size(); ++i) {
    require(freed->gpus[i].is_interchangeable_with(kNode->gpus[i]), "all of it is given back");
  }
}

}  // namespace

void take_input(std::string_view input) {
  const base::Limits limits;
  const auto read = codec::read_reservation(input, limits);
  if (!read) return require(!read.error().message.empty(), "an error has a message");
  require(read->suspect != read->suspect_reason.empty(), "a suspect reservation has a reason");
  const std::string text = written(read->reservation);
  require(nlohmann::json::accept(text), "what is written is JSON");
  const auto again = codec::read_reservation(text, limits);
  require(again.has_value(), "what is written can be read");
  require(again->reservation == read->reservation, "what is written is the same");
  require(again->container_requests == read->container_requests, "the requests are the same");
  require(again->suspect == read->suspect, "it is as suspect as before");
  require(written(again->reservation) == text, "one text for one reservation");
  charge(*read);
}

}  // namespace snug::fuzz
