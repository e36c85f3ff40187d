// choose_victims against all sets of pods, on small nodes.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "many.hpp"
#include "random_cluster.hpp"
#include "support/preemption_scenario.hpp"

namespace snug::preempt_property_test {
namespace {

using Mask = std::uint32_t;

/// The first two criteria of a set of victims: those that end anyway cost nothing.
using Loss = std::pair<std::int64_t, int>;

/// Judges sets of a node's pods, by what fit and simple sums say.
class Judge {
 public:
  explicit Judge(const PreemptionScenario& on) : on_(on), node_(on.state()) {}

  [[nodiscard]] std::size_t pods() const { return on_.holdings.size(); }
  [[nodiscard]] const model::Holding& pod(std::size_t i) const { return *on_.holdings[i]; }
  [[nodiscard]] bool may_go(std::size_t i) const {
    return pod(i).rank.priority < on_.incoming.rank.priority;
  }

  [[nodiscard]] bool gpus_fit(Mask gone) const {
    std::vector<model::HoldingPtr> left;
    for (std::size_t i = 0; i < pods(); ++i) {
      if ((gone >> i & 1U) == 0) left.push_back(on_.holdings[i]);
    }
    const model::NodeStatePtr state = fit::build_node_state(node_->inventory, std::move(left));
    return choose_without_others(*state, on_.incoming).reason == model::ReasonCode::kNone;
  }
  [[nodiscard]] bool host_fits(Mask gone) const {
    const model::HostAllocatable& host = node_->inventory->host;
    if (!host.known) return true;
    std::int64_t cpu = on_.host_request.cpu_milli;
    std::int64_t milli = on_.mirrored_request.milli.value;
    std::int64_t count = 1;
    for (std::size_t i = 0; i < pods(); ++i) {
      if ((gone >> i & 1U) != 0) continue;
      cpu += pod(i).host.cpu_milli;
      milli += pod(i).mirrored.milli.value;
      ++count;
    }
    const std::optional<std::int64_t>& most = node_->inventory->mirrored.allocatable.milli;
    if (most && on_.mirrored_request.milli.value > 0 && milli > *most) return false;
    return count <= host.pod_slots &&
           (on_.host_request.cpu_milli == 0 || cpu <= host.resources.cpu_milli);
  }
  [[nodiscard]] bool fits(Mask gone) const { return host_fits(gone) && gpus_fit(gone); }

  [[nodiscard]] Loss loss(Mask gone) const {
    Loss sum{INT64_MIN, 0};
    for (std::size_t i = 0; i < pods(); ++i) {
      if ((gone >> i & 1U) == 0 || pod(i).terminating) continue;
      sum.first = std::max<std::int64_t>(sum.first, pod(i).rank.priority);
      ++sum.second;
    }
    return sum;
  }

  [[nodiscard]] Mask all_that_may_go() const {
    Mask all = 0;
    for (std::size_t i = 0; i < pods(); ++i) all |= Mask{may_go(i)} << i;
    return all;
  }

  /// The least loss of all sets that hold these pods; nothing: none of them makes room.
  [[nodiscard]] std::optional<Loss> least(Mask with) const {
    std::optional<Loss> best;
    const Mask all = all_that_may_go();
    for (Mask set = all;; set = (set - 1) & all) {
      if ((set & with) == with && (!best || loss(set) < *best) && fits(set)) best = loss(set);
      if (set == 0) return best;
    }
  }

  /// Whom kube-scheduler would choose: of all that are lower, it lets live whom it can, the most
  /// important first, and looks at cpu and places alone. Nothing: it would not offer the node.
  [[nodiscard]] std::optional<Mask> chosen_by_scheduler() const {
    Mask gone = all_that_may_go();
    if (!host_fits(gone)) return std::nullopt;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < pods(); ++i) {
      if (may_go(i)) order.push_back(i);
    }
    std::ranges::sort(
        order, [&](std::size_t a, std::size_t b) { return pod(a).rank.outranks(pod(b).rank); });
    for (const std::size_t i : order) {
      if (host_fits(gone & ~(Mask{1} << i))) gone &= ~(Mask{1} << i);
    }
    return gone;
  }

