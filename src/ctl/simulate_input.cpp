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

namespace snug::ctl {
namespace {

constexpr double kMaxInflate = 100;

std::unexpected<base::Error> usage_error(std::string sentence) {
  return base::fail(base::ErrorCode::kInvalid, std::move(sentence));
}

/// Returns whether both paths lead to the same file, even if it does not exist yet.
bool same_file(const std::string& path_a, const std::string& path_b) {
  const auto of = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  return of(path_a) == of(path_b);
}

/// Checks the flags of the result files. A result must overwrite neither an input file nor the
/// other result.
base::Result<void> check_results(const SimulateFlags& flags) {
  if (flags.svg == "-") return usage_error("--svg must name a file; only --json may be -");
  if (flags.svg && flags.json && same_file(*flags.svg, *flags.json)) {
    return usage_error("--json and --svg name the same file");
  }
  std::vector<std::string> input_paths = flags.policies;
  input_paths.push_back(flags.nodes);
  if (flags.pods) input_paths.push_back(*flags.pods);
  if (flags.arrivals) input_paths.push_back(*flags.arrivals);
  for (const auto& [flag, path] : {std::pair{"--json", flags.json}, {"--svg", flags.svg}}) {
    if (!path || path == "-") continue;
    const auto overwritten = std::ranges::find_if(
        input_paths, [&](const std::string& input) { return same_file(input, *path); });
    if (overwritten != input_paths.end())
      return usage_error(std::string(flag) + " would overwrite " + *overwritten);
  }
  return {};
}

/// Parses the whole text as a number.
template <typename Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

base::Result<void> check_flags(const SimulateFlags& flags) {
  if (flags.arrivals && flags.seed) {
    return usage_error("--arrivals and --seed were both given; only one of them is allowed");
  }
  if (!flags.arrivals && !flags.seed) {
    return usage_error("the arrivals are missing; give either --arrivals or --seed");
  }
  if (flags.seed && !flags.pods) return usage_error("--seed needs --pods, from which it draws");
  if (flags.inflate && !flags.seed)
    return usage_error("--inflate requires --seed, which is missing");
  if (flags.policies.size() > base::kMaxComparedPolicies) {
    return usage_error("--policy may be given at most " +
                       std::to_string(base::kMaxComparedPolicies) + " times");
  }
  for (std::size_t i = 0; i < flags.policies.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (same_file(flags.policies[k], flags.policies[i])) {
        return usage_error("--policy names the same file twice: " + flags.policies[i]);
      }
    }
  }
  return check_results(flags);
}

/// Reads a file of the trace and parses it with `reader`, a function of sim_codec/trace_codec.hpp.
template <typename Reader>
auto read_trace_file(const std::string& path, Reader reader)
    -> decltype(reader(std::declval<const sim_codec::TraceFile&>())) {
  const base::Result<std::string> text = config::read_file(path, base::kMaxTraceBytes);
  if (!text) return std::unexpected(text.error());
  return reader(sim_codec::TraceFile{*text, path});
}

base::Result<void> draw_trace_arrivals(const std::string& seed, const std::string& inflate,
                                       SimulateInput& input) {
  input.seed = parse_number<std::uint64_t>(seed);
  if (!input.seed) {
    return usage_error("--seed must be an integer from 0 to " +
                       std::to_string(std::numeric_limits<std::uint64_t>::max()) + ", not \"" +
                       seed + '"');
  }
  const std::optional<double> times = parse_number<double>(inflate);
  if (!times || !(*times > 0 && *times <= kMaxInflate)) {
    return usage_error("--inflate must be a number above 0 and up to 100, not \"" + inflate + '"');
  }
  input.trace.arrivals =
      sim::draw_arrivals(input.trace.pods, input.trace.gpu_count(), *input.seed, *times);
  if (input.trace.arrivals.size() >= base::kMaxTraceArrivals) {
    return usage_error("--inflate " + inflate + " would draw " +
                       std::to_string(base::kMaxTraceArrivals) +
                       " or more arrivals, which is too many");
  }
  return {};
}

base::Result<void> read_trace(const SimulateFlags& flags, SimulateInput& input) {
  auto nodes = read_trace_file(flags.nodes, [](const sim_codec::TraceFile& file) {
    return sim_codec::read_trace_nodes(file, base::Limits{});
  });
  if (!nodes) return std::unexpected(nodes.error());
  input.trace.nodes = std::move(*nodes);
  if (flags.pods) {
    auto pods = read_trace_file(*flags.pods, [](const sim_codec::TraceFile& file) {
      return sim_codec::read_trace_pods(file, base::Limits{});
    });
    if (!pods) return std::unexpected(pods.error());
    input.trace.pods = std::move(*pods);
  }
  if (flags.seed) return draw_trace_arrivals(*flags.seed, flags.inflate.value_or("1.3"), input);
  return read_trace_file(flags.arrivals.value_or(""), [&](const sim_codec::TraceFile& file) {
    return sim_codec::read_trace_arrivals(file, input.trace);
  });
}

base::Result<score::PolicyPtr> read_one_policy(std::string_view text, std::string_view source) {
  base::Result<score::Policy> policy = codec::read_policy(text, source, base::Limits{});
  if (!policy) return std::unexpected(policy.error());
  return std::make_shared<const score::Policy>(std::move(*policy));
}

/// Returns possible names of a policy: its default profile, the file's name without extension, and
/// the file's path. Only the path is certain to be unique.
std::vector<std::string> possible_names(const std::string& path, const score::Policy& policy) {
  return {policy.default_profile_name, std::filesystem::path(path).stem().string(), path};
}

/// Gives each policy the first of its possible names that no other policy has.
void make_names_unique(std::vector<NamedPolicy>& policies, const std::vector<std::string>& paths) {
  std::vector<std::size_t> levels(policies.size(), 0);
  const auto rename = [&](std::size_t i) {
    policies[i].name = possible_names(paths[i], *policies[i].policy)[levels[i]];
  };
  for (std::size_t i = 0; i < policies.size(); ++i) rename(i);
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<std::size_t> ambiguous;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      const auto same = std::ranges::count(policies, policies[i].name, &NamedPolicy::name);
      if (same > 1 && levels[i] < 2) ambiguous.push_back(i);
    }
    for (const std::size_t i : ambiguous) {
      ++levels[i];
      rename(i);
      changed = true;
    }
  }
}

base::Result<void> read_policies(const std::vector<std::string>& paths, SimulateInput& input) {
  if (paths.empty()) {
    const auto policy = read_one_policy(codec::default_policy_yaml(), "the default policy");
    if (!policy) return std::unexpected(policy.error());
    input.policies.push_back({(*policy)->default_profile_name, *policy});
    return {};
  }
  for (const std::string& path : paths) {
    const base::Result<std::string> text = config::read_file(path, base::Limits{}.max_config_bytes);
    if (!text) return std::unexpected(text.error());
    const auto policy = read_one_policy(*text, path);
    if (!policy) return std::unexpected(policy.error());
    input.policies.push_back({"", *policy});
  }
  make_names_unique(input.policies, paths);
  return {};
}

}  // namespace

base::Result<SimulateInput> read_simulate_input(const SimulateFlags& flags) {
  SimulateInput input;
  if (const auto good = check_flags(flags); !good) return std::unexpected(good.error());
  if (const auto read = read_policies(flags.policies, input); !read) {
    return std::unexpected(read.error());
  }
  if (const auto read = read_trace(flags, input); !read) return std::unexpected(read.error());
  return input;
}

}  // namespace snug::ctl
