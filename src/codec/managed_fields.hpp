// The API server keeps in metadata.managedFields whatever JSON its author wrote: nested a thousand
// levels deep, with bytes that are not UTF-8. Snug reads none of it. Pure.
#pragma once

#include <string>

namespace snug {

/// Replaces what stands in the arrays called managedFields by blanks, whatever it is, in `json` as
/// the API server or kube-scheduler writes it. False: there was nothing to replace.
[[nodiscard]] bool blank_managed_fields(std::string& json);

}  // namespace snug