 private:
  const PreemptionScenario& on_;
  model::NodeStatePtr node_;
};

std::string draw_pod(int i, int gpus) {
  std::string text =
      "p" + std::to_string(i) + " " + std::to_string(draw(5)) + " @" + std::to_string(draw(3));
  const auto gpu = [&] { return std::to_string(draw(gpus)); };
  switch (draw(5)) {
    case 0:
      break;
    case 1:
      text += " w" + gpu();
      break;
    case 2:
      text += " w0" + std::string(gpus > 1 ? " w1" : "");
      break;
    default:
      text += " g" + gpu() + ":" + std::to_string(100 * (1 + draw(5)));
  }
  if (!one_in(3)) text += " cpu=" + std::to_string(draw(4));
  if (one_in(2)) text += " milli=" + std::to_string(100 * draw(8));
  if (one_in(5)) text += " ending";
  if (one_in(8)) text += " tied";
  return text;
}

PreemptionScenario draw_eviction() {
  const int gpus = 1 + draw(4);
  std::vector<std::string> pods;
  const int count = draw(10);
  for (int i = 0; i < count; ++i) pods.push_back(draw_pod(i, gpus));
  for (const std::string& pod : pods) RC_LOG() << pod << "\n";
  model::GpuRequest request =
      one_in(3) ? make_whole(1 + draw(2)) : make_fraction(100 * (1 + draw(9)));
  RC_LOG() << model::to_text(request) << " on " << gpus << " GPUs\n";
  PreemptionScenario on("n: A 1000 x" + std::to_string(gpus), pods, std::move(request));
  on.incoming.rank.priority = 2 + draw(4);
  if (!one_in(4)) {
    const int cpu = 2 + draw(10);
    const int places = 3 + draw(8);
    const int asked = draw(4);
    RC_LOG() << "host " << cpu << " cpu, " << places << " places; asks " << asked << "\n";
    on.host(cpu, 100, places).request_host(asked);
  }
  if (!one_in(3)) on.mirror(1000 * gpus, 1000 * gpus).request_mirrored(100 * draw(10));
  on.has_other_constraints = one_in(6);
  return on;
}

Mask mask_of(const Judge& judge, const std::vector<std::string>& uids) {
  Mask mask = 0;
  for (const std::string& uid : uids) {
    for (std::size_t i = 0; i < judge.pods(); ++i) {
      if (judge.pod(i).uid == uid) mask |= Mask{1} << i;
    }
  }
  return mask;
}

void victims_property() {
  const PreemptionScenario on = draw_eviction();
  const Judge judge(on);
  const Mask chosen = one_in(3) ? 0 : judge.chosen_by_scheduler().value_or(0);
  std::vector<std::string_view> chosen_uids;
  bool tied = on.has_other_constraints || !on.state()->inventory->host.known;
  Mask ending = 0;
  for (std::size_t i = 0; i < judge.pods(); ++i) {
    if (judge.pod(i).terminating && judge.may_go(i)) ending |= Mask{1} << i;
    if ((chosen >> i & 1U) == 0) continue;
    chosen_uids.push_back(judge.pod(i).uid);
    tied = tied || judge.pod(i).has_other_constraints;
    RC_LOG() << "chosen " << judge.pod(i).uid << "\n";
  }
  const std::vector<std::string> uids = on.victims(chosen_uids);
  for (const std::string& uid : uids) RC_LOG() << "victim " << uid << "\n";
  const Mask victims = mask_of(judge, uids);
  const Mask must_go = tied ? chosen : 0;
  const std::optional<Loss> least = judge.least(must_go);
  const bool needed = chosen != 0 || !judge.fits(0);
  RC_TAG(std::string(!needed        ? "nothing to do"
                     : uids.empty() ? "none"
                                    : "some") +
         (chosen == 0 ? ", none chosen"
          : tied      ? ", chosen and tied"
                      : ", chosen"));
  RC_ASSERT(uids.empty() == (!needed || !least));
  if (uids.empty()) return;
  RC_ASSERT(uids == on.victims(chosen_uids));
  RC_ASSERT((victims & ~judge.all_that_may_go()) == 0U);
  RC_ASSERT((victims & must_go) == must_go);
  RC_ASSERT(judge.fits(victims));
  for (std::size_t i = 0; i < judge.pods(); ++i) {
    const Mask one = Mask{1} << i;
    if ((victims & one & ~must_go) != 0) RC_ASSERT(!judge.fits(victims & ~one));
  }
  if (chosen != 0 && judge.fits(chosen | ending)) {
    RC_ASSERT((victims & ~(chosen | ending)) == 0U);
  } else {
    RC_ASSERT(judge.loss(victims) == *least);
  }
}

TEST(PreemptProperty, VictimsAreTheFewestAndLeastImportantThatMakeRoom) {
  holds_in(3'000, victims_property);
}

}  // namespace
}  // namespace snug::preempt_property_test
