#include "snug/base/version.hpp"

namespace snug::base {

std::string version() { return SNUG_VERSION; }

std::string version_of(std::string_view program) { return std::string(program) + " " + version(); }

}  // namespace snug::base
