// The API server keeps in metadata.managedFields whatever JSON its author wrote: nested a thousand
// levels deep, with bytes that are not UTF-8. Snug reads none of it. Pure.
#pragma once

#include <string>

namespace snug {

/// Overwrites the contents of all arrays called managedFields with blanks, in `json` as the API
/// server or kube-scheduler writes it. False: there is no such array. Takes time in proportion to
/// the text.
[[nodiscard]] bool blank_managed_fields(std::string& json);

}  // namespace snug
