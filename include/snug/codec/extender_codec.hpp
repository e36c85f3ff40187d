// kube-scheduler's wire: bodies of filter, prioritize, preempt and bind ↔ plain values
// (k8s.io/kube-scheduler/extender/v1). Keys are read in any letter case, as Go reads them, and
// written in their exact case. A known key given twice, both or neither of two alternative keys,
// and invalid JSON are errors. Not thread-safe: one reader per thread.
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
  bool nodes_form = false;              // the call has `Nodes`, not `NodeNames`
  std::vector<std::string_view> names;  // in the order of the body, without duplicates
  /// Nodes form: the node objects, to be sent back; objects[i] is named names[i].
  std::vector<std::string> objects;
};

/// A node with the pods that kube-scheduler would evict there, which may be none. The strings live
/// elsewhere.
struct NodeVictims {
  std::string_view node;
  std::vector<std::string_view> uids;  // without duplicates
  std::int64_t pdb_violations = 0;
};

/// ExtenderPreemptionArgs. In the form with whole pods, only their uids are read.
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

  /// `body` may grow by padding bytes. The views in the result point into this reader, and are
  /// valid until its next call.
  [[nodiscard]] Result<ScheduleCall> read_schedule(std::string& body);
  [[nodiscard]] Result<PreemptCall> read_preempt(std::string& body);
  [[nodiscard]] Result<BindCall> read_bind(std::string& body);
  /// Frees the memory that a large body took, many times its size. Invalidates the last result.
  void trim();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The result of filter: positions in ScheduleCall::names.
struct FilterAnswer {
  std::vector<std::size_t> kept;
  /// (position, message) of nodes on which eviction could help (FailedNodes).
  std::vector<std::pair<std::size_t, std::string_view>> failed;
  std::vector<std::pair<std::size_t, std::string_view>> failed_for_good;
};

/// ExtenderFilterResult, with nodes or names as the call had them.
[[nodiscard]] std::string write_filter(const ScheduleCall& call, const FilterAnswer& answer);
/// The same with all names or objects of the call kept.
[[nodiscard]] std::string write_filter_all(const ScheduleCall& call);

struct HostScore {
  std::string_view host;
  int score = 0;  // 0..10
};
/// HostPriorityList.
[[nodiscard]] std::string write_prioritize(std::span<const HostScore> scores);
/// ExtenderPreemptionResult, for either form of the call. Leaves out nodes without victims, which
/// kube-scheduler would treat as an error.
[[nodiscard]] std::string write_preempt(std::span<const NodeVictims> victims);
/// ExtenderBindingResult; empty error: success.
[[nodiscard]] std::string write_bind(std::string_view error);

enum class ReplyShape : std::uint8_t { kFilter, kPrioritize, kPreempt, kBind };
/// A reply of the verb with the sentence as `Error`. The replies of prioritize and preempt have no
/// such field: for them it is `{"Error":…}`.
[[nodiscard]] std::string write_error(ReplyShape shape, std::string_view sentence);

}  // namespace snug
