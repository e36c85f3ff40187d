// The constants of the demand model that were chosen by experiment or by hand: all such numbers of
// the layers demand and score. Each comment states the unit, the formula, the source and the known
// effect. The weights of the score terms are in policies/tight.yaml; limits of memory and work are
// in base/limits.hpp.
//
// Sources:
//   [packing]  docs/explanation/packing.md. Values were compared on eight orders in which the pods
//              of openb (a public trace) arrive, and on the first seeds of
//              `packing_bench --regimes`. The table of regimes on that page is for seeds 11 and 12.
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
// departing and arriving: milli-GPU of the pods that leave, and of those that arrive. refused and
// judged include only pods that request one GPU, share or slice. refused: milli-GPU of the pods
// that count as refused (kOvertakersUntilRefused). judged: milli-GPU of the pods that count as
// refused or have been placed. All four are exponentially weighted moving averages over arrivals;
// the t-th arrival has the weight 1 / min(kRegimeWindow, t).

/// Unit: arrivals. The value has little effect [sim].
inline constexpr std::int64_t kRegimeWindow = 1'000;

/// The ratio departing / arriving at which churn reaches its maximum. The ratio is far below this
/// value in a cluster that fills up, and 1 in a cluster in balance, so the exact value has little
/// effect. The regime itself matters: on openb, churn fixed at 0 loses 5 points of accepted demand
/// in churn, and churn fixed at its maximum loses 2 points of allocation in fill [sim].
inline constexpr double kFullChurnRatio = 0.2;

/// The ratio refused / judged at which saturation reaches its maximum. Chosen by hand. With
/// saturation as a regime, Snug packs at least as well as FGD in CPU-heavy churn and at a load of
/// 1.1; without it, Snug packs worse than FGD there (`--regimes` [packing]).
inline constexpr double kFullSaturationRatio = 0.02;

/// A waiting pod counts as refused when this many pods that arrived later have been placed.
/// Therefore a burst of pods that are placed in order is not saturation. Chosen by hand [18].
inline constexpr int kOvertakersUntilRefused = 16;

/// Unit: levels of churn or saturation. Churn or saturation changes to another level when the exact
/// value differs from the current level by more than this. At 0.5, a value between two levels would
/// switch between them all the time; each switch makes `plan` evaluate all nodes anew. Chosen by
/// hand [18].
inline constexpr double kRegimeHysteresis = 0.75;

// The tables are built when the first pod has been counted, and then whenever the number of counted
// pods has doubled. Once kPodsBetweenBuilds pods have been counted, the tables are built after
// every further kPodsBetweenBuilds pods.

/// Unit: pods. A value of 512 gives the same packing but makes `plan` evaluate all nodes more often
/// [packing].
inline constexpr std::int64_t kPodsBetweenBuilds = 2'048;

// The prior: pods that are assumed before any pod has been seen. When n pods have been counted, its
// weight is max(0, 1 - n / kPriorFadesOver).

/// Unit: pods. With a prior of constant weight, GPUs of rare models stayed empty. This value,
/// together with a weight of 1,000 instead of 10,000 for model-scarcity in churn, improved
/// CPU-heavy churn from 0.4 points below FGD to 0.1 points above it (`--regimes --only CPU-heavy`
/// [packing]).
inline constexpr double kPriorFadesOver = 4'000;

struct PriorPod {
  std::int64_t gpus = 0;
  std::int64_t gpu_milli = 0;  // milli-GPU of each GPU
  double pods = 0;             // number of such pods
};

/// 20 pods, mostly with one GPU or less. They prevent the first pods from dominating the tables
/// [sim]. No other mix has been compared.
inline constexpr std::array<PriorPod, 6> kPriorPods{
    {{1, 250, 3}, {1, 500, 5}, {1, 1000, 9}, {2, 1000, 1}, {4, 1000, 1}, {8, 1000, 1}}};

/// For each of its GPUs, a prior pod requests the cluster's CPU and memory per GPU, divided by this
/// number. The rest remains for pods without GPUs. Chosen by hand.
inline constexpr std::int64_t kPriorHostDivisor = 2;

/// Unit: GPUs. The prior includes requests for this many GPUs that name a model, divided equally
/// between all models. Without these requests, the first pod that names a model would make this
/// model very scarce. The loss was 1.5 points of allocation when a cluster was filled in a
/// simulation [sim] with a trace in which a third of the pods name models.
inline constexpr double kPriorNamingGpus = 50;

/// The number of slices of each plain MIG profile that the prior includes. Chosen by hand.
inline constexpr double kPriorSlices = 1;

