#include "contest.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "mig_rules.hpp"
#include "published.hpp"
#include "snug/codec/policy_codec.hpp"

namespace snug_bench {

Contender contender_of(const std::string& policy_file) {
  const auto policy =
      snug::codec::read_policy(text_of(policy_file), policy_file, snug::base::Limits{});
  if (!policy) {
    std::fprintf(stderr, "packing_bench: %s\n", policy.error().message.c_str());
    std::exit(2);
  }
  const auto shared = std::make_shared<const snug::score::Policy>(*policy);
  std::string name = shared->default_profile_name;
  const auto& published = published_names();
  if (std::ranges::find(published, name) != published.end()) name += " (Snug)";
  return {std::move(name), true, [shared](const snug::sim::Trace&, std::uint64_t) {
            return snug::sim::policy_placer(shared);
          }};
}

Contender published_contender(std::string_view name) {
  return {std::string(name), false, [name](const snug::sim::Trace& trace, std::uint64_t seed) {
            return published_placer(name, trace, seed);
          }};
}

Contender mig_rule_contender(std::string_view name) {
  return {std::string(name), false,
          [name](const snug::sim::Trace&, std::uint64_t) { return mig_rule(name); }};
}

snug::sim::SimulationReport run(const Contender& who, const snug::sim::Trace& trace,
                                std::uint64_t seed) {
  const snug::base::SteadyClock clock;
  const auto placer = who.placer(trace, seed);
  snug::sim::SimulationReport report = snug::sim::replay({trace, clock, {}}, *placer);
  report.policy = who.name;
  report.seed = seed;
  return report;
}

void run_all(const std::vector<std::function<void()>>& tasks, unsigned jobs) {
  const bool watched = isatty(STDERR_FILENO) != 0;
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> done = 0;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < jobs; ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < tasks.size(); at = next++) {
        tasks[at]();
        const std::size_t count = ++done;
        if (watched) std::fprintf(stderr, "\r%zu of %zu runs", count, tasks.size());
      }
    });
  }
  threads.clear();
  if (watched) std::fprintf(stderr, "\r\x1b[K");
}

}  // namespace snug_bench
