// Reads pods and nodes from lists, watch events and manifests into plain facts. Unknown fields are
// ignored; a missing name and a known field of a wrong type are errors that name the field. The
// same object in JSON and in protobuf yields the same facts. Not thread-safe: one reader per
// thread, which reuses its buffers.
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

/// The encoding of a watch: lines of JSON, or frames of protobuf (codec/proto_wire).
enum class WireFormat : std::uint8_t { kJson, kProtobuf };

/// One line or frame of a watch stream. The function that read it sets either `pod` or `node`.
struct WatchEvent {
  WatchEventType type = WatchEventType::kBookmark;
  model::PodFacts pod;
  model::NodeFacts node;
  std::string resource_version;  // of the object or bookmark
  int error_code = 0;            // kError: the Status' code (410: expired)
  std::string error_message;
};

class KubeObjectReader {
 public:
  explicit KubeObjectReader(const base::Limits& limits);
  ~KubeObjectReader();
  KubeObjectReader(KubeObjectReader&&) noexcept;
  KubeObjectReader& operator=(KubeObjectReader&&) noexcept;

  [[nodiscard]] base::Result<model::PodFacts> read_pod(std::string_view json);
  [[nodiscard]] base::Result<model::NodeFacts> read_node(std::string_view json);
  /// `bytes` is a line, or a frame without its length prefix.
  [[nodiscard]] base::Result<WatchEvent> read_pod_event(std::string_view bytes,
                                                        WireFormat format = WireFormat::kJson);
  [[nodiscard]] base::Result<WatchEvent> read_node_event(std::string_view json);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::codec
