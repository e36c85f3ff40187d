// Kubernetes objects → plain facts. The one reader of pods and nodes, in filter bodies, lists,
// watch events and manifests. Unknown fields are ignored; a known field of a wrong type is an error
// that names it; a missing name is an error. The same object gives the same facts in JSON and
// protobuf. Not thread-safe: one reader per thread. It keeps its buffers between calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/model/node.hpp"
#include "snug/model/pod.hpp"

namespace snug {

enum class WatchKind : std::uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };

/// The encoding of a watch: lines of JSON, or frames of protobuf (codec/proto_wire).
enum class WireFormat : std::uint8_t { kJson, kProtobuf };

/// One line or frame of a watch stream. `pod` or `node` is set, by the function that read it.
struct WatchEvent {
  WatchKind kind = WatchKind::kBookmark;
  PodFacts pod;
  NodeFacts node;
  std::string resource_version;  // of the object or bookmark
  int error_code = 0;            // kError: the Status' code (410: expired)
  std::string error_message;
};

class KubeObjectReader {
 public:
  explicit KubeObjectReader(const Limits& limits);
  ~KubeObjectReader();
  KubeObjectReader(KubeObjectReader&&) noexcept;
  KubeObjectReader& operator=(KubeObjectReader&&) noexcept;

  [[nodiscard]] Result<PodFacts> read_pod(std::string_view json);
  [[nodiscard]] Result<NodeFacts> read_node(std::string_view json);
  /// `bytes`: a line, or a frame without its length.
  [[nodiscard]] Result<WatchEvent> read_pod_event(std::string_view bytes,
                                                  WireFormat format = WireFormat::kJson);
  [[nodiscard]] Result<WatchEvent> read_node_event(std::string_view json);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug
