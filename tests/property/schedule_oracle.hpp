// A second reader of ExtenderArgs, over nlohmann-json and written for clearness, that the codec is
// compared with.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/model/pod.hpp"

namespace snug {

struct OracleCall {
  model::PodFacts pod;
  bool nodes_form = false;
  std::vector<std::string> names;
  std::vector<nlohmann::json> objects;
};

/// Nothing: the body must be refused.
[[nodiscard]] std::optional<OracleCall> oracle_read(const std::string& body, std::size_t max_depth,
                                                    std::size_t max_names);

/// An object as OracleCall has it: of a key that is given twice, the first counts. Discarded: the
/// text is no JSON.
[[nodiscard]] nlohmann::json oracle_object(const std::string& text, std::size_t max_depth);

}  // namespace snug
