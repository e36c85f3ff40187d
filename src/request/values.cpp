#include "request/values.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "request/sentences.hpp"
#include "snug/request/parse.hpp"

namespace snug {
namespace {

constexpr std::size_t kMaxModelBytes = 253;  // a reservation repeats it, which has to stay small
constexpr std::string_view kFractionAllowed =
    "a number above 0 and below 1 with at most 3 decimals (0.25), or a whole number of GPUs from 1 "
    "to 999";
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

/// A key that says more of what gpu-fraction or gpu-memory asks for.
struct FurtherRow {
  Key key;
  std::string_view name;
  ReadValue read;
  std::string_view allowed;
  std::string_view beside_whole;  // what is allowed there; empty: anything
};
constexpr auto kFurther = std::to_array<FurtherRow>(
    {{Key::kCount, "gpu-count", read_count, "a whole number of GPUs from 1 to 999", kWithAShare},
     {Key::kCompute, "gpu-compute", read_compute, "a whole number of percent from 1 to 100",
      kWithAShare},
     {Key::kIsolation, "gpu-isolation", read_isolation, "any, time-slicing, mps or mig",
      "any, since a whole GPU has no neighbours"},
     {Key::kModel, "gpu-model", read_models,
      "a comma list of model names, in which * and ? stand for others and a leading ! excludes, "
      "of at most 253 printable characters without ; and =",
      ""}});

/// gpu-fraction or gpu-memory.
std::expected<ContainerRequest, Refusal> read_ask(const Said* fraction, const Said* memory) {
  ContainerRequest request;
  if (fraction != nullptr) {
    if (!read_fraction(fraction->value, request)) {
      return bad_value(fraction->key, fraction->value, kFractionAllowed);
    }
    request.text = "gpu-fraction=" + std::string(fraction->value);
    return request;
  }
  // The value goes into the reservation as it stands, which has to stay small enough to be read.
  if (memory->value.size() > kMaxShownValue) {
    return bad_value(memory->key, memory->value, "a quantity of at most 63 characters");
  }
  const auto parsed = parse_memory(memory->value);
  if (!parsed) return bad_value(memory->key, memory->value, parsed.error());
  request.ask = MemoryAsk{*parsed};
  request.text = "gpu-memory=" + std::string(memory->value);
  return request;
}

std::optional<Refusal> read_further(const FurtherRow& row, const Said& said,
                                    ContainerRequest& request) {
  const std::optional<std::string> text = row.read(said.value, request);
  if (!text) return bad_value(said.key, said.value, row.allowed).error();
  const bool says_nothing = row.key == Key::kIsolation && request.isolation == Isolation::kAny;
  if (std::holds_alternative<WholeAsk>(request.ask) && !row.beside_whole.empty() && !says_nothing) {
    return malformed(shown(said.key) + " is \"" + shown(said.value) +
                     "\" beside a whole number of GPUs; allowed is " +
                     std::string(row.beside_whole))
        .error();
  }
  request.text.append(";").append(row.name).append("=").append(*text);
  return std::nullopt;
}

const Said* get(const ContainerSays& says, Key key) {
  const std::optional<Said>& said = says[key];
  return said ? &*said : nullptr;
}

}  // namespace

std::expected<ContainerRequest, Refusal> read_container_request(const ContainerSays& says) {
  const Said* fraction = get(says, Key::kFraction);
  const Said* memory = get(says, Key::kMemory);
  if (fraction != nullptr && memory != nullptr) {
    return malformed(shown(fraction->key) + " and " + shown(memory->key) +
                     " both ask for the same container; allowed is one");
  }
  if (fraction == nullptr && memory == nullptr) {
    for (const FurtherRow& row : kFurther) {
      const Said* said = get(says, row.key);
      if (said == nullptr) continue;
      return malformed(shown(said->key) + " is \"" + shown(said->value) +
                       "\" without gpu-fraction or gpu-memory for the same container; allowed is " +
                       "one of the two beside it");
    }
    return malformed("nothing says what the container asks for; allowed is gpu-fraction or " +
                     std::string("gpu-memory"));
  }
  auto request = read_ask(fraction, memory);
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
