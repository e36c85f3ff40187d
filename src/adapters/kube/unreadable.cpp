#include "adapters/kube/unreadable.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "adapters/kube/text.hpp"

namespace snug {
namespace {

constexpr std::size_t kShownBytes = 128;  // of an object without a name

struct Names {
  std::string name_space;
  std::string name;
};

/// What stands in front of the first error, be it the end of a text that was cut.
Names read_names(std::string_view text) {
  using Event = nlohmann::json::parse_event_t;
  Names names;
  std::vector<std::string> path;
  const auto visit = [&](int depth, Event event, nlohmann::json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Event::key) {
      path.resize(level);
      path.back() = parsed.get<std::string>();
    } else if (event == Event::value && parsed.is_string() && level == path.size() && level >= 2 &&
               path[level - 2] == "metadata" &&
               (level == 2 || (level == 3 && path[0] == "object"))) {
      if (path.back() == "namespace") names.name_space = parsed.get<std::string>();
      if (path.back() == "name") names.name = parsed.get<std::string>();
    }
    return true;
  };
  [[maybe_unused]] const auto parsed =
      nlohmann::json::parse(text.substr(0, kNamedWithin), visit, false);
  return names;
}

}  // namespace

std::string name_unreadable(std::string_view beginning) {
  const Names names = read_names(beginning);
  if (!is_object_name(names.name)) {
    return "the object that begins `" + clip_text(beginning, kShownBytes) + "`";
  }
  return (is_object_name(names.name_space) ? names.name_space + "/" : "") + names.name;
}

}  // namespace snug
