// The constants of the demand model that were chosen by experiment or by hand: all such numbers of
// the layers demand and score. Each comment states the unit, the formula, the source and the known
// effect. The weights of the score terms are in policies/tight.yaml; limits of memory and work are
// in base/limits.hpp.
//
// Sources:
//   [packing]  docs/packing.md. Values were compared on the eight orders of openb (a public trace
//              of GPU pods) and on the first seeds of `packing_bench --regimes`. The tables on
//              that page are for seeds 11 and 12.
//   [18]       docs/decisions/0018.
//   [FGD]      Weng et al., "Beware of Fragmentation", USENIX ATC 2023.
//   [sim]      An independent simulator that replayed openb by the protocol of FGD.
//   by hand    The value was chosen without an experiment that compared values.
//
// "Points" are percentage points of allocated GPU capacity, or of accepted demand in churn. "Fill"
// is a cluster that no pod leaves; "churn" is one that pods leave.
#pragma once

#include <array>
#include <cstdint>

namespace snug::demand {

// The regime.
//
//   churn      = kFullChurn      * min(1, (departing / arriving) / kFullChurnRatio)
//   saturation = kFullSaturation * min(1, (refused / judged) / kFullSaturationRatio)
//
// departing and arriving: milli-GPU of the pods that leave, and of those that arrive. refused:
// milli-GPU of the pods with one GPU, share or slice that count as refused
// (kOvertakersUntilRefused). judged: milli-GPU of these pods and of the placed ones. All four are
// exponentially weighted moving averages over arrivals; the t-th arrival has the weight 1 /
// min(kRegimeWindow, t).

/// Unit: arrivals. The value has little effect [sim].
inline constexpr std::int64_t kRegimeWindow = 1'000;

/// The ratio departing / arriving at which churn reaches its maximum. The ratio is far below this
/// value in a cluster that fills up, and 1 in a cluster in balance, so the exact value has little
/// effect. The regime itself matters: on openb, churn fixed at 0 loses 5 points of accepted demand
/// in churn, and churn fixed at its maximum loses 2 points of allocation in fill [sim].
inline constexpr double kFullChurnRatio = 0.2;

/// The ratio refused / judged at which saturation reaches its maximum. The value is by hand. With
/// saturation as a regime, Snug packs CPU-heavy churn and a load of 1.1 at least as well as FGD,
/// and without it worse (`--regimes` [packing]).
inline constexpr double kFullSaturationRatio = 0.02;

/// A waiting pod counts as refused when this many pods that arrived later have been placed.
/// Therefore a burst of pods that are placed in order is not saturation. By hand [18].
inline constexpr int kOvertakersUntilRefused = 16;

/// Unit: levels of churn or saturation. Churn or saturation changes to another level when the exact
/// value differs from the current level by more than this. At 0.5, a value between two levels would
/// switch between them all the time; each switch makes `plan` evaluate all nodes anew. By hand
/// [18].
inline constexpr double kRegimeHysteresis = 0.75;

// The tables are built at the first pod, then whenever the number of counted pods has doubled, and
// above kPodsBetweenBuilds pods after every kPodsBetweenBuilds pods.

/// Unit: pods. A value of 512 gives the same packing but makes `plan` evaluate all nodes more often
/// [packing].
inline constexpr std::int64_t kPodsBetweenBuilds = 2'048;

// The prior: pods that are assumed before any pod has been seen. When n pods have been counted, its
// weight is max(0, 1 - n / kPriorFadesOver).

/// Unit: pods. With a prior of constant weight, GPUs of rare models stayed empty. This value, and a
/// weight of 1,000 instead of 10,000 for model-scarcity, improved CPU-heavy churn from 0.4 points
/// below FGD to 0.1 points above it (`--regimes --only CPU-heavy` [packing]).
inline constexpr double kPriorFadesOver = 4'000;

struct PriorPod {
  std::int64_t gpus = 0;
  std::int64_t gpu_milli = 0;  // milli-GPU of each GPU
  double pods = 0;             // number of such pods
};

/// 20 pods, mostly with one GPU or less. They keep the first pods that are seen from dominating the
/// tables [sim]. No other mix has been compared.
inline constexpr std::array<PriorPod, 6> kPriorPods{
    {{1, 250, 3}, {1, 500, 5}, {1, 1000, 9}, {2, 1000, 1}, {4, 1000, 1}, {8, 1000, 1}}};

/// A prior pod requests its GPUs' part of the cluster's CPU and memory, divided by this number. So
/// part of the CPU and memory remains for pods without GPUs. By hand.
inline constexpr std::int64_t kPriorHostDivisor = 2;

/// Unit: GPUs. The prior includes demand for this many GPUs that names a model, divided equally
/// between all models. Without it, the first pod that names a model would make this model very
/// scarce; a trace in which a third of the pods name models lost 1.5 points of allocation in fill
/// [sim].
inline constexpr double kPriorNamingGpus = 50;

/// The number of slices of each plain MIG profile that the prior includes. By hand.
inline constexpr double kPriorSlices = 1;

/// Unit: slices. When s slices have been requested, the prior of a card's value has the weight
/// max(0, 1 - d * s / kEnoughSlices), with d as at kOtherCardExponent. The prior keeps slices of
/// all profiles possible. A prior that ends after 16 slices for any number of cards is 3 points
/// below best-fit on 2 cards (`--mig --cards 4` [packing]).
inline constexpr double kEnoughSlices = 20;

// Widths of the bins of StrandingTable. With kBins bins, a table distinguishes needs of up to 65
// cores and 520 GiB for each GPU.

/// Unit: thousandths of a core. By hand; pods often request whole or half cores.
inline constexpr std::int64_t kCpuBinMilli = 250;
/// Unit: MiB. By hand.
inline constexpr std::int64_t kMemoryBinMib = 2'048;

// Headroom for multi-GPU pods (MultiGpuHeadroom). If D pods must leave before a block of n GPUs is
// free, the block has the weight
//
//   (kBlockDiscount * min(n, kLargeBlock) / kLargeBlock * churn / kFullChurn) ^ D

/// The factor for each pod that must leave. Values of 0.5 to 0.8 give the same results on openb,
/// and worse ones where many pods request several GPUs. A formula with the probability that D pods
/// leave before the next such pod arrives gave no better results than this power [sim] [packing].
inline constexpr double kBlockDiscount = 0.35;
/// Unit: GPUs. Smaller blocks have less weight, because they often become free without help. This
/// gains 1.2 points for mixes with many pods of 2 and 4 GPUs (`--regimes` [packing]). Typical nodes
/// have eight.
inline constexpr std::int64_t kLargeBlock = 8;

/// A part of the GPU demand. If multi-GPU pods are a smaller part p of it, their blocks have an
/// additional weight of p / kCommonMultiGpuShare, so that rare pods have little effect on the
/// packing of shares. This improved mixes with almost only shares from 1.5 points below FGD to 0.6
/// points above it
/// (`--regimes --only shares` [packing]).
inline constexpr double kCommonMultiGpuShare = 0.05;

// The value of MIG cards; the formulas are in src/demand/slice_value.hpp. Values were compared by
// `packing_bench --mig` on its five mixes and similar ones [packing].

/// Defines d, the probability that a pod which does not fit on a card is placed on another one, as
/// d = 1 - (cards + 1)^-kOtherCardExponent. It is 0.36 for one card and 0.98 for 500. With 0.98 for
/// any number of cards, 500 cards are packed as well, but 1 to 4 cards are packed 2 to 3 points
/// worse.
inline constexpr double kOtherCardExponent = 0.65;
/// The upper limit of d if pods leave. No other value has been compared.
inline constexpr double kMostOtherCardInChurn = 0.9;
/// The weight of P, the headroom, in a card's value if pods leave. Without headroom, the value
/// packs best in fill, but in churn of mixed small slices it is 5 points below first-fit. Headroom
/// weighted by size instead of the square of the size, or headroom without V, loses 5 to 18 points
/// in churn.
inline constexpr double kHeadroomWeight = 0.4;
/// The factor in P for each eighth of a card that must become free before a placement is possible.
/// A factor for each pod that must leave is as good on the five mixes, and up to 3 points worse if
/// there are many 4g and many 2g slices.
inline constexpr double kHeadroomDiscount = 0.6;
/// The weight of the square of the taken eighths in a card's value if pods leave. It keeps new
/// slices away from nearly empty cards, so that these become empty. No other value has been
/// compared.
inline constexpr double kDrainWeight = 0.06;

/// Unit: millionths of a card. The costs in the score term slice-value are rounded to multiples of
/// this sixth of an eighth, so that slices go to the first of almost equal cards. Steps of 0.008 to
/// 0.1 of an eighth change the result by less than 0.1 points; 0.8 of an eighth costs 0.5 points
/// for small slices.
inline constexpr std::int64_t kSliceCostStep = 21'000;

/// The points that the score term slice-reuse subtracts for each slice that must be created. With
/// the weights of policies/tight.yaml, they equal 300 milli-GPU of slice-value. By hand.
inline constexpr std::int32_t kNewSlicePoints = 1'000;

/// Typical pods are the most frequent shapes that account for this part of all pods [FGD].
inline constexpr double kTypicalPart = 0.95;

}  // namespace snug::demand
