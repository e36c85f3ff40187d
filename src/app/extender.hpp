// The program snug-extender as an object: it is constructed from options, started and stopped. This
// is the only class that chooses between a real API server and the one in memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"
#include "snug/config/options.hpp"

namespace snug::app {

class Extender {
 public:
  explicit Extender(config::Options options);
  ~Extender();
  Extender(const Extender&) = delete;
  Extender& operator=(const Extender&) = delete;

  /// Reads the policy and the manifests or credentials, opens the ports, and starts to watch the
  /// cluster. With removeMirrors, opens no port. kInvalid or kTooLarge: the configuration, or a
  /// file that it names, is wrong.
  [[nodiscard]] base::Result<void> start();
  /// Returns the line that names the addresses of all ports, which the program prints first. Valid
  /// after start() without removeMirrors.
  [[nodiscard]] std::string listening_line() const;
  /// Whether the work of removeMirrors is done. Thread-safe.
  [[nodiscard]] bool mirrors_are_removed() const;
  /// Reloads the policy file at once. SIGHUP calls it.
  void reload_policy();
  /// Accepts no more requests, waits for requests in flight, and stops all threads.
  void stop();

 private:
  struct Parts;

  [[nodiscard]] base::Result<void> open_policy();
  [[nodiscard]] base::Result<void> open_memory();
  [[nodiscard]] base::Result<void> open_kubernetes();
  void open_election();
  void start_election();
  [[nodiscard]] std::string election_log_line() const;
  void warn_of_open_port() const;
  /// Called repeatedly. Starts the ClusterSource once the time Parts::source_starts has come; does
  /// nothing after that.
  void start_source();
  [[nodiscard]] base::Result<void> serve();
  [[nodiscard]] base::Result<void> open_admin(
      const std::function<void(std::string_view)>& on_problem);
  void log_readiness();
  void tick();

  config::Options options_;
  std::string identity_;  // this process's identity in the leader election
  std::unique_ptr<Parts> parts_;
};

}  // namespace snug::app
