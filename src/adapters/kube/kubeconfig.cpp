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
struct Source {
  std::string path;
  std::filesystem::path folder;
};

std::unexpected<base::Error> fail_at(const Source& source, const codec::YamlNode& at,
                                     std::string_view problem) {
  return std::unexpected(codec::yaml_error(source.path, at, problem));
}

/// Returns the string value of `key` in `map`; empty if the key is absent, null or empty.
base::Result<std::string> string_at(const Source& source, const codec::YamlNode& map,
                                    std::string_view key) {
  const codec::YamlNode* node = map.find(key);
  if (node == nullptr || node->type == codec::YamlNode::Type::kNull) return std::string();
  if (node->type != codec::YamlNode::Type::kScalar) {
    return fail_at(source, *node, "`" + std::string(key) + "` must be a string");
  }
  return node->text;
}

base::Result<bool> bool_at(const Source& source, const codec::YamlNode& map, std::string_view key) {
  auto text = string_at(source, map, key);
  if (!text) return std::unexpected(text.error());
  if (*text == "true") return true;
  if (text->empty() || *text == "false") return false;
  return fail_at(source, *map.find(key), "`" + std::string(key) + "` must be true or false");
}

/// Returns the value of `key`-data, decoded from base64, or else the path in `key`. As in
/// client-go, `key`-data takes precedence.
base::Result<CredentialText> pem_at(const Source& source, const codec::YamlNode& map,
                                    const std::string& key) {
  auto data = string_at(source, map, key + "-data");
  if (!data) return std::unexpected(data.error());
  auto path = string_at(source, map, key);
  if (!path) return std::unexpected(path.error());
  if (!data->empty()) {
    auto text = base::decode_base64(*data);
    if (!text) {
      return fail_at(source, *map.find(key + "-data"), "`" + key + "-data` is not base64");
    }
    return CredentialText{*std::move(text), {}};
  }
  return CredentialText{{}, path->empty() ? "" : (source.folder / *path).string()};
}

/// Finds the entry named `name` in the list `list` of `root`. Returns the map that the entry has
/// under the key `kind`.
base::Result<const codec::YamlNode*> named(const Source& source, const codec::YamlNode& root,
                                           std::string_view list, std::string_view kind,
                                           const std::string& name) {
  const codec::YamlNode* entries = root.find(list);
  if (entries != nullptr && entries->type == codec::YamlNode::Type::kSequence) {
    for (const codec::YamlNode& entry : entries->items) {
      const codec::YamlNode* its_name =
          entry.type == codec::YamlNode::Type::kMap ? entry.find("name") : nullptr;
      if (its_name == nullptr || its_name->text != name) continue;
      const codec::YamlNode* body = entry.find(kind);
      if (body == nullptr || body->type != codec::YamlNode::Type::kMap) {
        return fail_at(source, entry, "`" + std::string(kind) + "` of this entry must be a map");
      }
      return body;
    }
  }
  return fail_at(source, entries == nullptr ? root : *entries,
                 "`" + std::string(list) + "` has no entry named `" + name + "`");
}

/// Sets the proxy of `endpoint`. `proxy-url` takes precedence over the environment, even if
/// NO_PROXY covers the server.
base::Result<void> read_proxy(const Source& source, const codec::YamlNode& cluster,
                              ApiEndpoint& endpoint) {
  auto text = string_at(source, cluster, "proxy-url");
  if (!text) return std::unexpected(text.error());
  auto proxy = text->empty() ? environment_proxy(endpoint, proxy_variables())
                             : parse_proxy(*text, "`proxy-url`");
  if (!proxy && !text->empty()) {
    return fail_at(source, *cluster.find("proxy-url"), proxy.error().message);
  }
  if (!proxy) return std::unexpected(proxy.error());
  endpoint.proxy = *std::move(proxy);
  return {};
}

base::Result<void> read_cluster(const Source& source, const codec::YamlNode& cluster,
                                ApiEndpoint& endpoint) {
  auto server = string_at(source, cluster, "server");
  if (!server) return std::unexpected(server.error());
  const auto url = parse_http_url(*server);
  if (!url) {
    return fail_at(source, cluster,
                   "`server` must be a URL like https://host:6443, not `" + *server + "`");
  }
  endpoint.tls = url->tls;
  endpoint.host = url->server.host;
  endpoint.port = url->server.port;
  endpoint.base_path = url->path;
  if (auto read = read_proxy(source, cluster, endpoint); !read) return read;
  auto name = string_at(source, cluster, "tls-server-name");
  if (!name) return std::unexpected(name.error());
  endpoint.tls_server_name = *std::move(name);
  auto insecure = bool_at(source, cluster, "insecure-skip-tls-verify");
  if (!insecure) return std::unexpected(insecure.error());
  endpoint.verify_server = !*insecure;
  auto authorities = pem_at(source, cluster, "certificate-authority");
  if (!authorities) return std::unexpected(authorities.error());
  endpoint.authorities = *std::move(authorities);
  if (!endpoint.verify_server && endpoint.authorities.given()) {
    return fail_at(source, cluster,
                   "`insecure-skip-tls-verify` and `certificate-authority` cannot both be set");
  }
  return {};
}

