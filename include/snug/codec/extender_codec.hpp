// Reads and writes the bodies of kube-scheduler's extender calls filter, prioritize, preempt and
// bind (k8s.io/kube-scheduler/extender/v1). The reader matches the keys of this API in any letter
// case, as Go does. It refuses invalid JSON, duplicates of a known key, and a body that has both or
// neither of two alternative keys. An ExtenderReader is not thread-safe.
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

/// The body of filter and of prioritize (ExtenderArgs).
struct ScheduleCall {
  model::PodFacts pod;
  bool has_node_objects = false;             // the body has `Nodes` instead of `NodeNames`
  std::vector<std::string_view> node_names;  // in the order of the body, without duplicates
  /// The JSON objects of the nodes, which the reply of filter contains. node_objects[i] is the node
  /// node_names[i]. Empty if the body has `NodeNames`.
  std::vector<std::string> node_objects;
};

/// A node and the pods, possibly none, that kube-scheduler would evict there. Does not own the
/// strings.
struct NodeVictims {
  std::string_view node;
  std::vector<std::string_view> uids;  // without duplicates
  std::int64_t pdb_violations = 0;
};

/// The body of preempt (ExtenderPreemptionArgs). The reader takes only the uid of a victim, even if
/// the body has the complete pod.
struct PreemptCall {
  model::PodFacts pod;
  std::vector<NodeVictims> candidates;  // in the order of the body
};

/// The body of bind (ExtenderBindingArgs).
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

  /// Reads the body of filter or prioritize. The three read functions may increase the capacity of
  /// `body` because simdjson needs padding. Views in a result are valid until the next call of this
  /// reader.
  [[nodiscard]] base::Result<ScheduleCall> read_schedule(std::string& body);
  [[nodiscard]] base::Result<PreemptCall> read_preempt(std::string& body);
  [[nodiscard]] base::Result<BindCall> read_bind(std::string& body);
  /// Frees large buffers, which take several times the size of a body. Invalidates all views in
  /// results.
  void trim();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The result of filter. Nodes are given by their positions in ScheduleCall::node_names.
struct FilterResult {
  std::vector<std::size_t> feasible;
  /// The positions and messages of the nodes where evicting pods could help. They become
  /// FailedNodes in the reply.
  std::vector<std::pair<std::size_t, std::string_view>> failed;
  /// The positions and messages of the nodes where evicting pods cannot help. They become
  /// FailedAndUnresolvableNodes in the reply.
  std::vector<std::pair<std::size_t, std::string_view>> unresolvable;
};

/// Writes the reply of filter (ExtenderFilterResult). It has `Nodes` or `NodeNames`, whichever the
/// body of the call has.
[[nodiscard]] std::string write_filter(const ScheduleCall& call, const FilterResult& result);
/// Writes the reply of filter if all nodes of the call are feasible.
[[nodiscard]] std::string write_filter_all(const ScheduleCall& call);

struct HostPriority {
  std::string_view host;
  int score = 0;  // 0..10
};
/// Writes the reply of prioritize (HostPriorityList).
[[nodiscard]] std::string write_prioritize(std::span<const HostPriority> scores);
/// Writes the reply of preempt (ExtenderPreemptionResult). Omits nodes without victims, because
/// kube-scheduler treats such a node as an error.
[[nodiscard]] std::string write_preempt(std::span<const NodeVictims> victims);
/// Writes the reply of bind (ExtenderBindingResult). An empty `error` means success.
[[nodiscard]] std::string write_bind(std::string_view error);

enum class ReplyShape : std::uint8_t { kFilter, kPrioritize, kPreempt, kBind };
/// Writes the reply of a failed call: a JSON object whose field `Error` is `sentence`. The reply of
/// filter also has the other fields of ExtenderFilterResult, as null.
[[nodiscard]] std::string write_error(ReplyShape shape, std::string_view sentence);

}  // namespace snug::codec
