#include <nlohmann/json.hpp>

#include "snug/mig/layouts.hpp"
#include "snug/sim_codec/mig_card_text.hpp"

namespace snug::sim_codec {
namespace {

using Json = nlohmann::ordered_json;

Json profile_json(const model::MigTable& table, std::size_t position) {
  const model::MigProfile& profile = table.profiles[position];
  Json json = {{"profile", profile.name}};
  if (!profile.alias.empty()) json["alias"] = profile.alias;
  json["compute"] = profile.compute_slices;
  json["size"] = profile.size;
  json["memoryMiB"] = profile.memory.value;
  json["starts"] = profile.starts;
  json["atMost"] = mig::max_slices(table, position);
  json["media"] = profile.engines.media;
  json["extension"] = profile.engines.extension;
  return json;
}

Json layout_json(const model::MigTable& table, const mig::MigLayout& layout) {
  Json json = Json::array();
  for (const model::MigPlacement slice : layout) {
    const model::MigProfile& profile = table.profiles[slice.profile];
    json.push_back({{"profile", profile.name}, {"start", slice.start}, {"size", profile.size}});
  }
  return json;
}

Json card_json(const mig::MigCard& card) {
  const model::MigTable& table = *card.table;
  Json profiles = Json::array();
  for (std::size_t i = 0; i < table.profiles.size(); ++i) {
    profiles.push_back(profile_json(table, i));
  }
  return {{"card", card.name},
          {"memoryMiB", card.memory.value},
          {"axis", table.memory_slices},
          {"compute", table.compute_slices},
          {"media", table.engines.media},
          {"extension", table.engines.extension},
          {"profiles", std::move(profiles)}};
}

}  // namespace

std::string write_mig_cards() {
  Json json = Json::array();
  for (const mig::MigCard& card : mig::mig_cards()) json.push_back(card_json(card));
  return json.dump() + "\n";
}

std::string write_mig_card(const mig::MigCard& card, LayoutScope which) {
  Json json = card_json(card);
  Json layouts = Json::array();
  for (const mig::MigLayout& layout :
       mig::maximal_layouts(*card.table, which == LayoutScope::kPlain)) {
    layouts.push_back(layout_json(*card.table, layout));
  }
  json["layouts"] = std::move(layouts);
  return json.dump() + "\n";
}

}  // namespace snug::sim_codec
