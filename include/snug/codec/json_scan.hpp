// Finds keys in JSON texts from Kubernetes without parsing the texts. Pure; takes linear time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace snug::codec {

/// The parts of a JSON list of Kubernetes objects. They allow a reader to parse a large list one
/// item at a time. If `frame` and all `items` are valid JSON, so is the list.
struct SplitList {
  std::string frame;                    // the text, with an empty array under "items"
  std::vector<std::string_view> items;  // the items that the array has in the text
};
/// If `json_text` has no complete array under the key "items" of its outermost object, the frame is
/// the whole text.
[[nodiscard]] SplitList split_list(std::string_view json_text);

/// Overwrites the contents of all arrays named managedFields with blanks. Returns false if it finds
/// no such array. Snug does not need these arrays, and they can make a text unreadable: clients may
/// put deeply nested JSON and invalid UTF-8 into them. Finds an array only if no blank precedes the
/// colon after its key. The API server and kube-scheduler write no blank there.
[[nodiscard]] bool blank_managed_fields(std::string& json_text);

}  // namespace snug::codec
