// The files of snug-gate on the host: the program in the container runtime's folder of plug-ins,
// and a file that it keeps locked while it runs, by which the agent knows that it does. Errors are
// kUnavailable. Thread-safe.
#pragma once

#include <string>

#include "snug/base/result.hpp"

namespace snug::host {

/// The name by which the runtime starts the gate: 99 is the last index, so that the gate sees what
/// all other plug-ins have done.
inline constexpr char kGateFile[] = "99-snug-gate";
/// On the host. The gate keeps this file locked while the container runtime calls it.
inline constexpr char kGateLockFile[] = "/run/snug/gate.lock";

/// Locks the file until the process ends. Makes it, and its folder, which only root can enter:
/// others could lock the file, too.
[[nodiscard]] base::Result<void> hold_gate_lock(const std::string& path);

/// Whether a process holds the lock. False if the file cannot be read.
[[nodiscard]] bool is_gate_locked(const std::string& path);

/// Copies the program atomically to kGateFile in the folder, which is made if it is not there. The
/// runtime does not start if an executable file in it has another form of name, so the copy is made
/// beside the folder.
[[nodiscard]] base::Result<void> install_gate(const std::string& program,
                                              const std::string& folder);

}  // namespace snug::host
