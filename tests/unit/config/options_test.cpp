#include "snug/config/options.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>

#include "config/option_table.hpp"

namespace snug::options_test {
namespace {

base::Result<config::Options> read(const std::vector<std::string>& flags) {
  std::vector<const char*> argv{"snug-extender"};
  for (const std::string& flag : flags) argv.push_back(flag.c_str());
  return config::read_options(static_cast<int>(argv.size()), argv.data());
}

base::Result<config::Options> read_yaml(const std::string& yaml) {
  config::Options options;
  if (auto done = config::read_config(yaml, "c.yaml", options); !done) {
    return std::unexpected(done.error());
  }
  return options;
}

/// A configuration file for the life of a test.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text)
      : path_(testing::TempDir() + "snug-options-" + std::to_string(getpid()) + "-" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~ConfigFile() { std::filesystem::remove(path_); }
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(OptionsTest, WithoutFlagsEverythingHasItsDefault) {
  const auto options = read({});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->print_and_exit, "");
  EXPECT_EQ(options->listen, (config::HostPort{"127.0.0.1", 8888}));
  EXPECT_EQ(options->admin_listen, (config::HostPort{"127.0.0.1", 8889}));
  EXPECT_EQ(options->answer, service::AnswerMode::kAuto);
  EXPECT_EQ(options->kubernetes_minor, 36);
  EXPECT_EQ(options->api_timeout, std::chrono::seconds(1));
  EXPECT_EQ(options->log.level, service::LogLevel::kInfo);
  EXPECT_EQ(options->log.format, obs::LogFormat::kText);
  EXPECT_TRUE(options->cluster.empty() && options->scheduler_names.empty());
  EXPECT_EQ(options->policy + options->kubeconfig + options->tls_cert, "");
}

constexpr const char* kFull =
    "version: 1\n"
    "listen: 0.0.0.0:0\n"
    "adminListen: \"[::1]:9\"\n"
    "policy: p.yaml\n"
    "answer: winner\n"
    "cluster: [a.json, b.json]\n"
    "kubernetesMinor: 38\n"
    "schedulerNames: [snug, other]\n"
    "apiTimeout: 500ms\n"
    "tlsCert: c.pem\n"
    "tlsKey: k.pem\n"
    "clientCA: ca.pem\n"
    "leaderElect: true\n"
    "lease: gpu/snug\n"
    "schedulerLease: kube-system/kube-scheduler\n"
    "logLevel: warn\n"
    "logFormat: json\n"
    "limits: {maxNodes: 7, drainMs: 0}\n";

void expect_full(const config::Options& options) {
  EXPECT_EQ(options.listen, (config::HostPort{"0.0.0.0", 0}));
  EXPECT_EQ(options.admin_listen, (config::HostPort{"::1", 9}));
  EXPECT_EQ(options.policy, "p.yaml");
  EXPECT_EQ(options.answer, service::AnswerMode::kWinner);
  EXPECT_EQ(options.cluster, (std::vector<std::string>{"a.json", "b.json"}));
  EXPECT_EQ(options.kubernetes_minor, 38);
  EXPECT_EQ(options.scheduler_names, (std::vector<std::string>{"snug", "other"}));
  EXPECT_EQ(options.api_timeout, std::chrono::milliseconds(500));
  EXPECT_EQ(options.tls_cert, "c.pem");
  EXPECT_EQ(options.tls_key, "k.pem");
  EXPECT_EQ(options.client_ca, "ca.pem");
  EXPECT_TRUE(options.leader_elect);
  EXPECT_EQ(options.lease, (leader::LeaseName{"gpu", "snug"}));
  EXPECT_EQ(options.scheduler_lease, (leader::LeaseName{"kube-system", "kube-scheduler"}));
  EXPECT_EQ(options.log.level, service::LogLevel::kWarn);
  EXPECT_EQ(options.log.format, obs::LogFormat::kJson);
  EXPECT_EQ(options.limits.max_nodes, 7);
  EXPECT_EQ(options.limits.drain_ms, 0);
  EXPECT_EQ(options.limits.max_intents, base::Limits{}.max_intents);
}

TEST(OptionsTest, EverySettingIsAKeyOfTheFile) {
  const ConfigFile file(kFull);
  const auto options = read({"--config", file.path()});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  expect_full(*options);
}

TEST(OptionsTest, EverySettingIsAFlag) {
  const auto options = read({"--listen",
                             "0.0.0.0:0",
                             "--admin-listen=[::1]:9",
                             "--policy",
                             "p.yaml",
                             "--answer",
                             "winner",
                             "--cluster",
                             "a.json",
                             "b.json",
                             "--kubernetes-minor",
                             "38",
                             "--scheduler-names",
                             "snug",
                             "--scheduler-names",
                             "other",
                             "--api-timeout",
                             "500ms",
                             "--tls-cert",
                             "c.pem",
                             "--tls-key",
                             "k.pem",
                             "--client-ca",
                             "ca.pem",
                             "--leader-elect",
                             "true",
                             "--lease=gpu/snug",
                             "--scheduler-lease",
                             "kube-system/kube-scheduler",
                             "--log-level",
                             "warn",
                             "--log-format",
                             "json",
                             "--limits",
                             "maxNodes=7",
                             "--limits",
                             "drainMs=0"});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  expect_full(*options);
}

/// A valid value of `key` that is not its default.
std::string good_value(std::string_view key) {
  const std::map<std::string_view, std::string> values{
      {"listen", "0.0.0.0:0"}, {"adminListen", "0.0.0.0:0"},
      {"answer", "winner"},    {"kubernetesMinor", "38"},
      {"apiTimeout", "500ms"}, {"leaderElect", "true"},
      {"lease", "gpu/snug"},   {"schedulerLease", "kube-system/kube-scheduler"},
      {"logLevel", "warn"},    {"logFormat", "json"}};
  const auto found = values.find(key);
  return found == values.end() ? "file" : found->second;
}

TEST(OptionsTest, AFlagIsItsKeyInKebabCase) {
  const std::map<std::string_view, std::string> kebab{{"listen", "--listen"},
                                                      {"adminListen", "--admin-listen"},
                                                      {"policy", "--policy"},
                                                      {"answer", "--answer"},
                                                      {"kubeconfig", "--kubeconfig"},
                                                      {"cluster", "--cluster"},
                                                      {"kubernetesMinor", "--kubernetes-minor"},
                                                      {"schedulerNames", "--scheduler-names"},
                                                      {"apiTimeout", "--api-timeout"},
                                                      {"tlsCert", "--tls-cert"},
                                                      {"tlsKey", "--tls-key"},
                                                      {"clientCA", "--client-ca"},
                                                      {"leaderElect", "--leader-elect"},
                                                      {"lease", "--lease"},
                                                      {"schedulerLease", "--scheduler-lease"},
                                                      {"logLevel", "--log-level"},
                                                      {"logFormat", "--log-format"}};
  for (const config::OptionRow& row : config::option_rows()) {
    ASSERT_TRUE(kebab.contains(row.key)) << row.key;
    const std::string& flag = kebab.at(row.key);
    const std::string value = good_value(row.key);
    const std::string camel = "--" + std::string(row.key);
    for (const bool joined : {false, true}) {
      const auto words = [&](const std::string& name) {
        return joined ? std::vector<std::string>{name + "=" + value}
                      : std::vector<std::string>{name, value};
      };
      // Some flags need others, and so may still be refused.
      const auto options = read(words(flag));
      const std::string said = options ? "" : options.error().message;
      EXPECT_EQ(said.find("unknown flag"), said.npos) << said;
      if (camel == flag) continue;
      const auto refused = read(words(camel));
      ASSERT_FALSE(refused.has_value()) << camel;
      EXPECT_EQ(refused.error().message,
                "the flag " + camel + " must be written " + flag + "; see --help");
    }
  }
  const auto secured = read({"--tls-cert", "c", "--tls-key=k", "--client-ca", "ca"});
  ASSERT_TRUE(secured.has_value()) << secured.error().message;
  EXPECT_EQ(secured->tls_cert + secured->tls_key + secured->client_ca, "ckca");
}

TEST(OptionsTest, AValueMayLookLikeAFlag) {
  const auto options = read({"--policy=--my-policy", "--cluster=--my-nodes"});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->policy, "--my-policy");
  EXPECT_EQ(options->cluster, std::vector<std::string>{"--my-nodes"});
}

TEST(OptionsTest, TimesOfTheLeaseMatterOnlyWhereThereIsAnElection) {
  EXPECT_FALSE(read({"--api-timeout", "3s"}).has_value());
  for (const std::vector<std::string>& none :
       {std::vector<std::string>{"--cluster", "c"}, {"--leader-elect", "false"}}) {
    std::vector<std::string> flags{"--api-timeout", "3s"};
    flags.insert(flags.end(), none.begin(), none.end());
    const auto options = read(flags);
    EXPECT_TRUE(options.has_value()) << options.error().message;
  }
}

TEST(OptionsTest, FlagsWinOverTheFile) {
  const ConfigFile file(kFull);
  const auto options = read({"--config", file.path(), "--answer", "all", "--cluster", "c.json",
                             "--limits", "maxNodes=8", "--api-timeout", "2s"});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->answer, service::AnswerMode::kAll);
  EXPECT_EQ(options->cluster, std::vector<std::string>{"c.json"});
  EXPECT_EQ(options->limits.max_nodes, 8);
  EXPECT_EQ(options->limits.drain_ms, 0);
  EXPECT_EQ(options->api_timeout, std::chrono::seconds(2));
  EXPECT_EQ(options->kubernetes_minor, 38);
}

