// The part of a ResourceStream that depends on the resource: an ObjectFeed parses each object and
// passes it to the sink. There are feeds for pods, for nodes, in kube_lease.cpp for one Lease, and
// in kube_heartbeats.cpp for the Leases of agents. A feed is used by one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/codec/kube_objects.hpp"
#include "snug/codec/lease_codec.hpp"
#include "snug/service/ports.hpp"

namespace snug::kube {

class ObjectFeed {
 public:
  virtual ~ObjectFeed() = default;
  [[nodiscard]] virtual service::WatchedResource resource() const = 0;
  /// The beginning of a list's URL: the path and the selectors. It ends with `?` or `&`.
  [[nodiscard]] virtual std::string_view target() const = 0;
  /// The Accept header of a watch: the media types that event() can parse, the preferred one first.
  [[nodiscard]] virtual std::string_view watch_accept() const = 0;

  /// Whether each failed list or watch is logged as a warning. If not, only one that differs from
  /// the last failure before the stream worked again.
  [[nodiscard]] virtual bool logs_each_failure() const { return true; }

  /// Called when the first list is complete, when bytes of a watch arrive, and when the server ends
  /// a watch without an error. `resource_version` is the resourceVersion of the list or watch event
  /// that has just been applied; empty if nothing has been applied.
  virtual void alive(std::string_view resource_version) = 0;
  /// Called when no watch is running: after each failure before the first complete list, after that
  /// list, and after each watch.
  virtual void lost() = 0;

  /// Called before a list is requested.
  virtual void list_begins() = 0;
  [[nodiscard]] virtual base::Result<void> list_item(std::string_view object_json) = 0;
  /// Called when all items of a list have been read. Passes them to the sink.
  virtual void list_ends() = 0;

  /// The parts of a watch event that ResourceStream needs.
  struct Step {
    codec::WatchEventType kind = codec::WatchEventType::kBookmark;
    std::string resource_version;
    int error_code = 0;
    std::string error_message;
  };
  [[nodiscard]] virtual base::Result<Step> event(std::string_view event_bytes,
                                                 codec::WireFormat wire_format) = 0;
};

/// What ResourceStream needs of an event of a watch of Leases.
[[nodiscard]] ObjectFeed::Step step_of(const codec::LeaseEvent& lease_event);

[[nodiscard]] std::unique_ptr<ObjectFeed> make_pod_feed(const base::Limits& limits,
                                                        service::ClusterSink& cluster_sink);
[[nodiscard]] std::unique_ptr<ObjectFeed> make_node_feed(const base::Limits& limits,
                                                         service::ClusterSink& cluster_sink);

}  // namespace snug::kube
