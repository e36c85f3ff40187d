#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "adapters/kube/credentials.hpp"
#include "adapters/kube/proxy.hpp"
#include "adapters/kube/url.hpp"
#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/yaml.hpp"

namespace snug::kube {
namespace {

/// A kubeconfig file: its path, for error messages, and the folder to which paths in it are
/// relative.
struct KubeconfigFile {
  std::string path;
  std::filesystem::path folder;
};

std::unexpected<base::Error> fail_at(const KubeconfigFile& kubeconfig,
                                     const codec::YamlNode& yaml_node, std::string_view problem) {
  return std::unexpected(codec::yaml_error(kubeconfig.path, yaml_node, problem));
}

/// Returns the string value of `key` in `yaml_map`; empty if the key is absent, null or empty.
base::Result<std::string> string_at(const KubeconfigFile& kubeconfig,
                                    const codec::YamlNode& yaml_map, std::string_view key) {
  const codec::YamlNode* value_node = yaml_map.find(key);
  if (value_node == nullptr || value_node->type == codec::YamlNode::Type::kNull)
    return std::string();
  if (value_node->type != codec::YamlNode::Type::kScalar) {
    return fail_at(kubeconfig, *value_node, "`" + std::string(key) + "` must be a string");
  }
  return value_node->text;
}

base::Result<bool> bool_at(const KubeconfigFile& kubeconfig, const codec::YamlNode& yaml_map,
                           std::string_view key) {
  auto bool_text = string_at(kubeconfig, yaml_map, key);
  if (!bool_text) return std::unexpected(bool_text.error());
  if (*bool_text == "true") return true;
  if (bool_text->empty() || *bool_text == "false") return false;
  return fail_at(kubeconfig, *yaml_map.find(key),
                 "`" + std::string(key) + "` must be true or false");
}

/// Returns the value of `key`-data, decoded from base64, or else the path in `key`. As in
/// client-go, `key`-data takes precedence.
base::Result<CredentialText> pem_at(const KubeconfigFile& kubeconfig,
                                    const codec::YamlNode& yaml_map, const std::string& key) {
  auto inline_data = string_at(kubeconfig, yaml_map, key + "-data");
  if (!inline_data) return std::unexpected(inline_data.error());
  auto pem_path = string_at(kubeconfig, yaml_map, key);
  if (!pem_path) return std::unexpected(pem_path.error());
  if (!inline_data->empty()) {
    auto pem_text = base::decode_base64(*inline_data);
    if (!pem_text) {
      return fail_at(kubeconfig, *yaml_map.find(key + "-data"), "`" + key + "-data` is not base64");
    }
    return CredentialText{*std::move(pem_text), {}};
  }
  return CredentialText{{}, pem_path->empty() ? "" : (kubeconfig.folder / *pem_path).string()};
}

/// Finds the entry named `entry_name` in the list `list_key` of `yaml_root`. Returns the map that
/// the entry has under the key `map_key`.
base::Result<const codec::YamlNode*> find_entry(const KubeconfigFile& kubeconfig,
                                                const codec::YamlNode& yaml_root,
                                                std::string_view list_key, std::string_view map_key,
                                                const std::string& entry_name) {
  const codec::YamlNode* entry_list = yaml_root.find(list_key);
  if (entry_list != nullptr && entry_list->type == codec::YamlNode::Type::kSequence) {
    for (const codec::YamlNode& entry : entry_list->items) {
      const codec::YamlNode* name_node =
          entry.type == codec::YamlNode::Type::kMap ? entry.find("name") : nullptr;
      if (name_node == nullptr || name_node->text != entry_name) continue;
      const codec::YamlNode* entry_map = entry.find(map_key);
      if (entry_map == nullptr || entry_map->type != codec::YamlNode::Type::kMap) {
        return fail_at(kubeconfig, entry,
                       "`" + std::string(map_key) + "` of this entry must be a map");
      }
      return entry_map;
    }
  }
  return fail_at(kubeconfig, entry_list == nullptr ? yaml_root : *entry_list,
                 "`" + std::string(list_key) + "` has no entry named `" + entry_name + "`");
}

/// Sets the proxy of `endpoint`. `proxy-url` takes precedence over the environment, even if
/// NO_PROXY covers the server.
base::Result<void> read_proxy(const KubeconfigFile& kubeconfig, const codec::YamlNode& cluster,
                              ApiEndpoint& endpoint) {
  auto proxy_url = string_at(kubeconfig, cluster, "proxy-url");
  if (!proxy_url) return std::unexpected(proxy_url.error());
  auto proxy = proxy_url->empty() ? environment_proxy(endpoint, proxy_variables())
                                  : parse_proxy(*proxy_url, "`proxy-url`");
  if (!proxy && !proxy_url->empty()) {
    return fail_at(kubeconfig, *cluster.find("proxy-url"), proxy.error().message);
  }
  if (!proxy) return std::unexpected(proxy.error());
  endpoint.proxy = *std::move(proxy);
  return {};
}

base::Result<void> read_cluster(const KubeconfigFile& kubeconfig, const codec::YamlNode& cluster,
                                ApiEndpoint& endpoint) {
  auto server_text = string_at(kubeconfig, cluster, "server");
  if (!server_text) return std::unexpected(server_text.error());
  const auto cluster_url = parse_http_url(*server_text);
  if (!cluster_url) {
    return fail_at(
        kubeconfig, cluster,
        "`server` must be a URL like https://host:6443, not " + base::in_quotes(*server_text));
  }
  endpoint.tls = cluster_url->tls;
  endpoint.host = cluster_url->server.host;
  endpoint.port = cluster_url->server.port;
  endpoint.base_path = cluster_url->path;
  if (auto proxy_read = read_proxy(kubeconfig, cluster, endpoint); !proxy_read) return proxy_read;
  auto tls_server_name = string_at(kubeconfig, cluster, "tls-server-name");
  if (!tls_server_name) return std::unexpected(tls_server_name.error());
  endpoint.tls_server_name = *std::move(tls_server_name);
  auto skip_verify = bool_at(kubeconfig, cluster, "insecure-skip-tls-verify");
  if (!skip_verify) return std::unexpected(skip_verify.error());
  endpoint.verify_server = !*skip_verify;
  auto authorities = pem_at(kubeconfig, cluster, "certificate-authority");
  if (!authorities) return std::unexpected(authorities.error());
  endpoint.authorities = *std::move(authorities);
  if (!endpoint.verify_server && endpoint.authorities.given()) {
    return fail_at(kubeconfig, cluster,
                   "`insecure-skip-tls-verify` and `certificate-authority` cannot both be set");
  }
  return {};
}

base::Result<void> refuse_unsupported(const KubeconfigFile& kubeconfig,
                                      const codec::YamlNode& user) {
  struct UnsupportedField {
    std::string_view key;
    std::string_view sentence;
  };
  static constexpr UnsupportedField kUnsupportedFields[] = {
      {"exec", "exec plug-ins are not run; give a token, a tokenFile or a client certificate"},
      {"auth-provider",
       "auth providers are not supported; give a token, a tokenFile or a client certificate"},
      {"username",
       "passwords are not supported; give a token, a tokenFile or a client certificate"},
      {"password",
       "passwords are not supported; give a token, a tokenFile or a client certificate"},
      {"as", "impersonation is not supported; give the credentials of that user"},
      {"as-uid", "impersonation is not supported; give the credentials of that user"},
      {"as-groups", "impersonation is not supported; give the credentials of that user"},
      {"as-user-extra", "impersonation is not supported; give the credentials of that user"},
  };
  for (const UnsupportedField& unsupported : kUnsupportedFields) {
    const codec::YamlNode* field_node = user.find(unsupported.key);
    if (field_node != nullptr && field_node->type != codec::YamlNode::Type::kNull) {
      return fail_at(kubeconfig, *field_node, unsupported.sentence);
    }
  }
  return {};
}

base::Result<void> read_user(const KubeconfigFile& kubeconfig, const codec::YamlNode& user,
                             ApiEndpoint& endpoint) {
  if (auto supported_user = refuse_unsupported(kubeconfig, user); !supported_user)
    return supported_user;
  auto token = string_at(kubeconfig, user, "token");
  if (!token) return std::unexpected(token.error());
  auto token_file = string_at(kubeconfig, user, "tokenFile");
  if (!token_file) return std::unexpected(token_file.error());
  if (!token_file->empty()) {
    endpoint.token.path = (kubeconfig.folder / *token_file).string();
  } else {
    endpoint.token.text = *std::move(token);
  }
  auto client_certificate = pem_at(kubeconfig, user, "client-certificate");
  if (!client_certificate) return std::unexpected(client_certificate.error());
  endpoint.certificate = *std::move(client_certificate);
  auto client_key = pem_at(kubeconfig, user, "client-key");
  if (!client_key) return std::unexpected(client_key.error());
  endpoint.key = *std::move(client_key);
  return {};
}

base::Result<ApiEndpoint> read_current_context(const KubeconfigFile& kubeconfig,
                                               const codec::YamlNode& yaml_root) {
  auto context_name = string_at(kubeconfig, yaml_root, "current-context");
  if (!context_name) return std::unexpected(context_name.error());
  if (context_name->empty())
    return fail_at(kubeconfig, yaml_root, "`current-context` must name a context");
  auto context = find_entry(kubeconfig, yaml_root, "contexts", "context", *context_name);
  if (!context) return std::unexpected(context.error());

  ApiEndpoint endpoint;
  auto cluster_name = string_at(kubeconfig, **context, "cluster");
  if (!cluster_name) return std::unexpected(cluster_name.error());
  auto cluster = find_entry(kubeconfig, yaml_root, "clusters", "cluster", *cluster_name);
  if (!cluster) return std::unexpected(cluster.error());
  if (auto cluster_read = read_cluster(kubeconfig, **cluster, endpoint); !cluster_read) {
    return std::unexpected(cluster_read.error());
  }
  auto user_name = string_at(kubeconfig, **context, "user");
  if (!user_name) return std::unexpected(user_name.error());
  if (user_name->empty()) return endpoint;
  auto user = find_entry(kubeconfig, yaml_root, "users", "user", *user_name);
  if (!user) return std::unexpected(user.error());
  if (auto user_read = read_user(kubeconfig, **user, endpoint); !user_read) {
    return std::unexpected(user_read.error());
  }
  return endpoint;
}

}  // namespace

base::Result<ApiEndpoint> load_kubeconfig(const std::string& path, const base::Limits& limits) {
  const KubeconfigFile kubeconfig{path, std::filesystem::path(path).parent_path()};
  auto kubeconfig_text = read_small_file(path, static_cast<std::size_t>(limits.max_config_bytes));
  if (!kubeconfig_text) {
    return base::fail(
        kubeconfig_text.error().code,
        "the kubeconfig " + kubeconfig_text.error().message +
            "; give a readable kubeconfig, or, in a pod, omit it to use the pod's service account");
  }
  auto yaml_root = codec::parse_yaml(*kubeconfig_text, path, limits);
  if (!yaml_root) return std::unexpected(yaml_root.error());
  if (yaml_root->type != codec::YamlNode::Type::kMap) {
    return fail_at(kubeconfig, *yaml_root, "a kubeconfig must be a map with `current-context`");
  }
  auto endpoint = read_current_context(kubeconfig, *yaml_root);
  if (!endpoint) return endpoint;
  if (auto usable_credentials = check_credentials(*endpoint, limits); !usable_credentials) {
    return base::fail(base::ErrorCode::kInvalid, path + ": " + usable_credentials.error().message);
  }
  return endpoint;
}

base::Result<ApiEndpoint> in_cluster(const base::Limits& limits, std::string_view flags,
                                     const std::string& folder) {
  const char* service_host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* service_port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (service_host == nullptr || *service_host == '\0' || service_port == nullptr) {
    return base::fail(
        base::ErrorCode::kInvalid,
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is not a pod; "
        "give " +
            std::string(flags));
  }
  const std::string_view host_text(service_host);
  const bool is_ipv6 = host_text.find(':') != std::string_view::npos;
  std::string api_server_url = "https://";
  api_server_url.append(is_ipv6 ? "[" : "").append(host_text).append(is_ipv6 ? "]" : "");
  const auto parsed_url = parse_http_url(api_server_url.append(":").append(service_port));
  if (!parsed_url || !parsed_url->path.empty()) {
    return base::fail(
        base::ErrorCode::kInvalid,
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT do not give a host and port: `" +
            base::clip_text(api_server_url, 200) + "`");
  }
  ApiEndpoint endpoint;
  endpoint.host = parsed_url->server.host;
  endpoint.port = parsed_url->server.port;
  endpoint.token.path = folder + "/token";
  endpoint.authorities.path = folder + "/ca.crt";
  auto proxy = environment_proxy(endpoint, proxy_variables());
  if (!proxy) return std::unexpected(proxy.error());
  endpoint.proxy = *std::move(proxy);
  if (auto usable_credentials = check_credentials(endpoint, limits); !usable_credentials) {
    return std::unexpected(usable_credentials.error());
  }
  return endpoint;
}

}  // namespace snug::kube
