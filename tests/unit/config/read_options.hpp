// Reads options as the program does, from flags or from the text of a file.
#pragma once

#include <string>
#include <vector>

#include "snug/config/options.hpp"

namespace snug::options_test {

inline base::Result<config::Options> read(const std::vector<std::string>& flags) {
  std::vector<const char*> argv{"snug-extender"};
  for (const std::string& flag : flags) argv.push_back(flag.c_str());
  return config::read_options(static_cast<int>(argv.size()), argv.data());
}

inline base::Result<config::Options> read_yaml(const std::string& yaml) {
  config::Options options;
  if (auto done = config::read_config(yaml, "c.yaml", options); !done) {
    return std::unexpected(done.error());
  }
  return options;
}

/// Returns the text of a file with this line.
inline std::string with(const std::string& line) { return "version: 1\n" + line + "\n"; }

}  // namespace snug::options_test
