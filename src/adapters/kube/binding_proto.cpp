#include "adapters/kube/binding_proto.hpp"

#include <protozero/pbf_writer.hpp>

#include "snug/codec/proto_wire.hpp"

namespace snug::kube {
namespace {

// Field numbers are those in Kubernetes' generated.proto files.

std::string metadata(const service::Binding& binding) {
  std::string bytes;
  protozero::pbf_writer writer{bytes};
  writer.add_string(1, binding.pod);
  writer.add_string(3, binding.name_space);
  writer.add_string(5, binding.uid);
  for (const auto& [key, value] : binding.annotations) {
    protozero::pbf_writer entry{writer, 12};
    entry.add_string(1, key);
    entry.add_string(2, value);
  }
  return bytes;
}

std::string target(const service::Binding& binding) {
  std::string bytes;
  protozero::pbf_writer writer{bytes};
  writer.add_string(1, "Node");
  writer.add_string(3, binding.node);
  writer.add_string(5, "v1");
  return bytes;
}

}  // namespace

std::string binding_proto(const service::Binding& binding) {
  std::string bytes{codec::kEnvelopeMark};
  protozero::pbf_writer unknown{bytes};
  {
    protozero::pbf_writer type{unknown, 1};
    type.add_string(1, "v1");
    type.add_string(2, "Binding");
  }
  protozero::pbf_writer object{unknown, 2};
  object.add_message(1, metadata(binding));
  object.add_message(2, target(binding));
  object.commit();
  return bytes;
}

}  // namespace snug::kube
