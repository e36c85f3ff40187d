#include <algorithm>
#include <array>
#include <cstdint>

#include "score/cost.hpp"
#include "score/demand_terms.hpp"
#include "snug/score/fragmentation.hpp"

namespace snug::score {
namespace {

/// Element p - 1, for p from 1 to 99, is 10^9 * d, where d = ln(p / (100 - p)) is the smallest
/// number for which floor(100 * sigmoid(d)) is p. With this table, a decision needs no
/// floating-point arithmetic.
constexpr std::array<std::int64_t, 99> kSigmoidSteps = {
    -4'595'119'850, -3'891'820'298, -3'476'098'690, -3'178'053'830, -2'944'438'979,
    -2'751'535'313, -2'586'689'344, -2'442'347'035, -2'313'634'929, -2'197'224'577,
    -2'090'741'097, -1'992'430'165, -1'900'958'761, -1'815'289'967, -1'734'601'055,
    -1'658'228'077, -1'585'627'264, -1'516'347'489, -1'450'010'176, -1'386'294'361,
    -1'324'925'415, -1'265'666'373, -1'208'311'206, -1'152'679'510, -1'098'612'289,
    -1'045'968'555, -994'622'575,   -944'461'609,   -895'384'047,   -847'297'860,
    -800'119'300,   -753'771'802,   -708'185'058,   -663'294'217,   -619'039'208,
    -575'364'145,   -532'216'814,   -489'548'225,   -447'312'218,   -405'465'108,
    -363'965'377,   -322'773'392,   -281'851'152,   -241'162'057,   -200'670'695,
    -160'342'650,   -120'144'312,   -80'042'708,    -40'005'335,    0,
    40'005'335,     80'042'708,     120'144'312,    160'342'650,    200'670'695,
    241'162'057,    281'851'152,    322'773'392,    363'965'377,    405'465'108,
    447'312'218,    489'548'225,    532'216'814,    575'364'145,    619'039'208,
    663'294'217,    708'185'058,    753'771'802,    800'119'300,    847'297'860,
    895'384'047,    944'461'609,    994'622'575,    1'045'968'555,  1'098'612'289,
    1'152'679'510,  1'208'311'206,  1'265'666'373,  1'324'925'415,  1'386'294'361,
    1'450'010'176,  1'516'347'489,  1'585'627'264,  1'658'228'077,  1'734'601'055,
    1'815'289'967,  1'900'958'761,  1'992'430'165,  2'090'741'097,  2'197'224'577,
    2'313'634'929,  2'442'347'035,  2'586'689'344,  2'751'535'313,  2'944'438'979,
    3'178'053'830,  3'476'098'690,  3'891'820'298,  4'595'119'850,
};

}  // namespace

std::int32_t fgd(const TermInput& input) {
  FragmentationView node = fragmentation_view(input.node);
  const std::int64_t fragmented_before = fragmentation(node, input.demand.typical_pods);
  node.free_cpu_milli = saturating_subtract(node.free_cpu_milli, input.host.cpu_milli);
  for (const model::DeviceAllocation& allocation : input.placement.allocations) {
    FragmentationView::Gpu& gpu = node.gpus[allocation.gpu];
    gpu.free_milli -= allocation.milli;
    if (!gpu.slices || allocation.milli == 0) continue;
    gpu.slices->use = mig::with_slice(*gpu.slices->table, gpu.slices->use, allocation.slice);
  }
  const std::int64_t decrease = fragmented_before - fragmentation(node, input.demand.typical_pods);
  // Converts milli-GPU * kFixedPointOne to GPUs * 10^9, rounded down.
  const std::int64_t scaled = (decrease * 1'000'000) >> model::kFixedPointBits;
  const auto sigmoid_percent =
      std::ranges::upper_bound(kSigmoidSteps, scaled) - kSigmoidSteps.begin();
  return static_cast<std::int32_t>(1000 * sigmoid_percent);
}

}  // namespace snug::score
