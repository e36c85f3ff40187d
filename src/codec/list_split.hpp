// A Kubernetes list in JSON, cut into its items without parsing them, so that a large list is
// parsed an item at a time. Whatever the text holds, frame and items together hold all of it:
// parsing each of them finds every error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace snug {

struct SplitList {
  std::string frame;                    // the text, with `[]` in place of the array under "items"
  std::vector<std::string_view> items;  // views into the text
};

[[nodiscard]] SplitList split_list(std::string_view text);

}  // namespace snug
