#include "snug/codec/repack_codec.hpp"

#include <nlohmann/json.hpp>

#include "codec/json_writer.hpp"

namespace snug::codec {
namespace {

using Json = nlohmann::json;

constexpr RepackQueryKey kQueryKeys[] = {
    {"namespace", "NAME", "the namespace of the pod or of the request; if absent, default"},
    {"pod", "NAME", "a pod that is not bound to a node yet"},
    {"gpu-fraction", "F",
     "instead of a pod, a request: a fraction of one GPU, or a number of whole GPUs"},
    {"gpu-memory", "SIZE",
     "memory of one GPU, such as 4G or 4Gi; a number without a unit is in MiB"},
    {"gpu-count", "N", "the number of GPUs of one node; the pod gets the same share of each"},
    {"gpu-compute", "PERCENT",
     "the compute of each GPU; if absent, it is in proportion to the memory"},
    {"gpu-mig-profile", "PROFILE", "the profile of a MIG slice"},
    {"gpu-isolation", "HOW", "how the GPU is shared: any, time-slicing, mps or mig"},
    {"gpu-model", "GLOBS", "patterns of GPU models; a pattern with ! excludes models"},
    {"gpu-policy", "NAME", "the name of a profile of the policy"},
};

void append_place(std::string& advice_json, const model::Reservation& reservation) {
  advice_json += R"({"node":)";
  append_json_string(advice_json, reservation.node);
  advice_json += R"(,"devices":)";
  append_devices(advice_json, reservation);
  advice_json += '}';
}

void append_move(std::string& advice_json, const advice::PodMove& move) {
  advice_json += R"({"namespace":)";
  append_json_string(advice_json, move.from->name_space);
  advice_json += R"(,"pod":)";
  append_json_string(advice_json, move.from->pod);
  advice_json += R"(,"uid":)";
  append_json_string(advice_json, move.from->uid);
  advice_json += R"(,"from":)";
  append_place(advice_json, move.from->reservation);
  advice_json += R"(,"to":)";
  append_place(advice_json, move.to);
  advice_json += '}';
}

std::string device_text(const Json& device) {
  std::string text = std::to_string(device.at("index").get<int>());
  if (!device.contains("mig")) return text;
  const Json& slice = device.at("mig");
  return text + ":" + slice.at("profile").get<std::string>() + "@" +
         std::to_string(slice.at("start").get<int>());
}

std::string devices_text(const Json& devices) {
  std::string text;
  for (const Json& device : devices) text += (text.empty() ? "" : ",") + device_text(device);
  return text;
}

ParsedAdvice::Place read_place(const Json& place) {
  return {place.at("node").get<std::string>(), devices_text(place.at("devices"))};
}

ParsedAdvice read_advice(const Json& advice_json) {
  ParsedAdvice advice{.request_text = advice_json.at("request").get<std::string>(),
                      .fits_now = advice_json.at("fits").get<bool>(),
                      .place = {},
                      .moves = {},
                      .explanation = advice_json.value("because", "")};
  for (const Json& move : advice_json.at("moves")) {
    advice.moves.push_back({.name_space = move.at("namespace").get<std::string>(),
                            .pod = move.at("pod").get<std::string>(),
                            .from = read_place(move.at("from")),
                            .to = read_place(move.at("to"))});
  }
  if (!advice_json.contains("reservation")) return advice;
  advice.place.node = advice_json.at("node").get<std::string>();
  for (const Json& container : advice_json.at("reservation").at("containers")) {
    if (!container.contains("devices")) continue;
    const std::string container_devices = devices_text(container.at("devices"));
    advice.place.devices += (advice.place.devices.empty() ? "" : ",") + container_devices;
  }
  return advice;
}

}  // namespace

std::span<const RepackQueryKey> repack_keys() { return kQueryKeys; }

std::string write_repack_advice(base::Generation generation, std::string_view request,
                                const advice::RepackAdvice& advice) {
  std::string advice_json = "{\"generation\":" + std::to_string(generation.value) + ",\"request\":";
  append_json_string(advice_json, request);
  advice_json += advice.fits_now ? R"(,"fits":true)" : R"(,"fits":false)";
  if (advice.reservation) {
    advice_json += R"(,"node":)";
    append_json_string(advice_json, advice.reservation->node);
  }
  advice_json += R"(,"moves":[)";
  for (const advice::PodMove& move : advice.moves) {
    if (&move != advice.moves.data()) advice_json += ',';
    append_move(advice_json, move);
  }
  advice_json += ']';
  if (advice.reservation) {
    advice_json += R"(,"reservation":)";
    append_reservation(advice_json, *advice.reservation);
  }
  if (!advice.explanation.empty()) {
    advice_json += R"(,"because":)";
    append_json_string(advice_json, advice.explanation);
  }
  return advice_json + '}';
}

base::Result<ParsedAdvice> read_repack_advice(std::string_view json) {
  try {
    return read_advice(Json::parse(json));
  } catch (const Json::exception& problem) {
    return base::fail(base::ErrorCode::kInvalid,
                      std::string("it is not repacking advice: ") + problem.what());
  }
}

std::string read_error_sentence(std::string_view json) {
  const Json body = Json::parse(json, nullptr, false);
  const auto error = body.is_object() ? body.find("Error") : body.end();
  if (!body.is_object() || error == body.end() || !error->is_string()) return "";
  return error->get<std::string>();
}

}  // namespace snug::codec
