// `snugctl mig`: what MIG cards can be divided into.
#pragma once

#include <CLI/CLI.hpp>

#include "ctl/command.hpp"

namespace snug {

void add_mig(CLI::App& app, Action& chosen);

}  // namespace snug
