#include <algorithm>
#include <array>
#include <charconv>

#include "snug/base/limits.hpp"
#include "snug/mig/card_catalog.hpp"
#include "snug/mig/layouts.hpp"

namespace snug::mig {
namespace {

constexpr int kMaxDigits = 4;

/// Removes a number and `unit` from the front of `text` and returns the number. Nullopt if `text`
/// does not start with them.
std::optional<int> take_number(std::string_view& text, std::string_view unit) {
  int number = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = stopped - text.data();
  if (error != std::errc{} || digits > kMaxDigits || number <= 0 || text.front() == '0') {
    return std::nullopt;
  }
  const std::string_view after_digits = text.substr(static_cast<std::size_t>(digits));
  if (!after_digits.starts_with(unit)) return std::nullopt;
  text = after_digits.substr(unit.size());
  return number;
}

bool is_attribute(std::string_view text) {
  constexpr std::array<std::string_view, 5> kAttributes{"", "+me", "+me.all", "+gfx", "-me"};
  return std::ranges::find(kAttributes, text) != kAttributes.end();
}

/// Sorts the starts and removes duplicates. False if a slice would not fit into kMaxAxisSlices.
bool normalize(std::vector<int>& starts, int size) {
  std::ranges::sort(starts);
  const auto [first, last] = std::ranges::unique(starts);
  starts.erase(first, last);
  if (size < 1 || size > model::kMaxAxisSlices) return false;
  return starts.empty() || (starts.front() >= 0 && starts.back() <= model::kMaxAxisSlices - size);
}

/// Whether media engines must be counted on a card whose profiles have these attributes. Such a
/// card has one media engine for each compute slice. For example, an RTX PRO 6000 has 4, of which a
/// 1g slice uses 1 and a 2g slice uses 2.
bool counts_media(const std::vector<std::string>& attributes) {
  return std::ranges::any_of(attributes, [](const std::string& attribute) {
    return attribute == "-me" || attribute == "+me.all";
  });
}

model::MigEngines engines_of(int compute, std::string_view attribute,
                             model::MigEngines card_engines) {
  const int media = attribute == "-me" ? 0 : std::min(compute, card_engines.media);
  if (attribute == "+me.all") return {.media = card_engines.media, .extension = 1};
  return {.media = media, .extension = attribute == "+me" ? 1 : 0};
}

}  // namespace

std::optional<MigProfileName> parse_mig_profile_name(std::string_view text) {
  MigProfileName profile_name;
  std::string_view unparsed = text;
  const std::optional<int> instance = take_number(unparsed, "c.");
  const std::optional<int> compute = take_number(unparsed, "g.");
  if (!compute) return std::nullopt;
  const std::optional<int> gigabytes = take_number(unparsed, "gb");
  if (!gigabytes || (instance && *instance != *compute) || !is_attribute(unparsed))
    return std::nullopt;
  profile_name.compute = *compute;
  profile_name.gigabytes = *gigabytes;
  profile_name.attribute = unparsed;
  profile_name.canonical =
      std::to_string(*compute) + "g." + std::to_string(*gigabytes) + "gb" + profile_name.attribute;
  return profile_name;
}

std::string canonical_profile_name(std::string profile) {
  std::optional<MigProfileName> name = parse_mig_profile_name(profile);
  return name ? std::move(name->canonical) : std::move(profile);
}

std::string profile_alias(std::string_view profile) {
  if (profile == "7g.79gb") return "7g.80gb";
  return profile == "7g.80gb" ? "7g.79gb" : "";
}

model::MigTablePtr build_mig_table(std::vector<model::MigProfile> published) {
  if (published.size() > model::kMaxMigProfiles) return nullptr;
  model::MigTable table;
  std::vector<std::string> attributes;
  for (model::MigProfile& profile : published) {
    const std::optional<MigProfileName> name = parse_mig_profile_name(profile.name);
    if (!name || table.find_profile(name->canonical) || !normalize(profile.starts, profile.size)) {
      return nullptr;
    }
    profile.name = name->canonical;
    profile.compute_slices = name->compute;
    attributes.push_back(name->attribute);
    table.compute_slices = std::max(table.compute_slices, profile.compute_slices);
    if (!profile.starts.empty()) {
      table.memory_slices = std::max(table.memory_slices, profile.starts.back() + profile.size);
    }
    table.profiles.push_back(std::move(profile));
  }
  if (table.memory_slices == 0 || all_placements(table).size() > base::kMaxMigPlacements)
    return nullptr;
  if (counts_media(attributes)) table.engines.media = table.compute_slices;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    model::MigProfile& profile = table.profiles[i];
    profile.engines = engines_of(profile.compute_slices, attributes[i], table.engines);
    table.engines.extension = std::max(table.engines.extension, profile.engines.extension);
  }
  return std::make_shared<const model::MigTable>(std::move(table));
}

std::string_view profile_in_resource(std::string_view resource) {
  if (!resource.starts_with(kMigResourcePrefix)) return {};
  resource.remove_prefix(kMigResourcePrefix.size());
  if (resource.ends_with(kSharedResourceSuffix))
    resource.remove_suffix(kSharedResourceSuffix.size());
  return resource;
}

std::optional<MigProfileName> parse_resource_profile(std::string_view resource_profile) {
  std::string profile_name(resource_profile);
  const std::size_t attribute = profile_name.find("gb.");
  if (attribute != std::string::npos) profile_name[attribute + 2] = '+';
  return parse_mig_profile_name(profile_name);
}

}  // namespace snug::mig