TEST(OptionsTest, HelpAndVersionAreTextsToShow) {
  const auto help = read({"--help"});
  ASSERT_TRUE(help.has_value());
  for (const char* word : {"--config", "--admin-listen", "--scheduler-names", "--limits",
                           "winner|all|advise|auto", "--leader-elect"}) {
    EXPECT_NE(help->print_and_exit.find(word), std::string::npos) << word;
  }
  EXPECT_NE(help->print_and_exit.find("-h,--help "), std::string::npos) << help->print_and_exit;
  EXPECT_NE(help->print_and_exit.find("--leader-elect true|false  "), std::string::npos)
      << help->print_and_exit;
  const auto help_beside_config = read({"--config", "c.yaml", "--help"});
  ASSERT_TRUE(help_beside_config.has_value()) << help_beside_config.error().message;
  EXPECT_EQ(help_beside_config->print_and_exit, help->print_and_exit);
  EXPECT_TRUE(read({"--config", "c.yaml", "--version"}).has_value());
  const auto version = read({"--version"});
  ASSERT_TRUE(version.has_value());
  EXPECT_EQ(version->print_and_exit.find("snug-extender "), 0U);
  EXPECT_EQ(version->print_and_exit.back(), '\n');
}

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
        Refused{{"--tls-cert", "c"}, "tlsCert and tlsKey belong together"},
        Refused{{"--tls-key", "c"}, "tlsCert and tlsKey belong together"},
        Refused{{"--client-ca", "c"}, "clientCA needs tlsCert"},
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

