#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "ctl/commands.hpp"
#include "ctl/progress.hpp"
#include "ctl/simulate_input.hpp"
#include "ctl/text_table.hpp"
#include "snug/config/files.hpp"
#include "snug/sim/cluster.hpp"
#include "snug/sim/replay.hpp"
#include "snug/sim_codec/report_codec.hpp"
#include "snug/sim_codec/trace_codec.hpp"

namespace snug::ctl {
namespace {

sim::SimulationReport simulate_one(const SimulateInput& input, const NamedPolicy& named_policy) {
  const base::SteadyClock clock;
  if (input.cluster) {
    const sim::Cluster& cluster = input.cluster->cluster;
    Progress progress(named_policy.name, cluster.pods.size(), clock);
    return sim::simulate_cluster(
        {cluster, named_policy.policy, clock, [&] { progress.advance(); }});
  }
  Progress progress(named_policy.name, input.trace.arrivals.size(), clock);
  const auto placer = sim::policy_placer(named_policy.policy);
  const sim::ReplayInput replayed{input.trace, clock,
                                  [&](const sim::ArrivalOutcome&) { progress.advance(); }};
  return sim::replay(replayed, *placer);
}

std::vector<sim::SimulationReport> simulate(const SimulateInput& input) {
  std::vector<sim::SimulationReport> reports;
  for (const NamedPolicy& named_policy : input.policies) {
    sim::SimulationReport& report = reports.emplace_back(simulate_one(input, named_policy));
    report.policy = named_policy.name;
    report.seed = input.seed;
  }
  return reports;
}

base::Result<void> write_results(const SimulateFlags& flags,
                                 const std::vector<sim::SimulationReport>& reports) {
  const bool json_alone = flags.json == "-";
  const std::string text =
      json_alone ? sim_codec::report_json(reports) : safe_lines(sim_codec::report_table(reports));
  if (const auto done = print(text); !done) return done;
  if (flags.json && !json_alone) {
    if (const auto done = config::write_file(*flags.json, sim_codec::report_json(reports)); !done)
      return done;
  }
  if (flags.svg) return config::write_file(*flags.svg, sim_codec::report_chart(reports));
  return {};
}

/// Checks that the result files can be created. Called before the simulation, which may take
/// minutes.
base::Result<void> check_results_writable(const SimulateFlags& flags) {
  for (const auto& path : {flags.json, flags.svg}) {
    if (!path || path == "-") continue;
    if (const auto good = config::check_writable(*path); !good) return good;
  }
  return {};
}

std::vector<std::string> warnings_about(const SimulateInput& input) {
  return input.cluster ? input.cluster->warnings : sim_codec::trace_warnings(input.trace);
}

int run(const SimulateFlags& flags) {
  const base::Result<SimulateInput> input = read_simulate_input(flags);
  if (!input) {
    const bool unavailable = input.error().code == base::ErrorCode::kUnavailable;
    return report_error(unavailable ? kExitFailure : kExitUsage, input.error().message);
  }
  for (const std::string& warning : warnings_about(*input)) warn(warning);
  if (const auto good = check_results_writable(flags); !good)
    return report_error(kExitFailure, good.error().message);
  const auto written = write_results(flags, simulate(*input));
  return written ? kExitOk : report_error(kExitFailure, written.error().message);
}

}  // namespace

void add_simulate(CLI::App& app, Action& chosen_action) {
  CLI::App* command = app.add_subcommand(
      "simulate",
      "Simulates pods that arrive at a cluster, and reports how tightly they were packed");
  command->footer(
      "What the default policy would do with the pods of your own cluster:\n"
      "  kubectl get nodes,pods -A -o json | snugctl simulate --cluster -");
  const auto flags = std::make_shared<SimulateFlags>();
  const auto add = [&](const char* name, auto& value, const char* type, const char* meaning) {
    return command->add_option(name, value, meaning)->type_name(type);
  };
  add("--cluster", flags->cluster, "FILE",
      "a cluster, as kubectl get nodes,pods -A -o json|yaml prints it; - is stdin; repeat the flag "
      "for several files; replaces --nodes: simulates the cluster's pods in the order of their "
      "creation, on its nodes without GPU pods")
      ->allow_extra_args(false);
  add("--nodes", flags->nodes, "CSV",
      "the nodes: columns sn, cpu_milli, memory_mib, gpu, model; optional mig: 1 if the GPUs are "
      "in MIG mode");
  add("--pods", flags->pods, "CSV",
      "the pods: columns name, cpu_milli, memory_mib, num_gpu, gpu_milli; optional gpu_spec: the "
      "GPU models that the pod may use; required with --seed and --timestamps, and if --arrivals "
      "has "
      "a line p ROW");
  add("--arrivals", flags->arrivals, "FILE",
      "the arrivals: a line p ROW [LIFETIME] is a pod of --pods; a line m PROFILE [LIFETIME] is a "
      "pod that requests a MIG slice; a line n NODE RANK sets a node's rank; of equally good "
      "nodes, the one with the lowest rank is chosen");
  add("--seed", flags->seed, "N",
      "replaces --arrivals: all pods in a random order with the seed N, then pods drawn from them");
  add("--inflate", flags->inflate, "TIMES",
      "with --seed: draw until pods request TIMES as many GPUs as the cluster has; default: 1.3");
  command->add_flag("--timestamps", flags->timestamps,
                    "replaces --arrivals: the pods arrive and leave at the times, in seconds, of "
                    "the columns creation_time and deletion_time (empty: never) of --pods");
  const ServerOptions server_options = add_server_flags(
      *command, flags->connection,
      "also simulate the policy in force of the snug-extender whose admin port is at this URL");
  for (CLI::Option* option : server_options.of_server) option->needs(server_options.server);
  add("--policy", flags->policies, "FILE",
      "a policy (YAML); repeat the flag to compare several; default: the built-in policy")
      ->allow_extra_args(false);
  add("--json", flags->json, "FILE",
      "write the results as JSON; with - as FILE, stdout has the JSON and nothing else");
  add("--svg", flags->svg, "FILE",
      "write a chart: the GPUs in use as pods arrive, or with --cluster the free GPUs");
  command->callback([flags, &chosen_action] { chosen_action = [flags] { return run(*flags); }; });
}

}  // namespace snug::ctl
