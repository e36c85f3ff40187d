// The connection of one Snug replica to the simulated API server. Calls fail in every way that a
// client must expect. A binding may be executed after the replica has given it up or was killed,
// but at most two time-outs after it was sent; the write fence relies on this
// (docs/decisions/0023). Deterministic; not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "sim/harness/lease_store.hpp"
#include "sim/harness/world.hpp"
#include "snug/service/ports.hpp"
#include "support/fake_ports.hpp"

namespace snug {

class ClusterApi final : public UnmirroredApi {
 public:
  struct Counts {
    int posts = 0;
    int late = 0;      // bindings that the client gave up before they were executed
    int too_late = 0;  // bindings not sent, because their not_after had passed
    int lies = 0;
  };

  /// `posted` is called when bind() is called, before the binding is sent.
  ClusterApi(World& world, Wire& wire, const base::Clock& clock,
             std::function<void(const model::Binding&)> posted)
      : world_(world), wire_(wire), clock_(clock), posted_(std::move(posted)) {}

  base::Result<void> bind(const model::Binding& binding) override;
  base::Result<std::optional<model::PodFacts>> get_pod(std::string_view name_space,
                                                       std::string_view name) override;
  base::Result<void> wake_pending_pods(base::Generation room) override;
  bool notify(const model::Notice& /*notice*/) override { return true; }

  /// If `on`, get_pod() sometimes returns "not found" for a pod that exists.
  void tell_lies(bool on) { lies_ = on; }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  [[nodiscard]] bool fails(std::size_t percent);

  World& world_;
  Wire& wire_;
  const base::Clock& clock_;
  std::function<void(const model::Binding&)> posted_;
  bool lies_ = false;
  Counts counts_;
};

}  // namespace snug
