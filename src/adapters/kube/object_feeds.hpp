// The part of a ResourceStream that depends on the resource: parses each object and passes it to
// the sink. There are feeds for pods, for nodes and (kube_lease.cpp) for one Lease. Each belongs to
// one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/codec/kube_objects.hpp"
#include "snug/service/ports.hpp"

namespace snug::kube {

class ObjectFeed {
 public:
  virtual ~ObjectFeed() = default;
  [[nodiscard]] virtual std::string_view resource() const = 0;
  /// Path of the collection and its selectors; ends with `?` or `&`.
  [[nodiscard]] virtual std::string_view target() const = 0;
  /// The media types that event() can parse, the preferred one first.
  [[nodiscard]] virtual std::string_view watch_accept() const = 0;

  /// The first list is complete, or bytes of the watch have come. `version`: the resourceVersion up
  /// to which the resource is known; empty: not told.
  virtual void alive(std::string_view version) = 0;
  /// The watch has ended, or a list has failed before the first watch.
  virtual void lost() = 0;

  virtual void list_begins() = 0;
  [[nodiscard]] virtual base::Result<void> list_item(std::string_view json) = 0;
  virtual void list_ends() = 0;

  /// What one watch event says about the stream.
  struct Step {
    codec::WatchEventType kind = codec::WatchEventType::kBookmark;
    std::string resource_version;
    int error_code = 0;
    std::string error_message;
  };
  [[nodiscard]] virtual base::Result<Step> event(std::string_view bytes,
                                                 codec::WireFormat format) = 0;
};

[[nodiscard]] std::unique_ptr<ObjectFeed> make_pod_feed(const base::Limits& limits,
                                                        service::ClusterSink& sink);
[[nodiscard]] std::unique_ptr<ObjectFeed> make_node_feed(const base::Limits& limits,
                                                         service::ClusterSink& sink);

}  // namespace snug::kube
