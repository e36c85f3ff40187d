// snug-mps: builds its parts, and runs the supervisor in the thread that calls run().
#pragma once

#include <csignal>
#include <memory>
#include <string>

#include "snug/base/result.hpp"
#include "snug/config/mps_options.hpp"

namespace snug::mps_app {

class MpsProgram {
 public:
  explicit MpsProgram(config::MpsOptions options);
  ~MpsProgram();
  MpsProgram(const MpsProgram&) = delete;
  MpsProgram& operator=(const MpsProgram&) = delete;

  [[nodiscard]] base::Result<void> start();
  /// `listening admin=HOST:PORT`, after start().
  [[nodiscard]] std::string listening_line() const;
  /// Returns when one of the signals, which are blocked, has arrived and the daemons have ended.
  void run(const sigset_t& signals);

 private:
  struct Parts;

  [[nodiscard]] base::Result<void> serve();

  const config::MpsOptions options_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace snug::mps_app
