// `snugctl policy check`: whether snug-extender would take a policy file.
#pragma once

#include <CLI/CLI.hpp>

#include "ctl/command.hpp"

namespace snug {

void add_policy_check(CLI::App& app, Action& chosen);

}  // namespace snug