/// Unit: slices. When n slices have been requested, including those of the prior, prior(s) has the
/// weight max(0, 1 - d * n / kEnoughSlices) in the value of a card (src/demand/slice_value.hpp).
/// kOtherCardExponent defines d. The prior keeps slices of all profiles possible. If the prior ends
/// after 16 slices for any number of cards, Snug packs 2 cards 3 points worse than best-fit does
/// (`--mig --seeds 20 --cards 2` [packing]).
inline constexpr double kEnoughSlices = 20;

// Widths of the bins of StrandingTable. With kBins bins, a table distinguishes needs of up to 65
// cores or 520 GiB for each GPU.

/// Unit: thousandths of a core. Chosen by hand, because pods often request whole or half cores.
inline constexpr std::int64_t kCpuBinMilli = 250;
/// Unit: MiB. Chosen by hand.
inline constexpr std::int64_t kMemoryBinMib = 2'048;

// Headroom for multi-GPU pods (MultiGpuHeadroom). If D pods must end before a block of n GPUs is
// free, the block has the weight
//
//   (kBlockDiscount * min(n, kLargeBlock) / kLargeBlock * churn / kFullChurn) ^ D

/// A block's weight is multiplied by this once for each pod that must end. Values of 0.5 to 0.8
/// give the same results on openb, and worse ones where many pods request several GPUs. A formula
/// with the probability that D pods end before the next pod with several GPUs arrives gave no
/// better results than the formula above [sim] [packing].
inline constexpr double kBlockDiscount = 0.35;
/// Unit: GPUs. Blocks of fewer GPUs have less weight, because they often become free without help.
/// The lower weight gains 1.2 points for mixes with many pods of 2 and 4 GPUs (`--regimes`
/// [packing]). Typical nodes have eight GPUs.
inline constexpr std::int64_t kLargeBlock = 8;

/// The part of the GPU demand below which multi-GPU pods count as rare. If their part p is
/// smaller than this, their blocks have an additional weight of p / kCommonMultiGpuShare, so
/// that rare pods have little effect on the packing of shares. This weight improved mixes that
/// consist almost only of shares from 1.5 points below FGD to 0.6 points above it (`--regimes
/// --only shares` [packing]).
inline constexpr double kCommonMultiGpuShare = 0.05;

// The value of MIG cards. src/demand/slice_value.hpp has the formulas and explains their symbols
// P(s) and V(s). The constants were chosen from the results of `packing_bench --mig` on its five
// mixes of pods and on similar mixes [packing].

/// Defines d, the probability that a pod which does not fit on one card is placed on another card:
/// d = 1 - (cards + 1)^-kOtherCardExponent. It is 0.36 for one card and 0.98 for 500 cards. With d
/// = 0.98 for any number of cards, Snug packs 500 cards equally well, but packs 1 to 4 cards 2 to 3
/// points worse than best-fit does.
inline constexpr double kOtherCardExponent = 0.65;
/// The upper limit of d if pods leave. No other value has been compared.
inline constexpr double kMostOtherCardInChurn = 0.9;
/// The weight of the headroom P(s) in a card's value if pods leave. Without headroom, Snug packs
/// best in fill, but 5 points worse than first-fit in churn of mixed small slices. If P(s) has
/// size_p instead of size_p^2, or if the value has P(s) without V(s), Snug loses 5 to 18 points in
/// churn.
inline constexpr double kHeadroomWeight = 0.4;
/// The factor in P(s) for each eighth of a card that must become free before a placement is
/// possible. A factor for each pod that must leave is as good on the five mixes, and up to 3 points
/// worse if there are many 4g and many 2g slices.
inline constexpr double kHeadroomDiscount = 0.6;
/// The weight of the square of the taken eighths in a card's value if pods leave. It keeps new
/// slices away from nearly empty cards, so that these become empty. No other value has been
/// compared.
inline constexpr double kDrainWeight = 0.06;

/// Unit: millionths of a card. The score term slice-value rounds costs to multiples of this step,
/// which is about 0.17 eighths of a card. So slices go to the first of several cards with almost
/// equal costs. Steps of 0.008 to 0.1 eighths change the result by less than 0.1 points; a step of
/// 0.8 eighths costs 0.5 points for small slices.
inline constexpr std::int64_t kSliceCostStep = 21'000;

/// The points that the score term slice-reuse subtracts for each slice that must be created. With
/// the weights of policies/tight.yaml, they have the effect of 300 milli-GPU of cost in
/// slice-value. Chosen by hand.
inline constexpr std::int32_t kNewSlicePoints = 1'000;

/// Typical pods are the most frequent shapes that account for this part of all pods [FGD].
inline constexpr double kTypicalPart = 0.95;

}  // namespace snug::demand
