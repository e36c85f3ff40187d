// JSON texts from Kubernetes, scanned for one key without being parsed. Pure; takes time in
// proportion to the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace snug {

/// A list cut into its items, so that a large list is parsed one item at a time. Frame and items
/// together hold the whole text, so that parsing each of them finds every error.
struct SplitList {
  std::string frame;                    // the text, with `[]` in place of the array under "items"
  std::vector<std::string_view> items;  // views into the text
};
[[nodiscard]] SplitList split_list(std::string_view text);

/// Overwrites the contents of all arrays called managedFields with blanks, in `json` as the API
/// server or kube-scheduler writes it. False: there is no such array. The API server keeps there
/// whatever JSON its author wrote, nested a thousand levels deep or with bytes that are not UTF-8,
/// and Snug reads none of it.
[[nodiscard]] bool blank_managed_fields(std::string& json);

}  // namespace snug
