#include "ctl/simulate_input.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <utility>

#include "snug/base/limits.hpp"
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
  input_paths.insert(input_paths.end(), flags.cluster.begin(), flags.cluster.end());
  for (const auto& path : {flags.nodes, flags.pods, flags.arrivals}) {
    if (path) input_paths.push_back(*path);
  }
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

/// The name of the first of these flags that was given; empty: none was.
using GivenFlags = std::initializer_list<std::pair<const char*, bool>>;
std::string first_given(GivenFlags given_flags) {
  for (const auto& [name, given] : given_flags) {
    if (given) return name;
  }
  return "";
}

base::Result<void> check_trace_flags(const SimulateFlags& flags) {
  if (!flags.nodes) return usage_error("--cluster or --nodes is required; see --help");
  const int orders = (flags.arrivals ? 1 : 0) + (flags.seed ? 1 : 0) + (flags.timestamps ? 1 : 0);
  if (orders == 0) {
    return usage_error("the arrivals are missing; give one of --arrivals, --seed and --timestamps");
  }
  if (orders > 1) {
    return usage_error(
        (flags.arrivals ? std::string("--arrivals and ") + (flags.seed ? "--seed" : "--timestamps")
                        : std::string("--seed and --timestamps")) +
        " were both given; only one of them is allowed");
  }
  if (flags.seed && !flags.pods) return usage_error("--seed needs --pods, from which it draws");
  if (flags.timestamps && !flags.pods)
    return usage_error("--timestamps needs --pods, whose times it reads");
  if (flags.inflate && !flags.seed)
    return usage_error("--inflate requires --seed, which is missing");
  return {};
}

base::Result<void> check_cluster_flags(const SimulateFlags& flags) {
  const std::string flag = first_given({{"--nodes", flags.nodes.has_value()},
                                        {"--pods", flags.pods.has_value()},
                                        {"--arrivals", flags.arrivals.has_value()},
                                        {"--seed", flags.seed.has_value()},
                                        {"--inflate", flags.inflate.has_value()},
                                        {"--timestamps", flags.timestamps}});
  if (!flag.empty()) {
    return usage_error("--cluster and " + flag +
                       " were both given; --cluster has the nodes and the pods");
  }
  for (std::size_t i = 0; i < flags.cluster.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (same_file(flags.cluster[k], flags.cluster[i]))
        return usage_error("--cluster names the same file twice: " + flags.cluster[i]);
    }
  }
  return {};
}

base::Result<void> check_flags(const SimulateFlags& flags) {
  if (auto good = flags.cluster.empty() ? check_trace_flags(flags) : check_cluster_flags(flags);
      !good) {
    return good;
  }
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
  auto nodes = read_trace_file(flags.nodes.value_or(""), [](const sim_codec::TraceFile& file) {
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
  if (flags.timestamps) {
    return read_trace_file(flags.pods.value_or(""), [&](const sim_codec::TraceFile& file) {
      return sim_codec::read_trace_timestamps(file, input.trace);
    });
  }
  return read_trace_file(flags.arrivals.value_or(""), [&](const sim_codec::TraceFile& file) {
    return sim_codec::read_trace_arrivals(file, input.trace);
  });
}

base::Result<void> read_cluster(const std::vector<std::string>& paths, SimulateInput& input) {
  const base::Limits limits;
  sim_codec::ClusterReader reader(limits);
  for (const std::string& path : paths) {
    const std::string source = path == "-" ? "/dev/stdin" : path;
    const base::Result<std::string> text = config::read_file(source, limits.max_manifest_bytes);
    if (!text) return std::unexpected(text.error());
    if (auto added = reader.add({*text, source}); !added) return added;
  }
  auto cluster = reader.finish();
  if (!cluster) return std::unexpected(cluster.error());
  input.cluster = *std::move(cluster);
  return {};
}

}  // namespace

base::Result<SimulateInput> read_simulate_input(const SimulateFlags& flags) {
  SimulateInput input;
  if (const auto good = check_flags(flags); !good) return std::unexpected(good.error());
  auto policies = read_simulated_policies(flags.policies, flags.connection);
  if (!policies) return std::unexpected(policies.error());
  input.policies = *std::move(policies);
  const auto read =
      flags.cluster.empty() ? read_trace(flags, input) : read_cluster(flags.cluster, input);
  if (!read) return std::unexpected(read.error());
  return input;
}

}  // namespace snug::ctl
