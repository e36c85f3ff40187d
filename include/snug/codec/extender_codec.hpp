// Reads and writes kube-scheduler's extender API, k8s.io/kube-scheduler/extender/v1: the bodies of
// filter, prioritize, preempt and bind. Keys are matched case-insensitively, as in Go, and written
// in their exact case. Errors: invalid JSON, a known key given twice, and both or neither of two
// alternative keys. Not thread-safe: one reader per thread.
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

namespace snug::codec {

/// ExtenderArgs, of filter and of prioritize.
struct ScheduleCall {
  model::PodFacts pod;
  bool has_node_objects = false;             // the call has `Nodes` instead of `NodeNames`
  std::vector<std::string_view> node_names;  // in the order of the body, without duplicates
  /// Nodes form: the node objects, which the reply repeats; objects[i] is the node names[i].
  std::vector<std::string> node_objects;
};

/// A node with the pods that kube-scheduler would evict there; possibly none. Does not own the
/// strings.
struct NodeVictims {
  std::string_view node;
  std::vector<std::string_view> uids;  // without duplicates
  std::int64_t pdb_violations = 0;
};

/// ExtenderPreemptionArgs. If the victims are whole pods, only their uids are read.
struct PreemptCall {
  model::PodFacts pod;
  std::vector<NodeVictims> candidates;  // in the order of the body
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
  explicit ExtenderReader(const base::Limits& limits);
  ~ExtenderReader();
  ExtenderReader(ExtenderReader&&) noexcept;
  ExtenderReader& operator=(ExtenderReader&&) noexcept;

  /// May add capacity to `body` for padding. The views in the result are valid until the next call
  /// of this reader.
  [[nodiscard]] base::Result<ScheduleCall> read_schedule(std::string& body);
  [[nodiscard]] base::Result<PreemptCall> read_preempt(std::string& body);
  [[nodiscard]] base::Result<BindCall> read_bind(std::string& body);
  /// Frees large buffers: parsing takes many times the size of a body. Invalidates the last result.
  void trim();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The result of filter: positions in ScheduleCall::node_names.
struct FilterResult {
  std::vector<std::size_t> feasible;
  /// (position, message) of nodes on which eviction could help (FailedNodes).
  std::vector<std::pair<std::size_t, std::string_view>> failed;
  std::vector<std::pair<std::size_t, std::string_view>> unresolvable;
};

/// ExtenderFilterResult, with nodes or names according to the form of the call.
[[nodiscard]] std::string write_filter(const ScheduleCall& call, const FilterResult& result);
/// The same for a filter that keeps all nodes of the call.
[[nodiscard]] std::string write_filter_all(const ScheduleCall& call);

struct HostPriority {
  std::string_view host;
  int score = 0;  // 0..10
};
/// HostPriorityList.
[[nodiscard]] std::string write_prioritize(std::span<const HostPriority> scores);
/// ExtenderPreemptionResult, for either form of the call. Omits nodes without victims, because
/// kube-scheduler treats them as an error.
[[nodiscard]] std::string write_preempt(std::span<const NodeVictims> victims);
/// ExtenderBindingResult; an empty error means success.
[[nodiscard]] std::string write_bind(std::string_view error);

enum class ReplyShape : std::uint8_t { kFilter, kPrioritize, kPreempt, kBind };
/// A reply with the message as `Error`. The result types of prioritize and preempt have no such
/// field; their replies are `{"Error":…}`.
[[nodiscard]] std::string write_error(ReplyShape shape, std::string_view sentence);

}  // namespace snug::codec
