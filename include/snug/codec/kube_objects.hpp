// Reads pod and node objects and watch events of Kubernetes into PodFacts and NodeFacts. Unknown
// fields are ignored. A missing name and a known field of a wrong type are errors that name the
// field. An object in JSON and the same object in protobuf yield the same facts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "snug/base/enum_names.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/pod.hpp"

namespace snug::codec {

enum class WatchEventType : std::uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };

inline constexpr base::EnumNames kWatchKindNames{
    std::array{base::EnumName{WatchEventType::kAdded, "ADDED"},
               base::EnumName{WatchEventType::kModified, "MODIFIED"},
               base::EnumName{WatchEventType::kDeleted, "DELETED"},
               base::EnumName{WatchEventType::kBookmark, "BOOKMARK"},
               base::EnumName{WatchEventType::kError, "ERROR"}}};

/// The encoding of a watch stream: lines of JSON, or frames of protobuf (codec/proto_wire.hpp).
enum class WireFormat : std::uint8_t { kJson, kProtobuf };

/// An event of a watch stream. read_pod_event() sets `pod`, read_node_event() sets `node`; both
/// leave them empty in a bookmark and in an error.
struct WatchEvent {
  WatchEventType type = WatchEventType::kBookmark;
  model::PodFacts pod;
  model::NodeFacts node;
  std::string resource_version;  // the resourceVersion of the object or bookmark
  int error_code = 0;            // `code` of an error's Status; 410: resourceVersion expired
  std::string error_message;     // the Status's `message` in an error
};

/// Reuses its buffers between calls. Not thread-safe.
class KubeObjectReader {
 public:
  explicit KubeObjectReader(const base::Limits& limits);
  ~KubeObjectReader();
  KubeObjectReader(KubeObjectReader&&) noexcept;
  KubeObjectReader& operator=(KubeObjectReader&&) noexcept;

  [[nodiscard]] base::Result<model::PodFacts> read_pod(std::string_view json);
  [[nodiscard]] base::Result<model::NodeFacts> read_node(std::string_view json);
  /// `bytes` is a line of JSON, or a frame of protobuf without its length prefix.
  [[nodiscard]] base::Result<WatchEvent> read_pod_event(std::string_view bytes,
                                                        WireFormat format = WireFormat::kJson);
  [[nodiscard]] base::Result<WatchEvent> read_node_event(std::string_view json);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::codec
