// Scans JSON texts from Kubernetes for one key without parsing them. Pure; takes linear time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace snug::codec {

/// A list split into its items, so that a large list is parsed one item at a time. Frame and items
/// together contain the whole text, so that parsing all of them finds every error.
struct SplitList {
  std::string frame;                    // the text, with `[]` in place of the array under "items"
  std::vector<std::string_view> items;  // views into the text
};
[[nodiscard]] SplitList split_list(std::string_view text);

/// Overwrites the contents of all arrays named managedFields with blanks. False: there is no such
/// array. Snug does not need them, and they may contain arbitrary JSON of clients, nested a
/// thousand levels deep or with bytes that are not UTF-8. `json` must be formatted as the API
/// server or kube-scheduler does.
[[nodiscard]] bool blank_managed_fields(std::string& json);

}  // namespace snug::codec
