// A pod's request, from lines: `c NAME`, `i NAME` and `s NAME` begin a container, an init container
// and a sidecar; `r KEY=VALUE` is a resource of that container, `a KEY=VALUE` an annotation. Each
// value is read as a quantity, too, and compared with exact arithmetic.
#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "snug/request/near_misses.hpp"
#include "snug/request/pod_request_parser.hpp"
#include "snug/request/quantity.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

using Integer = boost::multiprecision::cpp_int;

constexpr std::size_t kLongestQuantity = 100;
constexpr std::ptrdiff_t kExactDigits = 19;  // what ours computes exactly

/// value = digits * 10^ten * 2^two, times `factor`, rounded up; saturates.
std::int64_t rounded_up(Integer digits, int ten, unsigned two, int factor) {
  using boost::multiprecision::pow;
  digits = (digits * factor) << two;
  if (ten >= 0) {
    digits *= pow(Integer(10), static_cast<unsigned>(ten));
  } else {
    const Integer divisor = pow(Integer(10), static_cast<unsigned>(-ten));
    digits = (digits + divisor - 1) / divisor;
  }
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  return digits > kMost ? kMost : static_cast<std::int64_t>(digits);
}

/// The quantity by Kubernetes' grammar, times `factor`; nullopt: it is none.
std::optional<std::int64_t> exact_quantity(const std::string& text, int factor) {
  static const std::regex kForm(
      R"(\+?(?:(\d+)\.?(\d*)|\.(\d+))([eE][+-]?\d{1,3}|[KMGTPE]i|[numkMGTPE]|))");
  static const std::map<std::string, int> kTens{{"n", -9}, {"u", -6}, {"m", -3}, {"k", 3},
                                                {"M", 6},  {"G", 9},  {"T", 12}, {"P", 15},
                                                {"E", 18}, {"", 0}};
  std::smatch parts;
  if (!std::regex_match(text, parts, kForm)) return std::nullopt;
  const std::string fraction = parts[2].str() + parts[3].str();
  std::string all = parts[1].str() + fraction;
  all.erase(0, std::min(all.find_first_not_of('0'), all.size() - 1));
  const std::string suffix = parts[4].str();
  int ten = -static_cast<int>(fraction.size());
  unsigned two = 0;
  if (const auto found = kTens.find(suffix); found != kTens.end()) {
    ten += found->second;
  } else if (suffix.back() == 'i') {
    two = 10 * (1 + static_cast<unsigned>(std::string_view("KMGTPE").find(suffix.front())));
  } else {
    ten += std::stoi(suffix.substr(1));
  }
  return rounded_up(Integer(all), ten, two, factor);
}

void check_quantity(const std::string& text) {
  if (text.size() > kLongestQuantity) return;
  const auto whole = exact_quantity(text, 1);
  require(request::parse_quantity(text).has_value() == whole.has_value(), "both read a quantity");
  if (std::ranges::count_if(text, [](char c) { return c >= '0' && c <= '9'; }) <= kExactDigits) {
    require(request::parse_quantity(text) == whole, "the quantity is exact");
    require(request::parse_quantity_milli(text) == exact_quantity(text, 1000),
            "so it is in thousandths");
  }
  const auto memory = request::parse_gpu_memory(text);
  require(memory ? memory->value >= 1 : !memory.error().empty(), "memory is positive");
  const auto units = request::parse_unit_count(text);
  require(!units || units == whole, "units are a quantity");
}

model::PodFacts pod_from(std::string_view text) {
  model::PodFacts pod;
  pod.name = pod.name_space = "p";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string rest(line.substr(std::min<std::size_t>(2, line.size())));
    const std::size_t equals = std::min(rest.find('='), rest.size());
    const std::string key = rest.substr(0, equals);
    const std::string value = rest.substr(std::min(equals + 1, rest.size()));
    check_quantity(value);
    if (line.starts_with("a ")) {
      pod.annotations.insert_or_assign(key, value);
    } else if (line.starts_with("r ") && !pod.containers.empty()) {
      pod.containers.back().gpu_resources.insert_or_assign(key, value);
    } else if (line.starts_with("c ")) {
      pod.containers.push_back({.name = rest});
    } else if (line.starts_with("i ")) {
      pod.containers.push_back({.name = rest, .type = model::ContainerType::kInit});
    } else if (line.starts_with("s ")) {
      pod.containers.push_back({.name = rest, .type = model::ContainerType::kSidecar});
    }
  }
  return pod;
}

}  // namespace

void take_input(std::string_view input) {
  const model::PodFacts pod = pod_from(input);
  const auto misses = request::near_misses(pod);
  require(misses.size() <= base::kMaxNearMisses, "near_misses");
  const auto request = request::parse_request(pod);
  require(request == request::parse_request(pod), "the same pod, the same request");
  if (!request) {
    require(request.error().code == model::ReasonCode::kMalformed, "the reason of a refusal");
    return require(!request.error().sentence.empty(), "a refusal has a sentence");
  }
  for (const model::ContainerRequest& asked : request->containers) {
    const auto again = request::parse_request_text(asked.text);
    require(again.has_value(), "the text of a request can be read");
    require(again->device == asked.device && again->count == asked.count &&
                again->compute_percent == asked.compute_percent &&
                again->isolation == asked.isolation && again->models == asked.models &&
                again->text == asked.text,
            "the text of a request is the request");
  }
  require(request->empty() == model::to_text(*request).empty(), "a request has a text");
  (void)request::unmatched_models(*request,
                                  std::vector<std::string>{"NVIDIA-A100-SXM4-80GB", "T4"});
}

}  // namespace snug::fuzz
