// Frames of a protobuf watch, pods and Statuses in protobuf. The result does not depend on what the
// reader has read before, nor on unknown fields.
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/codec/kube_objects.hpp"
#include "snug/codec/object_names.hpp"
#include "snug/codec/proto_wire.hpp"
#include "support/kube_proto.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

using Event = base::Result<codec::WatchEvent>;

Event read(std::string_view frame) {
  static codec::KubeObjectReader reader{base::Limits{}};
  return reader.read_pod_event(frame, codec::WireFormat::kProtobuf);
}

void require_same(const Event& one, const Event& other, std::string_view what) {
  require(one.has_value() == other.has_value(), what);
  if (!one) return require(one.error().message == other.error().message, what);
  require(one->type == other->type && one->pod == other->pod &&
              one->resource_version == other->resource_version &&
              one->error_code == other->error_code && one->error_message == other->error_message,
          what);
}

}  // namespace

void take_input(std::string_view input) {
  const Event event = read(input);
  codec::KubeObjectReader fresh{base::Limits{}};
  require_same(event, fresh.read_pod_event(input, codec::WireFormat::kProtobuf),
               "a fresh reader reads the same");
  require(event || !event.error().message.empty(), "an error has a message");
  const codec::ObjectNames names = codec::proto_object_names(input);
  require(names.name.size() + names.name_space.size() <= input.size(),
          "the names are in the input");
  require(codec::proto_status_message(input).size() <= input.size(), "the message is in the input");
  require(!codec::name_unreadable(input, codec::WireFormat::kProtobuf).empty(), "name_unreadable");
  if (event && codec::kWatchKindNames[event->type] != "ERROR") {
    require(codec::is_proto_event(input) || event->pod.name.empty(), "a pod came in an envelope");
  }
  // The same bytes as a pod, with a field before it that Kubernetes does not have.
  const std::string pod(input);
  const std::string more = proto::bytes_field(200, "unknown") + proto::number_field(201, -1) + pod;
  require_same(read(proto::event_of("ADDED", proto::envelope("Pod", pod))),
               read(proto::event_of("ADDED", proto::envelope("Pod", more))),
               "an unknown field changes nothing");
}

}  // namespace snug::fuzz
