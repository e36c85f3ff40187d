// Configuration files: an error has its position, and accepted settings are within their limits.
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/config/options.hpp"
#include "target.hpp"
#include "yaml_position.hpp"

namespace snug::fuzz {

void take_input(std::string_view input) {
  config::Options options;
  const auto read = config::read_config(input, "f", options);
  if (!read) return require_position(read.error());
  for (const base::LimitRow& row : base::limit_rows()) {
    const auto value = options.limits.*row.field;
    require(value >= row.smallest && value <= row.largest, row.key);
  }
  require(options.listen.port >= 0 && options.listen.port <= 65'535, "the port");
  require(!config::answer_mode_name(options.answer).empty(), "the answer mode");
}

}  // namespace snug::fuzz
