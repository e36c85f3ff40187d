// What flags and configuration files are refused for, and what the sentence says.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "unit/config/read_options.hpp"

namespace snug::options_test {
namespace {

struct Refused {
  std::vector<std::string> flags;
  std::string message;  // a part
};

void PrintTo(const Refused& row, std::ostream* out) { *out << testing::PrintToString(row.flags); }

class FlagRefusedTest : public testing::TestWithParam<Refused> {};

TEST_P(FlagRefusedTest, NamesTheFlagAndWhatIsAllowed) {
  const auto options = read(GetParam().flags);
  ASSERT_FALSE(options.has_value());
  EXPECT_EQ(options.error().code, base::ErrorCode::kInvalid);
  EXPECT_NE(options.error().message.find(GetParam().message), std::string::npos)
      << options.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, FlagRefusedTest,
    testing::Values(
        Refused{{"--config", ""}, "--config must not be empty"},
        Refused{{"--answer", "all", "stray"}, "\"stray\" is an unexpected argument"},
        Refused{{"--policy", "--answer", "all"}, "--policy needs a value: FILE"},
        Refused{{"--policy", "--leader-elect"}, "--policy needs a value: FILE"},
        Refused{{"--cluster", "--help"}, "--cluster needs a value: FILE"},
        Refused{{"--scheduler-names", "--logLevel", "debug"}, "--scheduler-names needs a value"},
        Refused{{"--scheduler-names", "snug,other"},
                "--scheduler-names must be the name of one scheduler"},
        Refused{{"--answer=", "all"}, "--answer must not be empty"},
        Refused{{"--leader-elect="}, "--leader-elect must not be empty"},
        Refused{{"--policy", "-h"}, "--policy needs a value: FILE"},
        Refused{{"--logLevel="}, "the flag --logLevel must be written --log-level"},
        Refused{{"--no-such="}, "unknown flag --no-such="},
        Refused{{"--nonsense", "1"}, "--nonsense"}, Refused{{"stray"}, "stray"},
        Refused{{"--listen"}, "--listen"},
        Refused{{"--answer", "all", "--answer", "all"}, "--answer"},
        Refused{{"--listen", "8888"}, "--listen must be HOST:PORT"},
        Refused{{"--listen", ":8888"}, "--listen must be HOST:PORT"},
        Refused{{"--listen", "::1:80"}, "--listen must be HOST:PORT"},
        Refused{{"--listen", "a:65536"}, "--listen must be HOST:PORT"},
        Refused{{"--listen", "a:-1"}, "--listen must be HOST:PORT"},
        Refused{{"--admin-listen", "a:x"}, "--admin-listen must be HOST:PORT"},
        Refused{{"--policy", ""}, "--policy must not be empty"},
        Refused{{"--answer", "best"}, "--answer must be one of winner, all, advise, auto"},
        Refused{{"--kubernetes-minor", "27"}, "--kubernetes-minor must be"},
        Refused{{"--kubernetes-minor", "100"}, "an integer from 28 to 99"},
        Refused{{"--kubernetes-minor", "36.1"}, "--kubernetes-minor must be"},
        Refused{{"--api-timeout", "1"}, "--api-timeout must be a duration from 1ms to 60s"},
        Refused{{"--api-timeout", "0s"}, "--api-timeout must be"},
        Refused{{"--api-timeout", "61s"}, "--api-timeout must be"},
        Refused{{"--api-timeout", "s"}, "--api-timeout must be"},
        Refused{{"--api-timeout", ""}, "--api-timeout must not be empty"},
        Refused{{"--api-timeout", "-1s"}, "--api-timeout must be"},
        Refused{{"--leader-elect", "yes"}, "--leader-elect must be true or false"},
        Refused{{"--gpu-metrics", "off"}, "--gpu-metrics must be true or false"},
        Refused{{"--lease", "snug"}, "--lease must be NAMESPACE/NAME of a Lease"},
        Refused{{"--lease", "/snug"}, "--lease must be NAMESPACE/NAME"},
        Refused{{"--lease", "a/b/c"}, "--lease must be NAMESPACE/NAME"},
        Refused{{"--scheduler-lease", "A/b"}, "--scheduler-lease must be NAMESPACE/NAME"},
        Refused{
            {"--api-timeout", "3s"},
            "leaseDurationMs (15000) must be at least renewDeadlineMs + 2 * apiTimeout + 500 ms "
            "(16500)"},
        Refused{
            {"--limits", "leaseDurationMs=12000"},
            "leaseDurationMs (12000) must be at least renewDeadlineMs + 2 * apiTimeout + 500 ms "
            "(12500)"},
        Refused{{"--leader-elect", "false", "--scheduler-lease", "a/b"},
                "schedulerLease has no effect without leader election"},
        Refused{{"--scheduler-lease", "snug/snug-extender"}, "and not Snug's own"},
        Refused{{"--limits", "renewDeadlineMs=3999"}, "renewDeadlineMs must be an integer from"},
        Refused{{"--limits", "watchSilenceS=40"}, "watchSilenceS must be above twice"},
        Refused{{"--log-level", "trace"}, "--log-level must be one of debug, info, warn, error"},
        Refused{{"--log-format", "xml"}, "--log-format must be one of text, json"},
        Refused{{"--limits", "maxNodes"}, "--limits must be KEY=N"},
        Refused{{"--limits", "nodes=1"},
                "--limits nodes is not a limit; the limits are maxBodyBytes"},
        Refused{{"--limits", "maxNodes=0"}, "--limits maxNodes must be an integer from 1 to"},
        Refused{{"--limits", "maxGpusPerNode=64"}, "--limits maxGpusPerNode is not a limit"},
        Refused{{"--limits", "max_gpus_per_node=64"}, "--limits max_gpus_per_node is not a limit"},
        Refused{{"--limits", "maxNodes=1e3"}, "--limits maxNodes must be an integer from 1 to"},
        Refused{{"--kubeconfig", "k", "--cluster", "c"},
                "kubeconfig and cluster cannot both be set"},
        Refused{{"--smallest-gpu-mib", "16384"},
                "smallestGpuMib and largestGpuMib belong together; give both or neither"},
        Refused{{"--largest-gpu-mib", "1", "--smallest-gpu-mib", "0"},
                "smallestGpuMib and largestGpuMib belong together; give both or neither"},
        Refused{{"--largest-gpu-mib", "16384", "--smallest-gpu-mib", "40960"},
                "smallestGpuMib (40960) must be at most largestGpuMib (16384)"},
        Refused{{"--largest-gpu-mib", "16Gi"},
                "must be the memory of a GPU in MiB, an integer from 0 to 1000000000"},
        Refused{{"--smallest-gpu-mib", "1000000001"}, "an integer from 0 to 1000000000"},
        Refused{{"--webhook-listen", "0.0.0.0:1", "--cluster", "c"},
                "webhookListen has no effect in the embedded mode"},
        Refused{{"--pod-tolerations", "a b"}, "--pod-tolerations must be the key of one taint"},
        Refused{{"--pod-runtime-class", "A"}, "--pod-runtime-class must be the name of"},
        Refused{{"--tls-cert", "c"}, "tlsCert and tlsKey belong together"},
        Refused{{"--tls-key", "c"}, "tlsCert and tlsKey belong together"},
        Refused{{"--client-ca", "c"}, "clientCA needs tlsCert"},
        Refused{{"--client-names", "kube-scheduler"}, "clientNames needs clientCA"},
        Refused{{"--client-names", "a,b"}, "--client-names must be one name"},
        Refused{{"--client-names", ".example"}, "--client-names must be one name"},
        Refused{{"--admin-tls-cert", "c"}, "adminTlsCert and adminTlsKey belong together"},
        Refused{{"--admin-auth", "basic"}, "--admin-auth must be one of none, token, kubernetes"},
        Refused{{"--admin-auth", "token"}, "adminTokenFile and adminAuth token belong together"},
        Refused{{"--admin-token-file", "t"}, "adminTokenFile and adminAuth token belong together"},
        Refused{{"--admin-auth", "kubernetes", "--cluster", "c"}, "adminAuth kubernetes needs"},
        Refused{{"--admin-tenants", "true"}, "adminTenants has no effect without"},
        Refused{{"--remove-mirrors", "true", "--cluster", "c"}, "removeMirrors works on a real"},
        Refused{{"--remove-mirrors", "true", "--leader-elect", "false"}, "removeMirrors works on"},
        Refused{{"--remove-mirrors", "true", "--smallest-gpu-mib", "1", "--largest-gpu-mib", "2"},
                "removeMirrors works on a real cluster"},
        Refused{{"--config", "/nonexistent/c.yaml"}, "/nonexistent/c.yaml: cannot be read"},
        Refused{{"--config", "/"}, "/: is a folder"}));

struct RefusedYaml {
  std::string yaml;
  std::string message;
};

void PrintTo(const RefusedYaml& row, std::ostream* out) {
  *out << testing::PrintToString(row.yaml);
}

class ConfigRefusedTest : public testing::TestWithParam<RefusedYaml> {};

TEST_P(ConfigRefusedTest, SaysWhereAndWhatIsAllowed) {
  const auto options = read_yaml(GetParam().yaml);
  ASSERT_FALSE(options.has_value());
  EXPECT_NE(options.error().message.find(GetParam().message), std::string::npos)
      << options.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ConfigRefusedTest,
    testing::Values(
        RefusedYaml{"", "c.yaml:1:1: a configuration file must be a map"},
        RefusedYaml{"listen: a:1\n", "c.yaml:1:1: the key version is missing"},
        RefusedYaml{"version: 2\n", "c.yaml:1:10: version must be 1"},
        RefusedYaml{with("Listen: a:1"),
                    "c.yaml:2:1: unknown key \"Listen\"; the keys are version, listen"},
        RefusedYaml{with("config: a"), "c.yaml:2:1: unknown key \"config\";"},
        RefusedYaml{with("listen: a:1\nlisten: a:1"),
                    "c.yaml:3:1: the key \"listen\" is given twice"},
        RefusedYaml{with("listen: 8888"), "c.yaml:2:9: listen must be HOST:PORT"},
        RefusedYaml{with("listen: [a:1]"), "c.yaml:2:9: listen must be one value: HOST:PORT"},
        RefusedYaml{with("policy:"), "policy must be one value: FILE"},
        RefusedYaml{with("cluster: {a: b}"), "c.yaml:2:10: cluster must be a list, like [FILE]"},
        RefusedYaml{with("cluster: a"), "c.yaml:2:10: cluster must be a list, like [FILE]"},
        RefusedYaml{with("cluster:"), "cluster must be a list, like [FILE]"},
        RefusedYaml{with("cluster: [a, [b]]"), "c.yaml:2:14: each of cluster must be one value"},
        RefusedYaml{with("schedulerNames: snug"), "c.yaml:2:17: schedulerNames must be a list"},
        RefusedYaml{with("cluster: ['']"), "c.yaml:2:11: cluster must not be empty"},
        RefusedYaml{
            with("schedulerNames: ['a,b']"),
            "c.yaml:2:18: schedulerNames must be the name of one scheduler, without commas or "
            "blanks"},
        RefusedYaml{with("clientNames: []"),
                    "c.yaml:2:14: clientNames must have at least one name"},
        RefusedYaml{with("tlsCert: \"a\\0b\""), "c.yaml:2:10: a text must not have a NUL"},
        RefusedYaml{with("cluster: [a, \"b\\0\"]"), "c.yaml:2:14: a text must not have a NUL"},
        RefusedYaml{with("answer: no"), "c.yaml:2:9: answer must be one of winner"},
        RefusedYaml{with("kubernetesMinor: 1.36"), "c.yaml:2:18: kubernetesMinor must be"},
        RefusedYaml{with("kubernetesMinor: \"36\""),
                    "c.yaml:2:18: kubernetesMinor must be the minor version of Kubernetes, an "
                    "integer from 28 to 99, without quotes"},
        RefusedYaml{with("leaderElect: 'false'"),
                    "c.yaml:2:14: leaderElect must be true or false, without quotes"},
        RefusedYaml{"version: \"1\"\n", "c.yaml:1:10: version must be 1, without quotes"},
        RefusedYaml{with("limits: 7"), "c.yaml:2:9: limits must be a map"},
        RefusedYaml{with("limits: {nodes: 7}"), "c.yaml:2:17: nodes is not a limit"},
        RefusedYaml{with("limits: {maxNodes: -7}"), "c.yaml:2:20: maxNodes must be an integer"},
        RefusedYaml{with("limits: {maxNodes: '7'}"),
                    "c.yaml:2:20: maxNodes must be an integer from 1 to 500000, without quotes"},
        RefusedYaml{with("limits: {maxNodes: 99999999999999999999}"), "maxNodes must be"},
        RefusedYaml{with("limits: {maxNodes: [7]}"), "c.yaml:2:20: maxNodes must be an integer"}));

}  // namespace
}  // namespace snug::options_test
