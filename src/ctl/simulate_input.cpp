#include "ctl/simulate_input.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <memory>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/codec/policy_codec.hpp"
#include "snug/config/files.hpp"
#include "snug/sim_codec/trace_codec.hpp"

namespace snug {
namespace {

constexpr double kMostInflate = 100;

std::unexpected<Error> wrong(std::string sentence) {
  return fail(ErrorCode::kInvalid, std::move(sentence));
}

/// Whether both are names of one file, be it there yet or not.
bool same_file(const std::string& one, const std::string& other) {
  const auto of = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  return of(one) == of(other);
}

/// A run must not write over what it reads, nor one result over the other.
Result<void> check_results(const SimulateFlags& flags) {
  if (flags.svg == "-") return wrong("--svg must name a file; only --json may be -");
  if (flags.json && flags.json->empty()) return wrong("--json must name a file or be -, not \"\"");
  if (flags.svg && flags.svg->empty()) return wrong("--svg must name a file, not \"\"");
  if (flags.svg && flags.json && same_file(*flags.svg, *flags.json)) {
    return wrong("--json and --svg name the same file");
  }
  std::vector<std::string> read = flags.policies;
  read.push_back(flags.nodes);
  if (flags.pods) read.push_back(*flags.pods);
  if (flags.arrivals) read.push_back(*flags.arrivals);
  for (const auto& [flag, path] : {std::pair{"--json", flags.json}, {"--svg", flags.svg}}) {
    if (!path || path == "-") continue;
    const auto over = std::ranges::find_if(
        read, [&](const std::string& input) { return same_file(input, *path); });
    if (over != read.end()) return wrong(std::string(flag) + " would write over " + *over);
  }
  return {};
}

/// The text as a number that fills it.
template <typename Number>
std::optional<Number> parse(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

Result<void> check_flags(const SimulateFlags& flags) {
  if (flags.arrivals && flags.seed) {
    return wrong("--arrivals and --seed were both given; one of them says who arrives");
  }
  if (!flags.arrivals && !flags.seed) {
    return wrong("who arrives must be said by one of --arrivals and --seed");
  }
  if (flags.seed && !flags.pods) return wrong("--seed needs --pods, from which it draws");
  if (flags.inflate && !flags.seed) return wrong("--inflate belongs to --seed, which is missing");
  if (flags.policies.size() > kMostComparedPolicies) {
    return wrong("--policy may be given at most " + std::to_string(kMostComparedPolicies) +
                 " times");
  }
  for (std::size_t i = 0; i < flags.policies.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (same_file(flags.policies[k], flags.policies[i])) {
        return wrong("--policy names the same file twice: " + flags.policies[i]);
      }
    }
  }
  return check_results(flags);
}

/// What one of the trace's files says, by its reader of codec/trace_codec.
template <typename Reader>
auto read_part(const std::string& path, Reader reader)
    -> decltype(reader(std::declval<const TraceFile&>())) {
  const Result<std::string> text = read_file(path, kMostTraceBytes);
  if (!text) return std::unexpected(text.error());
  return reader(TraceFile{*text, path});
}

Result<void> draw(const std::string& seed, const std::string& inflate, SimulateInput& input) {
  input.seed = parse<std::uint64_t>(seed);
  if (!input.seed) {
    return wrong("--seed must be an integer from 0 to " +
                 std::to_string(std::numeric_limits<std::uint64_t>::max()) + ", not \"" + seed +
                 '"');
  }
  const std::optional<double> times = parse<double>(inflate);
  if (!times || !(*times > 0 && *times <= kMostInflate)) {
    return wrong("--inflate must be a number above 0 and up to 100, not \"" + inflate + '"');
  }
  input.trace.arrivals =
      draw_arrivals(input.trace.pods, input.trace.gpu_count(), *input.seed, *times);
  if (input.trace.arrivals.size() >= kMostTraceArrivals) {
    return wrong("--inflate " + inflate + " comes to " + std::to_string(kMostTraceArrivals) +
                 " arrivals or more, which is too many");
  }
  return {};
}

Result<void> read_trace(const SimulateFlags& flags, SimulateInput& input) {
  auto nodes = read_part(flags.nodes,
                         [](const TraceFile& file) { return read_trace_nodes(file, Limits{}); });
  if (!nodes) return std::unexpected(nodes.error());
  input.trace.nodes = std::move(*nodes);
  if (flags.pods) {
    auto pods = read_part(*flags.pods,
                          [](const TraceFile& file) { return read_trace_pods(file, Limits{}); });
    if (!pods) return std::unexpected(pods.error());
    input.trace.pods = std::move(*pods);
  }
  if (flags.seed) return draw(*flags.seed, flags.inflate.value_or("1.3"), input);
  return read_part(flags.arrivals.value_or(""),
                   [&](const TraceFile& file) { return read_trace_arrivals(file, input.trace); });
}

Result<PolicyPtr> read_one_policy(std::string_view text, std::string_view source) {
  Result<Policy> policy = read_policy(text, source, Limits{});
  if (!policy) return std::unexpected(policy.error());
  return std::make_shared<const Policy>(std::move(*policy));
}

/// Names of policies from their files, from short to certain.
std::vector<std::string> possible_names(const std::string& path, const Policy& policy) {
  return {policy.default_profile, std::filesystem::path(path).stem().string(), path};
}

/// Each gets the first of its names that no other has at the same time.
void name_apart(std::vector<NamedPolicy>& policies, const std::vector<std::string>& paths) {
  std::vector<std::size_t> levels(policies.size(), 0);
  const auto rename = [&](std::size_t i) {
    policies[i].name = possible_names(paths[i], *policies[i].policy)[levels[i]];
  };
  for (std::size_t i = 0; i < policies.size(); ++i) rename(i);
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<std::size_t> shared;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      const auto same = std::ranges::count(policies, policies[i].name, &NamedPolicy::name);
      if (same > 1 && levels[i] < 2) shared.push_back(i);
    }
    for (const std::size_t i : shared) {
      ++levels[i];
      rename(i);
      changed = true;
    }
  }
}

Result<void> read_policies(const std::vector<std::string>& paths, SimulateInput& input) {
  if (paths.empty()) {
    const auto policy = read_one_policy(default_policy_yaml(), "the default policy");
    if (!policy) return std::unexpected(policy.error());
    input.policies.push_back({(*policy)->default_profile, *policy});
    return {};
  }
  for (const std::string& path : paths) {
    const Result<std::string> text = read_file(path, Limits{}.max_config_bytes);
    if (!text) return std::unexpected(text.error());
    const auto policy = read_one_policy(*text, path);
    if (!policy) return std::unexpected(policy.error());
    input.policies.push_back({"", *policy});
  }
  name_apart(input.policies, paths);
  return {};
}

}  // namespace

Result<SimulateInput> read_input(const SimulateFlags& flags) {
  SimulateInput input;
  if (const auto good = check_flags(flags); !good) return std::unexpected(good.error());
  if (const auto read = read_policies(flags.policies, input); !read) {
    return std::unexpected(read.error());
  }
  if (const auto read = read_trace(flags, input); !read) return std::unexpected(read.error());
  return input;
}

}  // namespace snug
