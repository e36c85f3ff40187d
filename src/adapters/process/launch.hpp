// What happens between fork() and exec(): everything is prepared before, since another thread may
// have held a lock when the process was forked.
#pragma once

#include "snug/base/result.hpp"
#include "snug/mps_service/ports.hpp"

namespace snug::process {

/// Runs the program in a new process. `input`, `output`: its standard input and its output, open
/// files. Returns the process id; an error says which step failed, and there is no process then.
[[nodiscard]] base::Result<int> launch(const mps_service::Program& program, int input, int output);

}  // namespace snug::process
