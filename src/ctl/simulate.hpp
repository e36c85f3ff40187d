// `snugctl simulate`: what policies make of a trace of nodes and pods.
#pragma once

#include <CLI/CLI.hpp>

#include "ctl/command.hpp"

namespace snug {

void add_simulate(CLI::App& app, Action& chosen);

}  // namespace snug