base::Result<void> refuse_unsupported(const Source& source, const codec::YamlNode& user) {
  struct Row {
    std::string_view key;
    std::string_view sentence;
  };
  static constexpr Row kRefused[] = {
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
  for (const Row& row : kRefused) {
    const codec::YamlNode* node = user.find(row.key);
    if (node != nullptr && node->type != codec::YamlNode::Type::kNull) {
      return fail_at(source, *node, row.sentence);
    }
  }
  return {};
}

base::Result<void> read_user(const Source& source, const codec::YamlNode& user,
                             ApiEndpoint& endpoint) {
  if (auto allowed = refuse_unsupported(source, user); !allowed) return allowed;
  auto token = string_at(source, user, "token");
  if (!token) return std::unexpected(token.error());
  auto token_file = string_at(source, user, "tokenFile");
  if (!token_file) return std::unexpected(token_file.error());
  if (!token_file->empty()) {
    endpoint.token.path = (source.folder / *token_file).string();
  } else {
    endpoint.token.text = *std::move(token);
  }
  auto certificate = pem_at(source, user, "client-certificate");
  if (!certificate) return std::unexpected(certificate.error());
  endpoint.certificate = *std::move(certificate);
  auto key = pem_at(source, user, "client-key");
  if (!key) return std::unexpected(key.error());
  endpoint.key = *std::move(key);
  return {};
}

base::Result<ApiEndpoint> read_current_context(const Source& source, const codec::YamlNode& root) {
  auto current = string_at(source, root, "current-context");
  if (!current) return std::unexpected(current.error());
  if (current->empty()) return fail_at(source, root, "`current-context` must name a context");
  auto context = named(source, root, "contexts", "context", *current);
  if (!context) return std::unexpected(context.error());

  ApiEndpoint endpoint;
  auto cluster_name = string_at(source, **context, "cluster");
  if (!cluster_name) return std::unexpected(cluster_name.error());
  auto cluster = named(source, root, "clusters", "cluster", *cluster_name);
  if (!cluster) return std::unexpected(cluster.error());
  if (auto read = read_cluster(source, **cluster, endpoint); !read) {
    return std::unexpected(read.error());
  }
  auto user_name = string_at(source, **context, "user");
  if (!user_name) return std::unexpected(user_name.error());
  if (user_name->empty()) return endpoint;
  auto user = named(source, root, "users", "user", *user_name);
  if (!user) return std::unexpected(user.error());
  if (auto read = read_user(source, **user, endpoint); !read) {
    return std::unexpected(read.error());
  }
  return endpoint;
}

}  // namespace

base::Result<ApiEndpoint> load_kubeconfig(const std::string& path, const base::Limits& limits) {
  const Source source{path, std::filesystem::path(path).parent_path()};
  auto text = read_small_file(path, static_cast<std::size_t>(limits.max_config_bytes));
  if (!text) {
    return base::fail(
        text.error().code,
        "the kubeconfig " + text.error().message +
            "; give a readable kubeconfig, or, in a pod, omit it to use the pod's service account");
  }
  auto root = codec::parse_yaml(*text, path, limits);
  if (!root) return std::unexpected(root.error());
  if (root->type != codec::YamlNode::Type::kMap) {
    return fail_at(source, *root, "a kubeconfig must be a map with `current-context`");
  }
  auto endpoint = read_current_context(source, *root);
  if (!endpoint) return endpoint;
  if (auto usable = check_credentials(*endpoint, limits); !usable) {
    return base::fail(base::ErrorCode::kInvalid, path + ": " + usable.error().message);
  }
  return endpoint;
}

base::Result<ApiEndpoint> in_cluster(const base::Limits& limits, const std::string& folder) {
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || *host == '\0' || port == nullptr) {
    return base::fail(
        base::ErrorCode::kInvalid,
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is not a pod; "
        "give a kubeconfig, or --cluster FILE for the embedded mode");
  }
  const std::string_view name(host);
  const bool bracketed = name.find(':') != std::string_view::npos;
  std::string url = "https://";
  url.append(bracketed ? "[" : "").append(name).append(bracketed ? "]" : "");
  const auto server = parse_http_url(url.append(":").append(port));
  if (!server || !server->path.empty()) {
    return base::fail(
        base::ErrorCode::kInvalid,
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT do not give a host and port: `" +
            base::clip_text(url, 200) + "`");
  }
  ApiEndpoint endpoint;
  endpoint.host = server->server.host;
  endpoint.port = server->server.port;
  endpoint.token.path = folder + "/token";
  endpoint.authorities.path = folder + "/ca.crt";
  auto proxy = environment_proxy(endpoint, proxy_variables());
  if (!proxy) return std::unexpected(proxy.error());
  endpoint.proxy = *std::move(proxy);
  if (auto usable = check_credentials(endpoint, limits); !usable) {
    return std::unexpected(usable.error());
  }
  return endpoint;
}

}  // namespace snug::kube
