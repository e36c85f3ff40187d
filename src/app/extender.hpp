// The program as an object: constructed from its options, started, drained. Only this class chooses
// between the real API server and the one in memory.
#pragma once

#include <memory>
#include <string>

#include "snug/base/result.hpp"
#include "snug/config/options.hpp"

namespace snug::app {

class Extender {
 public:
  explicit Extender(config::Options options);
  ~Extender();
  Extender(const Extender&) = delete;
  Extender& operator=(const Extender&) = delete;

  /// Reads policy, manifests and credentials, feeds the ledger and serves. kInvalid: the
  /// configuration or a file that it names is wrong.
  [[nodiscard]] base::Result<void> start();
  /// The first line on stdout: where it listens; after start().
  [[nodiscard]] std::string listening_line() const;
  /// SIGHUP asks for it: reads the policy file again at once.
  void reload_policy();
  /// Takes no more calls, lets those under way end, and stops all threads.
  void stop();

 private:
  struct Parts;

  [[nodiscard]] base::Result<void> open_policy();
  [[nodiscard]] base::Result<void> open_memory();
  [[nodiscard]] base::Result<void> open_kubernetes();
  void open_election();
  void start_election();
  [[nodiscard]] std::string election_log_line() const;
  /// Starts the source once Parts::source_starts has passed; further calls have no effect.
  void start_source();
  [[nodiscard]] base::Result<void> serve();
  void log_readiness();
  void tick();

  config::Options options_;
  std::string identity_;  // in the election
  std::unique_ptr<Parts> parts_;
};

}  // namespace snug::app
