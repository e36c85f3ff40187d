// Kubeconfigs: an endpoint that is accepted can be connected to.
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/base/text.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

/// A folder for this process, which ends with it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "snug-kubeconfig-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "a temporary folder");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string write(std::string_view text) const {
    const std::filesystem::path file = path_ / "kubeconfig";
    std::ofstream(file, std::ios::binary)
        .write(text.data(), static_cast<std::streamsize>(text.size()));
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

void take_input(std::string_view input) {
  static const Folder kFolder;
  const auto endpoint = kube::load_kubeconfig(kFolder.write(input), base::Limits{});
  if (!endpoint) {
    return require(!endpoint.error().message.empty(), "an error has a message");
  }
  require(!endpoint->host.empty() && endpoint->port > 0, "an endpoint has a host and a port");
  require(endpoint->host.find_first_of(" /\r\n@?#") == std::string::npos,
          "the host is only a host");
  require(endpoint->base_path.empty() || endpoint->base_path.front() == '/',
          "the path begins at /");
  require(!endpoint->base_path.ends_with('/'), "the path has no final slash");
  require(base::find_invalid_text(endpoint->token.text) == std::string::npos,
          "the token can be a header");
}

}  // namespace snug::fuzz
