// `snugctl defrag`: which few pods to move so that a pod or a request fits.
#pragma once

#include <CLI/CLI.hpp>

#include "ctl/command.hpp"

namespace snug {

void add_defrag(CLI::App& app, Action& chosen);

}  // namespace snug
