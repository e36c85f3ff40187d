// kube-scheduler's wire: bodies of filter, prioritize, preempt and bind ↔ plain values
// (k8s.io/kube-scheduler/extender/v1). Keys are read in any letter case and written in the exact
// one. A key that is read given twice, both or neither of two forms, and anything that is no valid
// JSON is an error. Not thread-safe: one reader per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/model/pod.hpp"

namespace snug {

/// ExtenderArgs, of filter and of prioritize.
struct ScheduleCall {
  PodFacts pod;
  bool nodes_form = false;              // `Nodes` came, not `NodeNames`
  std::vector<std::string_view> names;  // in the order of the body, each once
  /// Nodes form: the objects, to be echoed; names[i] is objects[i].
  std::vector<std::string> objects;
};

/// A node that kube-scheduler would evict pods on, or where it evicted none. Views live elsewhere.
struct NodeVictims {
  std::string_view node;
  std::vector<std::string_view> uids;  // each once
  std::int64_t pdb_violations = 0;
};

/// ExtenderPreemptionArgs. Of the form with whole pods their uids are read, and nothing else.
struct PreemptCall {
  PodFacts pod;
  std::vector<NodeVictims> offers;  // in the order of the body
};

/// ExtenderBindingArgs.
struct BindCall {
  std::string pod;
  std::string name_space;
  std::string uid;
  std::string node;
};

class ExtenderReader {
 public:
  explicit ExtenderReader(const Limits& limits);
  ~ExtenderReader();
  ExtenderReader(ExtenderReader&&) noexcept;
  ExtenderReader& operator=(ExtenderReader&&) noexcept;

  /// `body` may grow by padding bytes; the views in the call point into this reader and die at its
  /// next call.
  [[nodiscard]] Result<ScheduleCall> read_schedule(std::string& body);
  [[nodiscard]] Result<PreemptCall> read_preempt(std::string& body);
  [[nodiscard]] Result<BindCall> read_bind(std::string& body);
  /// Gives back what a large body took, many times its size; a call that was read dies.
  void trim();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What filter answers: positions in ScheduleCall::names.
struct FilterAnswer {
  std::vector<std::size_t> kept;
  /// (position, message); resolvable: eviction could help (FailedNodes).
  std::vector<std::pair<std::size_t, std::string_view>> failed;
  std::vector<std::pair<std::size_t, std::string_view>> failed_for_good;
};

/// ExtenderFilterResult in the form that the call came in.
[[nodiscard]] std::string write_filter(const ScheduleCall& call, const FilterAnswer& answer);
/// All names or objects of the call.
[[nodiscard]] std::string write_filter_all(const ScheduleCall& call);

struct HostScore {
  std::string_view host;
  int score = 0;  // 0..10
};
/// HostPriorityList.
[[nodiscard]] std::string write_prioritize(std::span<const HostScore> scores);
/// ExtenderPreemptionResult, for either form of the call. A node with nobody to evict is left out:
/// kube-scheduler takes it for an error.
[[nodiscard]] std::string write_preempt(std::span<const NodeVictims> victims);
/// ExtenderBindingResult; empty error: success.
[[nodiscard]] std::string write_bind(std::string_view error);

enum class ReplyShape : std::uint8_t { kFilter, kPrioritize, kPreempt, kBind };
/// A body of the verb's shape whose `Error` is the sentence (prioritize and preempt, which have
/// none:
/// `{"Error":…}`).
[[nodiscard]] std::string write_error(ReplyShape shape, std::string_view sentence);

}  // namespace snug
