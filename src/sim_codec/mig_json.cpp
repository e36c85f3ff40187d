#include <nlohmann/json.hpp>

#include "snug/mig/layouts.hpp"
#include "snug/sim_codec/mig_picture.hpp"

namespace snug {
namespace {

using Json = nlohmann::ordered_json;

Json profile_json(const MigTable& table, std::size_t position) {
  const MigProfile& profile = table.profiles[position];
  Json json = {{"profile", profile.name}};
  if (!profile.alias.empty()) json["alias"] = profile.alias;
  json["compute"] = profile.compute;
  json["size"] = profile.size;
  json["memoryMiB"] = profile.memory.value;
  json["starts"] = profile.starts;
  json["atMost"] = most_slices(table, position);
  json["media"] = profile.engines.media;
  json["extension"] = profile.engines.extension;
  return json;
}

Json layout_json(const MigTable& table, const MigLayout& layout) {
  Json json = Json::array();
  for (const MigPlacement slice : layout) {
    const MigProfile& profile = table.profiles[slice.profile];
    json.push_back({{"profile", profile.name}, {"start", slice.start}, {"size", profile.size}});
  }
  return json;
}

Json card_json(const MigCard& card) {
  const MigTable& table = *card.table;
  Json profiles = Json::array();
  for (std::size_t i = 0; i < table.profiles.size(); ++i) {
    profiles.push_back(profile_json(table, i));
  }
  return {{"card", card.name},
          {"memoryMiB", card.memory.value},
          {"axis", table.axis},
          {"compute", table.compute},
          {"media", table.engines.media},
          {"extension", table.engines.extension},
          {"profiles", std::move(profiles)}};
}

}  // namespace

std::string write_mig_cards() {
  Json json = Json::array();
  for (const MigCard& card : mig_cards()) json.push_back(card_json(card));
  return json.dump() + "\n";
}

std::string write_mig_card(const MigCard& card, MigLayouts which) {
  Json json = card_json(card);
  Json layouts = Json::array();
  for (const MigLayout& layout : maximal_layouts(*card.table, which == MigLayouts::kPlain)) {
    layouts.push_back(layout_json(*card.table, layout));
  }
  json["layouts"] = std::move(layouts);
  return json.dump() + "\n";
}

}  // namespace snug
