#include <algorithm>
#include <array>
#include <charconv>

#include "snug/base/limits.hpp"
#include "snug/mig/catalog.hpp"
#include "snug/mig/layouts.hpp"

namespace snug {
namespace {

constexpr int kMostDigits = 4;

/// Removes a number and `unit` from the front of `text`. Nullopt: `text` does not start with them.
std::optional<int> take(std::string_view& text, std::string_view unit) {
  int number = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = stopped - text.data();
  if (error != std::errc{} || digits > kMostDigits || number <= 0 || text.front() == '0') {
    return std::nullopt;
  }
  const std::string_view rest = text.substr(static_cast<std::size_t>(digits));
  if (!rest.starts_with(unit)) return std::nullopt;
  text = rest.substr(unit.size());
  return number;
}

bool is_attribute(std::string_view text) {
  constexpr std::array<std::string_view, 5> kAttributes{"", "+me", "+me.all", "+gfx", "-me"};
  return std::ranges::find(kAttributes, text) != kAttributes.end();
}

/// Sorts the starts and removes duplicates. False: a slice would lie beyond the longest axis.
bool normalize(std::vector<int>& starts, int size) {
  std::ranges::sort(starts);
  const auto [first, last] = std::ranges::unique(starts);
  starts.erase(first, last);
  if (size < 1 || size > kMostAxisSlices) return false;
  return starts.empty() || (starts.front() >= 0 && starts.back() <= kMostAxisSlices - size);
}

/// Whether the card counts media engines. It then has one for each compute slice (RTX PRO 6000: 4,
/// of which a 1g uses 1 and a 2g uses 2).
bool counts_media(const std::vector<std::string>& attributes) {
  return std::ranges::any_of(attributes, [](const std::string& attribute) {
    return attribute == "-me" || attribute == "+me.all";
  });
}

MigEngines engines_of(int compute, std::string_view attribute, MigEngines all) {
  const int media = attribute == "-me" ? 0 : std::min(compute, all.media);
  if (attribute == "+me.all") return {.media = all.media, .extension = 1};
  return {.media = media, .extension = attribute == "+me" ? 1 : 0};
}

}  // namespace

std::optional<MigName> parse_mig_name(std::string_view text) {
  MigName name;
  std::string_view rest = text;
  const std::optional<int> instance = take(rest, "c.");
  const std::optional<int> compute = take(rest, "g.");
  if (!compute) return std::nullopt;
  const std::optional<int> gigabytes = take(rest, "gb");
  if (!gigabytes || (instance && *instance != *compute) || !is_attribute(rest)) return std::nullopt;
  name.compute = *compute;
  name.gigabytes = *gigabytes;
  name.attribute = rest;
  name.name = std::to_string(*compute) + "g." + std::to_string(*gigabytes) + "gb" + name.attribute;
  return name;
}

MigTablePtr mig_table_of(std::vector<MigProfile> published) {
  if (published.size() > kMostMigProfiles) return nullptr;
  MigTable table;
  std::vector<std::string> attributes;
  for (MigProfile& profile : published) {
    const std::optional<MigName> name = parse_mig_name(profile.name);
    if (!name || table.find(name->name) || !normalize(profile.starts, profile.size)) {
      return nullptr;
    }
    profile.name = name->name;
    profile.compute = name->compute;
    attributes.push_back(name->attribute);
    table.compute = std::max(table.compute, profile.compute);
    if (!profile.starts.empty()) {
      table.axis = std::max(table.axis, profile.starts.back() + profile.size);
    }
    table.profiles.push_back(std::move(profile));
  }
  if (table.axis == 0 || placements(table).size() > kMostMigPlacements) return nullptr;
  if (counts_media(attributes)) table.engines.media = table.compute;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    MigProfile& profile = table.profiles[i];
    profile.engines = engines_of(profile.compute, attributes[i], table.engines);
    table.engines.extension = std::max(table.engines.extension, profile.engines.extension);
  }
  return std::make_shared<const MigTable>(std::move(table));
}

std::string_view profile_part(std::string_view resource) {
  if (!resource.starts_with(kMigResource)) return {};
  resource.remove_prefix(kMigResource.size());
  if (resource.ends_with(kRenamedReplicas)) resource.remove_suffix(kRenamedReplicas.size());
  return resource;
}

std::optional<MigName> parse_profile_part(std::string_view part) {
  std::string name(part);
  const std::size_t attribute = name.find("gb.");
  if (attribute != std::string::npos) name[attribute + 2] = '+';
  return parse_mig_name(name);
}

}  // namespace snug
