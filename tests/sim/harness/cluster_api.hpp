// One Snug's way to the simulated API server, where another Snug has one of its own: calls fail in
// every way that a client must expect, and a binding may be carried out after its Snug has given it
// up or has died; but never later than the two time-outs after it was sent, which is what the fence
// rests on (docs/decisions/0023). Deterministic; not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "sim/harness/lease_store.hpp"
#include "sim/harness/world.hpp"
#include "snug/service/ports.hpp"

namespace snug {

class ClusterApi final : public service::ApiPort {
 public:
  struct Counts {
    int posts = 0;
    int late = 0;      // carried out, if at all, after they were given up
    int too_late = 0;  // not sent, since they came out after their time
    int lies = 0;
  };

  /// `posted`: a binding is on its way out.
  ClusterApi(World& world, Wire& wire, const base::Clock& clock,
             std::function<void(const service::Binding&)> posted)
      : world_(world), wire_(wire), clock_(clock), posted_(std::move(posted)) {}

  base::Result<void> bind(const service::Binding& binding) override;
  base::Result<std::optional<model::PodFacts>> get_pod(std::string_view name_space,
                                                       std::string_view name) override;
  base::Result<void> wake_pending_pods(base::Generation room) override;
  void warn(const service::Notice& /*notice*/) override {}

  /// Now and then a pod that lives is "not found".
  void tell_lies(bool on) { lies_ = on; }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  [[nodiscard]] bool fails(std::size_t percent);

  World& world_;
  Wire& wire_;
  const base::Clock& clock_;
  std::function<void(const service::Binding&)> posted_;
  bool lies_ = false;
  Counts counts_;
};

}  // namespace snug
