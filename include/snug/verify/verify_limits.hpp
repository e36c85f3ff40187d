// The bounds of `snugctl verify` and snug-observe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::verify {

/// The kubelet keeps so much of what a container writes to its termination log.
inline constexpr std::size_t kMaxObservationBytes = 4'096;
/// Device nodes and bytes of a variable in an observation, so that it fits.
inline constexpr std::size_t kMaxSeenNodes = 24;
inline constexpr std::size_t kMaxSeenVariableBytes = 128;
inline constexpr std::size_t kMaxSeenProblemBytes = 256;
/// Memory is allocated in such steps, and so far beyond the share.
inline constexpr std::int64_t kAllocationStepMib = 64;
inline constexpr std::int64_t kBeyondShareMib = 256;
inline constexpr std::int64_t kLargestAllocationMib = 1'048'576;
/// How long snugctl may wait for the pods, and the time between two looks at them.
inline constexpr std::int64_t kMinVerifySeconds = 5;
inline constexpr std::int64_t kMaxVerifySeconds = 1'800;
inline constexpr std::int64_t kVerifyLookMs = 1'000;
/// A kubectl that runs so long while signals are delayed is killed: it may hang in a credential
/// plug-in.
inline constexpr std::int64_t kVerifyKubectlMs = 60'000;
/// The same for the kubectl that removes the pods, which Ctrl-C does not end.
inline constexpr std::int64_t kVerifyRemoveMs = 20'000;
/// So long after that time the kubelet ends pods that snugctl could not remove.
inline constexpr std::int64_t kLeftPodSeconds = 60;

}  // namespace snug::verify
