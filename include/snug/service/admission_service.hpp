// Answers the API server's calls of the admission webhook: what is added to a pod that asks for
// GPUs by annotation (/mutate), and whether such a pod is refused (/validate). The answers depend
// on the pod, the settings and the MirrorParameters as this replica read them last, so every
// replica gives them, also one that does not lead.
//
// Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/admission/mirrored_resources.hpp"
#include "snug/admission/pod_defaults.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

class AdmissionService {
 public:
  /// `scheduler_names`: the schedulers that ask Snug; empty: all. `metrics` must outlive the
  /// service.
  AdmissionService(admission::PodDefaults defaults, std::vector<std::string> scheduler_names,
                   Metrics& metrics, const base::Limits& limits)
      : defaults_(std::move(defaults)),
        scheduler_names_(std::move(scheduler_names)),
        metrics_(metrics),
        limits_(limits) {}

  /// `body` is an AdmissionReview, which may be overwritten. The status is 400 or 413 if it is
  /// none. If only its pod cannot be read, mutate() adds nothing, so that the API server's own
  /// validation can refuse the pod. validate() then refuses a new pod and allows an update.
  [[nodiscard]] Reply mutate(std::string& body) const;
  [[nodiscard]] Reply validate(std::string& body) const;

  /// From now on, new pods get the amounts of mirrored resources for these cards; nullopt: none.
  void set_cards(const std::optional<admission::CardRange>& cards);

 private:
  [[nodiscard]] Reply not_a_review(const base::Error& error) const;
  [[nodiscard]] Reply refused(std::string_view uid, std::string_view sentence) const;
  [[nodiscard]] std::optional<admission::CardRange> cards() const;

  const admission::PodDefaults defaults_;
  const std::vector<std::string> scheduler_names_;
  Metrics& metrics_;
  const base::Limits limits_;
  mutable base::Mutex mutex_;
  std::optional<admission::CardRange> cards_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service
