#include "snug/adapters/host/host_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include "adapters/host/driver_nodes.hpp"
#include "adapters/host/replace_file.hpp"
#include "adapters/host/rooted_path.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/text.hpp"

namespace snug::host {
namespace {

namespace fs = std::filesystem;
namespace limits = base::agent_limits;

// Where distributions have the driver's libraries and programs. Of two files with the same name,
// the first is taken.
constexpr std::string_view kLibraryFolders[] = {
    "usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu",
    "lib64",     "lib/x86_64-linux-gnu",     "lib/aarch64-linux-gnu"};
constexpr std::string_view kProgramFolders[] = {"usr/bin", "bin"};
constexpr std::string_view kPrograms[] = {"nvidia-smi", "nvidia-debugdump",
                                          "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"};

/// Host paths by the name in the container; sorted, so that the same files give the same list.
using FilesByName = std::map<std::string, std::string, std::less<>>;

std::vector<agent::DriverFile> list_of(const FilesByName& files) {
  std::vector<agent::DriverFile> list;
  for (const auto& [name, host_path] : files) list.push_back({host_path, name});
  return list;
}

bool is_library_name(std::string_view name) {
  return name.starts_with("lib") && name.find(".so") != std::string_view::npos;
}

/// Adds each name in the folder that leads to a library of this version of the driver. The
/// symbolic links, such as libcuda.so.1, give the names under which programs load the libraries.
void add_libraries(FilesByName& libraries, const HostPaths& paths, std::string_view folder,
                   const std::string& ending) {
  const std::string root = join(paths.host_root, paths.driver_root);
  const auto real_folder = follow_links(root, folder);
  if (!real_folder) return;
  std::error_code error;
  for (fs::directory_iterator entry(join(root, *real_folder), error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!is_library_name(name) || base::find_invalid_text(name) != std::string::npos) continue;
    const auto target = follow_links(root, join(*real_folder, name));
    if (!target || !target->ends_with(ending)) continue;
    std::error_code none;
    if (!fs::is_regular_file(fs::symlink_status(join(root, *target), none))) continue;
    libraries.emplace(name, join(paths.driver_root, *target));
  }
}

void add_programs(FilesByName& programs, const HostPaths& paths, std::string_view folder) {
  const std::string root = join(paths.host_root, paths.driver_root);
  for (const std::string_view name : kPrograms) {
    const auto target = follow_links(root, join(folder, name));
    std::error_code none;
    if (!target || !fs::is_regular_file(fs::symlink_status(join(root, *target), none))) continue;
    programs.emplace(name, join(paths.driver_root, *target));
  }
}

constexpr std::string_view kSpec = ".json";
// Runtimes read only files that end with .json or .yaml.
constexpr std::string_view kUnfinished = ".tmp";

base::Result<void> check_file_name(std::string_view name, std::string_view ending = kSpec) {
  const bool is_valid = name.size() <= 255 && !name.starts_with('.') && name.ends_with(ending) &&
                        name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
  if (is_valid) return {};
  return base::fail(base::ErrorCode::kInvalid, "the name of a CDI specification is " +
                                                   base::in_quotes(name) +
                                                   "; expected a file name that ends with .json");
}

/// Also of a file that a killed agent has not finished.
base::Result<void> check_listed_name(std::string_view name) {
  return check_file_name(name, kUnfinished) ? base::Result<void>{} : check_file_name(name);
}

}  // namespace

base::Result<agent::DriverFiles> HostFiles::driver_files(std::string_view driver_version) {
  agent::DriverFiles files;
  if (driver_version.empty()) return files;
  if (driver_version.find_first_not_of("0123456789.") != std::string_view::npos) {
    return base::fail(base::ErrorCode::kInvalid, "the version of the driver is " +
                                                     base::in_quotes(driver_version) +
                                                     "; expected digits and dots");
  }
  FilesByName libraries;
  for (const std::string_view folder : kLibraryFolders) {
    add_libraries(libraries, paths_, folder, ".so." + std::string(driver_version));
  }
  FilesByName programs;
  for (const std::string_view folder : kProgramFolders) add_programs(programs, paths_, folder);
  if (static_cast<std::int64_t>(libraries.size() + programs.size()) > limits::max_driver_files) {
    return base::fail(base::ErrorCode::kTooLarge,
                      "the driver has " + std::to_string(libraries.size() + programs.size()) +
                          " libraries and programs in " + base::in_quotes(paths_.driver_root) +
                          "; allowed are " + std::to_string(limits::max_driver_files));
  }
  files.libraries = list_of(libraries);
  files.programs = list_of(programs);
  const base::Result<void> nodes = find_driver_nodes(files, paths_);
  if (!nodes) return std::unexpected(nodes.error());
  return files;
}

base::Result<std::string> HostFiles::boot_id() {
  const std::string path = join(paths_.proc_root, "proc/sys/kernel/random/boot_id");
  base::Result<std::string> text = read_host_file(path);
  if (!text) return text;
  while (text->ends_with('\n')) text->pop_back();
  if (text->empty() || text->size() > 64 ||
      text->find_first_not_of("0123456789abcdef-") != std::string::npos) {
    return base::fail(base::ErrorCode::kInvalid,
                      path + ": has " + base::in_quotes(*text) + "; expected the boot id, a UUID");
  }
  return text;
}

bool HostFiles::exists(std::string_view host_path) {
  return follow_links(paths_.host_root, host_path).has_value();
}

std::string HostFiles::path_here(std::string_view host_path) const {
  return join(paths_.host_root, host_path);
}

base::Result<void> HostFiles::write_cdi_spec(std::string_view name, std::string_view json) {
  const base::Result<void> checked = check_file_name(name);
  if (!checked) return checked;
  if (static_cast<std::int64_t>(json.size()) > limits::max_cdi_spec_bytes) {
    return base::fail(base::ErrorCode::kTooLarge, "the CDI specification " + base::in_quotes(name) +
                                                      " has " + std::to_string(json.size()) +
                                                      " bytes; allowed are " +
                                                      std::to_string(limits::max_cdi_spec_bytes));
  }
  std::error_code error;
  fs::create_directories(paths_.cdi_folder, error);  // if it fails, so does the next step
  const std::string temporary =
      join(paths_.cdi_folder, std::string(name)
                                  .append(".")
                                  .append(std::to_string(written_.fetch_add(1)))
                                  .append(kUnfinished));
  return replace_file(join(paths_.cdi_folder, name), temporary, json);
}

base::Result<void> HostFiles::remove_cdi_spec(std::string_view name) {
  const base::Result<void> checked = check_listed_name(name);
  if (!checked) return checked;
  const std::string path = join(paths_.cdi_folder, name);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed(path, "cannot be removed");
  return {};
}

base::Result<std::vector<std::string>> HostFiles::cdi_specs(std::string_view prefix) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(paths_.cdi_folder, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(prefix) && check_listed_name(name)) names.push_back(name);
  }
  if (error) {
    return base::fail(base::ErrorCode::kUnavailable,
                      paths_.cdi_folder + ": cannot be listed: " + error.message());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace snug::host
