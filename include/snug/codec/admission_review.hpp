// Reads the AdmissionReview (admission.k8s.io/v1) by which the API server asks a webhook about a
// pod, and writes the reply. Unknown fields are ignored; a duplicate of a known field and a wrong
// type are errors that name the field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/admission/pod_additions.hpp"
#include "snug/admission/pod_review.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"

namespace snug::codec {

/// What a review asks. If it is not about a pod that is created or updated, but for example about a
/// subresource, `pod` is nullopt. `pod` is nullopt, too, if it, or what it was before an update,
/// cannot be read; if it is a new pod, `unreadable_new_pod` then says why.
struct AdmissionReview {
  std::string uid;  // of the request; the reply repeats it
  std::optional<admission::PodReview> pod;
  std::string unreadable_new_pod;
};

/// May overwrite parts of `body`. Thread-safe.
[[nodiscard]] base::Result<AdmissionReview> read_admission_review(std::string& body,
                                                                  const base::Limits& limits);

/// Returns the reply that allows the request and makes the additions. Without additions the reply
/// has no patch.
[[nodiscard]] std::string write_allowed(std::string_view uid,
                                        const std::vector<admission::Addition>& additions);
/// Returns the reply that denies the request with the status 422. The API server shows `sentence`
/// to the client.
[[nodiscard]] std::string write_denied(std::string_view uid, std::string_view sentence);

}  // namespace snug::codec