std::string with(const std::string& line) { return "version: 1\n" + line + "\n"; }

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

TEST(OptionsTest, EveryLimitCanBeSetToItsBounds) {
  for (const base::LimitRow& row : base::limit_rows()) {
    for (const std::int64_t value : {row.smallest, row.largest}) {
      const auto options =
          read_yaml(with("limits: {" + std::string(row.key) + ": " + std::to_string(value) + "}"));
      ASSERT_TRUE(options.has_value()) << options.error().message;
      EXPECT_EQ(options->limits.*row.field, value) << row.key;
    }
    EXPECT_FALSE(read({"--limits", std::string(row.key) + "=" + std::to_string(row.largest + 1)}));
  }
}

TEST(OptionsTest, APortThatOthersReachIsOpenToAllUnlessItAsksForACertificate) {
  const auto open = [](const std::string& listen, const std::string& client_ca) {
    config::Options options = *read({"--listen", listen});
    options.client_ca = client_ca;
    return config::is_reachable_unauthenticated(options);
  };
  for (const char* listen : {"127.0.0.1:1", "127.8.9.1:1", "localhost:1", "[::1]:1"}) {
    EXPECT_FALSE(open(listen, "")) << listen;
  }
  for (const char* listen : {"0.0.0.0:1", "10.0.0.1:1", "[::]:1", "127.example.com:1"}) {
    EXPECT_TRUE(open(listen, "")) << listen;
    EXPECT_FALSE(open(listen, "ca.pem")) << listen;
  }
}

TEST(OptionsTest, TheFileIsBounded) {
  const auto padded_to = [](std::int64_t bytes) {
    const std::string start = with("# ");
    return start + std::string(static_cast<std::size_t>(bytes) - start.size(), '\n');
  };
  const ConfigFile largest(padded_to(base::Limits{}.max_config_bytes));
  const auto read_largest = read({"--config", largest.path()});
  EXPECT_TRUE(read_largest.has_value()) << read_largest.error().message;
  const ConfigFile larger(padded_to(base::Limits{}.max_config_bytes + 1));
  const auto refused = read({"--config", larger.path()});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, base::ErrorCode::kTooLarge);
}

TEST(OptionsTest, TextMayStandInQuotesInTheFile) {
  const auto options = read_yaml(with("answer: 'all'\napiTimeout: \"2s\"\ncluster: ['a']"));
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->answer, service::AnswerMode::kAll);
  EXPECT_EQ(options->api_timeout, std::chrono::seconds(2));
  EXPECT_EQ(options->cluster, std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace snug::options_test
