#include "snug/config/options.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <tuple>

#include "config/option_table.hpp"
#include "unit/config/read_options.hpp"

namespace snug::options_test {
namespace {

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
  EXPECT_EQ(options->mirrored_cards, std::nullopt);
}

/// The members of settings whose default is a single value.
auto single_values(const config::Options& options) {
  return std::tuple(options.listen, options.admin_listen, options.answer, options.kubernetes_minor,
                    options.api_timeout, options.admin_auth, options.admin_tenants,
                    options.leader_elect, options.lease, options.mirrored_cards,
                    options.remove_mirrors, options.log.level, options.log.format,
                    options.gpu_metrics);
}

TEST(OptionsTest, TheDefaultThatHelpShowsIsTheDefault) {
  config::Options options;
  options.listen = options.admin_listen = {"h", 1};
  options.answer = service::AnswerMode::kAll;
  options.kubernetes_minor = 99;
  options.api_timeout = std::chrono::milliseconds(1);
  options.admin_auth = config::AdminAuth::kToken;
  options.admin_tenants = options.remove_mirrors = true;
  options.leader_elect = options.gpu_metrics = false;
  options.lease = {"a", "b"};
  options.mirrored_cards = {{.smallest = {1}, .largest = {1}}};
  options.log = {.level = service::LogLevel::kError, .format = obs::LogFormat::kJson};
  for (const config::OptionRow& row : config::option_rows()) {
    // Of files, names and lists the text may be words such as "the built-in policy".
    if (row.placeholder == "FILE" || row.placeholder == "NAME" || row.list_member != nullptr ||
        row.default_text.empty() || row.key == "webhookListen")
      continue;
    EXPECT_EQ(row.parse(options, row.default_text), "") << row.key;
  }
  EXPECT_EQ(single_values(options), single_values(config::Options{}));
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
    "smallestGpuMib: 16384\n"
    "largestGpuMib: 81920\n"
    "logLevel: warn\n"
    "logFormat: json\n"
    "gpuMetrics: false\n"
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
  EXPECT_EQ(options.mirrored_cards, (admission::CardRange{{16384}, {81920}}));
  EXPECT_EQ(options.log.level, service::LogLevel::kWarn);
  EXPECT_EQ(options.log.format, obs::LogFormat::kJson);
  EXPECT_FALSE(options.gpu_metrics);
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
                             "--smallest-gpu-mib",
                             "16384",
                             "--largest-gpu-mib=81920",
                             "--leader-elect",
                             "true",
                             "--lease=gpu/snug",
                             "--scheduler-lease",
                             "kube-system/kube-scheduler",
                             "--log-level",
                             "warn",
                             "--log-format",
                             "json",
                             "--gpu-metrics=false",
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
      {"listen", "0.0.0.0:0"},
      {"adminListen", "0.0.0.0:0"},
      {"webhookListen", "0.0.0.0:0"},
      {"answer", "winner"},
      {"kubernetesMinor", "38"},
      {"apiTimeout", "500ms"},
      {"leaderElect", "true"},
      {"lease", "gpu/snug"},
      {"schedulerLease", "kube-system/kube-scheduler"},
      {"logLevel", "warn"},
      {"logFormat", "json"},
      {"gpuMetrics", "false"},
      {"adminAuth", "kubernetes"},
      {"adminTenants", "true"},
      {"removeMirrors", "true"},
      {"smallestGpuMib", "1"},
      {"largestGpuMib", "1"}};
  const auto found = values.find(key);
  return found == values.end() ? "file" : found->second;
}

TEST(OptionsTest, AFlagIsItsKeyInKebabCase) {
  const std::map<std::string_view, std::string> kebab{{"listen", "--listen"},
                                                      {"adminListen", "--admin-listen"},
                                                      {"webhookListen", "--webhook-listen"},
                                                      {"podTolerations", "--pod-tolerations"},
                                                      {"podRuntimeClass", "--pod-runtime-class"},
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
                                                      {"clientNames", "--client-names"},
                                                      {"adminTlsCert", "--admin-tls-cert"},
                                                      {"adminTlsKey", "--admin-tls-key"},
                                                      {"adminAuth", "--admin-auth"},
                                                      {"adminTokenFile", "--admin-token-file"},
                                                      {"adminTenants", "--admin-tenants"},
                                                      {"removeMirrors", "--remove-mirrors"},
                                                      {"leaderElect", "--leader-elect"},
                                                      {"lease", "--lease"},
                                                      {"schedulerLease", "--scheduler-lease"},
                                                      {"smallestGpuMib", "--smallest-gpu-mib"},
                                                      {"largestGpuMib", "--largest-gpu-mib"},
                                                      {"logLevel", "--log-level"},
                                                      {"logFormat", "--log-format"},
                                                      {"gpuMetrics", "--gpu-metrics"}};
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

TEST(OptionsTest, TheAdminPortAsksForWhatIsSet) {
  const auto open = read({});
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->admin_auth, config::AdminAuth::kNone);
  const auto token = read(
      {"--admin-auth=token", "--admin-token-file=t", "--admin-tls-cert=c", "--admin-tls-key=k"});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(token->admin_auth, config::AdminAuth::kToken);
  EXPECT_EQ(token->admin_token_file + token->admin_tls_cert + token->admin_tls_key, "tck");
  const auto users = read_yaml("version: 1\nadminAuth: kubernetes\nadminTenants: true\n");
  ASSERT_TRUE(users.has_value()) << users.error().message;
  EXPECT_EQ(users->admin_auth, config::AdminAuth::kKubernetes);
  EXPECT_TRUE(users->admin_tenants);
}

TEST(OptionsTest, ClientsMayBeNamed) {
  const auto named = read({"--tls-cert=c", "--tls-key=k", "--client-ca=ca", "--client-names",
                           "kube-scheduler", "backup"});
  ASSERT_TRUE(named.has_value()) << named.error().message;
  EXPECT_EQ(named->client_names, (std::vector<std::string>{"kube-scheduler", "backup"}));
}

TEST(OptionsTest, TheWebhookIsOffUnlessItHasAnAddress) {
  const auto off = read({});
  ASSERT_TRUE(off.has_value());
  EXPECT_EQ(off->webhook_listen.host, "");
  EXPECT_EQ(off->pod_tolerations, (std::vector<std::string>{"nvidia.com/gpu", "snug.dev/only"}));
  const auto on = read_yaml(
      "version: 1\nwebhookListen: 0.0.0.0:8443\npodTolerations: []\npodRuntimeClass: nvidia\n");
  ASSERT_TRUE(on.has_value()) << on.error().message;
  EXPECT_EQ(on->webhook_listen, (config::HostPort{"0.0.0.0", 8443}));
  EXPECT_TRUE(on->pod_tolerations.empty());
  EXPECT_EQ(on->pod_runtime_class, "nvidia");
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

TEST(OptionsTest, CardsOfZeroMibAreNotMirrored) {
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--smallest-gpu-mib", "0", "--largest-gpu-mib", "0"},
        std::vector<std::string>{"--smallest-gpu-mib", "0"}}) {
    const auto options = read(flags);
    ASSERT_TRUE(options.has_value()) << options.error().message;
    EXPECT_EQ(options->mirrored_cards, std::nullopt);
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
