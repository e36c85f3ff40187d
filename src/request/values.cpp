#include "request/values.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "request/sentences.hpp"
#include "snug/mig/catalog.hpp"
#include "snug/request/parse.hpp"

namespace snug {
namespace {

constexpr std::size_t kMaxModelBytes = 253;  // a reservation repeats it, which has to stay small
constexpr std::string_view kFractionAllowed =
    "a number above 0 and below 1 with at most 3 decimals (0.25), or a whole number of GPUs from 1 "
    "to 999";
constexpr std::string_view kProfileAllowed =
    "a MIG profile as NVIDIA names it, in lower case: 2g.10gb, 1g.5gb+me or 1g.24gb-me, and of "
    "compute instances only the largest (3c.3g.20gb)";
constexpr std::string_view kAsking = "gpu-fraction, gpu-memory or gpu-mig-profile";
constexpr std::string_view kWithAShare =
    "a share of a GPU to go with it (gpu-fraction below 1, or gpu-memory)";

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

int to_int(std::string_view digits) {
  int value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  return value;
}

/// A number from 1 to 999 as people write it: no sign, no leading zero.
std::optional<int> small_number(std::string_view text) {
  if (text.size() > 3 || !all_digits(text) || text.front() == '0') return std::nullopt;
  return to_int(text);
}

bool read_fraction(std::string_view value, ContainerRequest& request) {
  if (const auto number = small_number(value)) {
    request.ask = WholeAsk{};
    request.count = *number;
    return true;
  }
  if (!value.starts_with("0.") || value.size() < 3 || value.size() > 5) return false;
  const std::string_view decimals = value.substr(2);
  if (!all_digits(decimals)) return false;
  int thousandths = to_int(decimals);
  for (std::size_t i = decimals.size(); i < 3; ++i) thousandths *= 10;
  request.ask = FractionAsk{thousandths};
  return thousandths != 0;
}

/// The value as the request's text repeats it; nothing: it is malformed.
using ReadValue = std::optional<std::string> (*)(std::string_view value, ContainerRequest& request);

std::optional<std::string> read_count(std::string_view value, ContainerRequest& request) {
  const auto number = small_number(value);
  if (!number) return std::nullopt;
  request.count = *number;
  return std::string(value);
}

std::optional<std::string> read_compute(std::string_view value, ContainerRequest& request) {
  request.compute_percent = small_number(value);
  if (!request.compute_percent || *request.compute_percent > 100) return std::nullopt;
  return std::string(value);
}

std::optional<std::string> read_isolation(std::string_view value, ContainerRequest& request) {
  constexpr auto kNames = std::to_array<std::pair<std::string_view, Isolation>>(
      {{"any", Isolation::kAny},
       {"time-slicing", Isolation::kTimeSlicing},
       {"mps", Isolation::kMps},
       {"mig", Isolation::kMig}});
  for (const auto& [name, isolation] : kNames) {
    if (value != name) continue;
    request.isolation = isolation;
    return std::string(value);
  }
  return std::nullopt;
}

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool may_stand_in_a_glob(char c) { return is_printable(c) && c != ';' && c != '='; }

std::optional<std::string> read_models(std::string_view value, ContainerRequest& request) {
  if (value.size() > kMaxModelBytes || !std::ranges::all_of(value, may_stand_in_a_glob)) {
    return std::nullopt;
  }
  std::string text;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    std::string_view glob = without_blanks(value.substr(begin, end - begin));
    begin = end + 1;
    const bool excluded = glob.starts_with('!');
    if (excluded) glob = without_blanks(glob.substr(1));
    // A second `!` would exclude what no model is called, and so nothing.
    if (glob.empty() || glob.starts_with('!')) return std::nullopt;
    (excluded ? request.models.excluded : request.models.wanted).emplace_back(glob);
    if (!text.empty()) text += ',';
    text.append(excluded ? "!" : "").append(glob);
  }
  return text;
}

/// A key that says more of what the ask is for.
struct FurtherRow {
  Key key;
  std::string_view name;
  ReadValue read;
  std::string_view allowed;
  std::string_view beside_whole;  // what is allowed there; empty: anything
  /// And beside a profile; empty: anything. What says nothing new always is.
  std::string_view beside_profile;
};
constexpr auto kFurther = std::to_array<FurtherRow>(
    {{Key::kCount, "gpu-count", read_count, "a whole number of GPUs from 1 to 999", kWithAShare},
     {Key::kCompute, "gpu-compute", read_compute, "a whole number of percent from 1 to 100",
      kWithAShare, kWithAShare},
     {Key::kIsolation, "gpu-isolation", read_isolation, "any, time-slicing, mps or mig",
      "any, since a whole GPU has no neighbours", "mig or any, since a profile is a slice"},
     {Key::kModel, "gpu-model", read_models,
      "a comma list of model names, in which * and ? stand for others and a leading ! excludes, "
      "of at most 253 printable characters without ; and =",
      ""}});

/// gpu-fraction, gpu-memory or gpu-mig-profile.
std::expected<ContainerRequest, Refusal> read_ask(const Said& said, Key key) {
  ContainerRequest request;
  if (key == Key::kMigProfile) {
    const std::optional<MigName> name = parse_mig_name(said.value);
    if (!name) return bad_value(said.key, said.value, kProfileAllowed);
    request.ask = SliceAsk{name->name};
    request.text = "gpu-mig-profile=" + name->name;
    return request;
  }
  if (key == Key::kFraction) {
    if (!read_fraction(said.value, request)) {
      return bad_value(said.key, said.value, kFractionAllowed);
    }
    request.text = "gpu-fraction=" + std::string(said.value);
    return request;
  }
  // The value goes into the reservation as it stands, which has to stay small enough to be read.
  if (said.value.size() > kMaxShownValue) {
    return bad_value(said.key, said.value, "a quantity of at most 63 characters");
  }
  const auto parsed = parse_memory(said.value);
  if (!parsed) return bad_value(said.key, said.value, parsed.error());
  request.ask = MemoryAsk{*parsed};
  request.text = "gpu-memory=" + std::string(said.value);
  return request;
}

/// What is allowed of this key beside what is asked; empty: what it says.
std::string_view only_allowed(const FurtherRow& row, const ContainerRequest& request) {
  const bool isolation = row.key == Key::kIsolation;
  if (isolation && request.isolation == Isolation::kAny) return {};
  if (std::holds_alternative<WholeAsk>(request.ask)) return row.beside_whole;
  if (!std::holds_alternative<SliceAsk>(request.ask)) return {};
  return isolation && request.isolation == Isolation::kMig ? std::string_view{}
                                                           : row.beside_profile;
}

std::optional<Refusal> read_further(const FurtherRow& row, const Said& said,
                                    ContainerRequest& request) {
  const std::optional<std::string> text = row.read(said.value, request);
  if (!text) return bad_value(said.key, said.value, row.allowed).error();
  if (const std::string_view allowed = only_allowed(row, request); !allowed.empty()) {
    const bool whole = std::holds_alternative<WholeAsk>(request.ask);
    return malformed(shown(said.key) + " is \"" + shown(said.value) + "\" beside " +
                     (whole ? "a whole number of GPUs" : "gpu-mig-profile") + "; allowed is " +
                     std::string(allowed))
        .error();
  }
  request.text.append(";").append(row.name).append("=").append(*text);
  return std::nullopt;
}

const Said* get(const ContainerSays& says, Key key) {
  const std::optional<Said>& said = says[key];
  return said ? &*said : nullptr;
}

/// The one of the keys that ask which the container has.
std::expected<Key, Refusal> asking_key(const ContainerSays& says) {
  std::optional<Key> asking;
  for (const Key key : {Key::kFraction, Key::kMemory, Key::kMigProfile}) {
    if (get(says, key) == nullptr) continue;
    if (asking) {
      return malformed(shown(get(says, *asking)->key) + " and " + shown(get(says, key)->key) +
                       " both ask for the same container; allowed is one");
    }
    asking = key;
  }
  if (asking) return *asking;
  for (const FurtherRow& row : kFurther) {
    const Said* said = get(says, row.key);
    if (said == nullptr) continue;
    return malformed(shown(said->key) + " is \"" + shown(said->value) + "\" without " +
                     std::string(kAsking) + " for the same container; allowed is one of them " +
                     "beside it");
  }
  return malformed("nothing says what the container asks for; allowed is " + std::string(kAsking));
}

}  // namespace

std::expected<ContainerRequest, Refusal> read_container_request(const ContainerSays& says) {
  const auto asking = asking_key(says);
  if (!asking) return std::unexpected(asking.error());
  auto request = read_ask(*get(says, *asking), *asking);
  if (!request) return request;
  for (const FurtherRow& row : kFurther) {
    const Said* said = get(says, row.key);
    if (said == nullptr) continue;
    if (auto refusal = read_further(row, *said, *request)) {
      return std::unexpected(*std::move(refusal));
    }
  }
  return request;
}

}  // namespace snug
