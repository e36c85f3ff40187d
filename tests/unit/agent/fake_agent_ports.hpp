// Fakes of the ports of the agent's use cases: the files of the host in memory, and metrics that
// are noted. One thread uses them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/agent_service/agent_metrics.hpp"
#include "snug/agent_service/ports.hpp"

namespace snug {

/// While an error is set, the calls fail with it.
class FakeHostFiles final : public agent_service::HostFilesPort {
 public:
  base::Result<agent::DriverFiles> driver_files(std::string_view driver_version) override {
    searches.emplace_back(driver_version);
    if (files_error) return std::unexpected(*files_error);
    return files;
  }
  base::Result<std::string> boot_id() override { return "b"; }
  bool exists(std::string_view host_path) override {
    ++looks;
    return host_files.contains(host_path);
  }
  std::string path_here(std::string_view host_path) const override {
    return host_root + std::string(host_path);
  }
  base::Result<void> write_cdi_spec(std::string_view name, std::string_view json) override {
    on_write();
    if (write_error) return std::unexpected(*write_error);
    specs.insert_or_assign(std::string(name), json);
    return {};
  }
  base::Result<void> remove_cdi_spec(std::string_view name) override {
    if (remove_error) return std::unexpected(*remove_error);
    specs.erase(std::string(name));
    return {};
  }
  base::Result<std::vector<std::string>> cdi_specs(std::string_view prefix) override {
    if (list_error) return std::unexpected(*list_error);
    std::vector<std::string> names;
    for (const auto& [name, json] : specs) {
      if (name.starts_with(prefix)) names.push_back(name);
    }
    return names;
  }
  [[nodiscard]] std::vector<std::string> spec_names() const {
    std::vector<std::string> names;
    for (const auto& [name, json] : specs) names.push_back(name);
    return names;
  }

  agent::DriverFiles files;
  std::string host_root;  // where the agent sees the root of the host; empty: /
  std::set<std::string, std::less<>> host_files;
  int looks = 0;  // at host_files
  std::map<std::string, std::string> specs;
  std::function<void()> on_write = [] {};
  std::vector<std::string> searches;  // the versions for which files were searched
  std::optional<base::Error> files_error;
  std::optional<base::Error> write_error;
  std::optional<base::Error> remove_error;
  std::optional<base::Error> list_error;
};

/// A node in memory. While an error is set, the calls fail with it.
class FakeNode final : public agent_service::NodePort {
 public:
  base::Result<agent_service::NodePort::Marks> read_marks() override {
    ++reads;
    if (read_error) return std::unexpected(*read_error);
    return marks;
  }
  base::Result<void> write_marks(const Marks& new_marks) override {
    ++writes;
    if (!write_error || write_error->code == base::ErrorCode::kUnknown) marks = new_marks;
    if (write_error) return std::unexpected(*write_error);
    return {};
  }
  base::Result<std::optional<std::string>> read_label(std::string_view /*key*/) override {
    return std::nullopt;
  }
  base::Result<void> renew_heartbeat() override {
    ++renewals;
    if (renewal_error) return std::unexpected(*renewal_error);
    return {};
  }

  Marks marks;
  std::optional<base::Error> read_error;
  std::optional<base::Error> write_error;
  std::optional<base::Error> renewal_error;
  int reads = 0;
  int writes = 0;
  int renewals = 0;
};

/// Notes each metric as words.
class NotingAgentMetrics final : public agent_service::AgentMetrics {
 public:
  void creation_answered(agent_service::CreationAnswer answer, std::int64_t /*us*/) override {
    note("created " + std::string(agent_service::kCreationAnswerNames[answer]));
  }
  void validation_answered(bool accepted) override { note(accepted ? "accepted" : "rejected"); }
  void audited(const agent_service::AuditCounts& counts) override {
    note("audited " + std::to_string(counts.foreign_gpu) + " " +
         std::to_string(counts.stale_devices) + " " + std::to_string(counts.outside_guarantee));
  }
  void violator_stopped(bool ok) override { note(ok ? "stopped" : "not stopped"); }
  void devices_read(bool ok, std::int64_t healthy, std::int64_t unhealthy) override {
    note(std::string(ok ? "read " : "not read ") + std::to_string(healthy) + " " +
         std::to_string(unhealthy));
  }
  void runtime_connected(bool connected) override { note(connected ? "connected" : "lost"); }
  void fails_closed(bool closed) override { note(closed ? "closed" : "open"); }
  void node_written(bool ok) override { note(ok ? "written" : "not written"); }
  void slice_changed(agent_service::SliceChange change, bool ok) override {
    note(std::string(ok ? "" : "not ") + std::string(agent_service::kSliceChangeNames[change]));
  }
  void slices_counted(std::int64_t idle, std::int64_t failed) override {
    note("slices " + std::to_string(idle) + " " + std::to_string(failed));
  }

  std::vector<std::string> take() { return std::exchange(notes_, {}); }

 private:
  void note(std::string text) { notes_.push_back(std::move(text)); }

  std::vector<std::string> notes_;
};

}  // namespace snug
