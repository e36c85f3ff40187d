// The fitted constants of the demand model: every number in `demand` and `score` that was chosen
// rather than derived, with its unit, its formula, where it comes from and what it is known to do.
// The weights of the terms are in policies/tight.yaml, what bounds memory and work is in
// base/limits.hpp.
//
// Sources:
//   [packing]  docs/packing.md. Values were compared on the eight orders of openb and on the first
//              seeds of `packing_bench --regimes`; the tables there are of seeds 11 and 12.
//   [18] [19] [21]  docs/decisions, by number.
//   [FGD]      Weng et al., "Beware of Fragmentation", USENIX ATC 2023.
//   [sim]      An independent simulator of FGD's protocol on openb, before Snug had the terms.
//   by hand    No experiment that compared values is on record.
#pragma once

#include <array>
#include <cstdint>

namespace snug::demand {

// The regime. Both ratios are of exponentially weighted moving averages over arrivals, which weigh
// the t-th arrival with 1 / min(kRegimeWindow, t).
//
//   churn      = kFullChurn      * min(1, (departing / arriving) / kFullChurnRatio)
//   saturation = kFullSaturation * min(1, (refused / judged) / kFullSaturationRatio)
//
// departing, arriving: milli-GPU of the pods that leave and that arrive. refused: milli-GPU of the
// pods with one GPU, share or slice that were overtaken; judged: of those and of the placed ones.

/// Arrivals. The regime acts as a switch and is insensitive to it [sim].
inline constexpr std::int64_t kRegimeWindow = 1'000;

/// A ratio. A cluster that fills up is far below it, one in balance is at 1: packing is insensitive
/// to the value, and not to the regime. With churn fixed at 0 openb loses 5 points of accepted
/// demand in churn, fixed at 1 it loses 2 points of allocation in fill [sim].
inline constexpr double kFullChurnRatio = 0.2;

/// A ratio. Saturation as a regime of its own brought CPU-heavy churn and load 1.1 from behind FGD
/// to level or ahead (`--regimes` [packing]). The value is by hand.
inline constexpr double kFullSaturationRatio = 0.02;

/// Pods. A waiting pod counts as refused when so many that arrived later have been placed: a burst
/// that the scheduler works off in order is not saturation. By hand [18].
inline constexpr int kOvertakersUntilRefused = 16;

/// Steps of churn or saturation. The published step changes when the exact value is further away
/// than this. Between 0.5, where a value on a boundary would toggle, and 1. Each change of step
/// makes `plan` look at every node again. By hand [18].
inline constexpr double kRegimeHysteresis = 0.75;

// Tables are rebuilt at the first pod, at each doubling of the pods counted, then periodically.

/// Pods. 512 packs the same and makes `plan` look at every node more often [packing].
inline constexpr std::int64_t kPodsBetweenBuilds = 2'048;

// The prior: pods that are assumed before any has been seen. After n pods its weight is
// max(0, 1 - n / kPriorFadesOver).

/// Pods. A prior that never fades kept rare models empty: with 4,000, and a weight of 1,000 instead
/// of 10,000 for model-scarcity, CPU-heavy churn went from 0.4 points behind FGD to 0.1 ahead
/// (`--regimes --only CPU-heavy` [packing]).
inline constexpr double kPriorFadesOver = 4'000;

struct PriorPod {
  std::int64_t gpus = 0;
  std::int64_t gpu_milli = 0;  // of each GPU
  double pods = 0;
};

/// 20 pods of round sizes, mostly of one GPU, so that the first pod seen is not all that is known
/// [sim]. No other mix is on record.
inline constexpr std::array<PriorPod, 6> kPriorPods{
    {{1, 250, 3}, {1, 500, 5}, {1, 1000, 9}, {2, 1000, 1}, {4, 1000, 1}, {8, 1000, 1}}};

/// A prior pod asks for 1 / kPriorHostDivisor of its GPUs' part of the cluster's CPU and memory, so
/// that some is left for others. By hand.
inline constexpr std::int64_t kPriorHostDivisor = 2;

/// GPUs of demand that name a model, uniform over models. Without it the first pod that names a
/// model makes that model look scarce: a trace in which a third of the pods name models lost 1.5
/// points of allocation in fill [sim].
inline constexpr double kPriorNamingGpus = 50;

/// Slices of each plain MIG profile. By hand.
inline constexpr double kPriorSlices = 1;

/// Slices. With s slices seen, a card's value is with weight max(0, 1 - d * s / kEnoughSlices) the
/// prior's, which keeps every profile possible; d as below. A prior that ends after 16 slices on
/// any number of cards is 3 points behind best-fit on 2 cards (`--mig --cards 4` [packing]).
inline constexpr double kEnoughSlices = 20;

// Stranded capacity (StrandingTable): widths of the histogram's bins. A table has kBins of them, so
// up to 65 cores and 520 GiB for each GPU are told apart.

/// Thousandths of a core. By hand: pods ask for whole and half cores.
inline constexpr std::int64_t kCpuBinMilli = 250;
/// MiB. By hand.
inline constexpr std::int64_t kMemoryBinMib = 2'048;

// Multi-GPU pods (MultiGpuHeadroom). A block of n GPUs that D pods have to leave first counts
//
//   (kBlockDiscount * min(n, kLargeBlock) / kLargeBlock * churn / kFullChurn) ^ D

/// For each pod. 0.5 to 0.8 pack openb alike and are worse where many pods need several GPUs; the
/// chance that D pods leave before the next such pod comes, instead of a power, was no better
/// [sim] [packing].
inline constexpr double kBlockDiscount = 0.35;
/// GPUs. Small blocks come free by themselves, so that waiting for them is worth less: 1.2 points
/// for mixes with many pods of 2 and 4 GPUs (`--regimes` [packing]). Eight is a usual node.
inline constexpr std::int64_t kLargeBlock = 8;

/// Part of the GPU demand. Where multi-GPU pods are a smaller part p, their blocks are weighted by
/// p / kCommonMultiGpuShare besides, so that rare pods do not bend how shares are packed: mixes of
/// almost only shares went from 1.5 points behind FGD to 0.6 ahead (`--regimes --only shares`
/// [packing]).
inline constexpr double kCommonMultiGpuShare = 0.05;

// MIG cards: the formula is in src/demand/slice_value.hpp. Compared by `packing_bench --mig`, on
// its five mixes and others of the kind [packing].

/// The probability d that a pod which does not fit on a card goes to another one, so that the card
/// waits for the next pod, is 1 - (cards + 1)^-kOtherCardExponent: 0.36 for one card, 0.98 for 500.
/// 0.98 for any number of cards packs 500 cards alike, and 1 to 4 cards 2 to 3 points worse.
inline constexpr double kOtherCardExponent = 0.65;
/// The bound on d where pods leave. No comparison is on record.
inline constexpr double kMostOtherCardInChurn = 0.9;
/// Weight of free and nearly free placements, where pods leave. V alone is best in fill, and in
/// churn of mixed small slices 5 points behind first-fit; weighing by size instead of its square,
/// or leaving V out, loses 5 to 18 points in churn.
inline constexpr double kHeadroomWeight = 0.4;
/// For each eighth of a card that has to come free for a placement first. A discount for each pod
/// that has to leave is alike on the five mixes and up to 3 points worse where many 4g and 2g meet.
inline constexpr double kHeadroomDiscount = 0.6;
/// Weight of the square of the eighths that are taken, where pods leave: nearly empty cards drain.
/// No comparison of it alone is on record.
inline constexpr double kDrainWeight = 0.06;

/// Millionths of a card: a sixth of an eighth. Costs of slice-value are rounded to it, so that
/// slices stack on the first of almost equal cards. 0.008 to 0.1 of an eighth differ by less than
/// 0.1 points, 0.8 of an eighth costs 0.5 on small slices.
inline constexpr std::int64_t kSliceCostStep = 21'000;

/// Points of slice-reuse for each slice to be created. With the weights of policies/tight.yaml as
/// much as 300 milli-GPU of slice-value. By hand.
inline constexpr std::int32_t kNewSlicePoints = 1'000;

/// Typical pods are the most frequent ones that make this part of all [FGD].
inline constexpr double kTypicalPart = 0.95;

}  // namespace snug::demand
