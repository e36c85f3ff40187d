#include "adapters/kube/binding_text.hpp"

#include <gtest/gtest.h>

#include "snug/codec/proto_wire.hpp"
#include "support/kube_proto.hpp"

namespace snug {
namespace {

/// An envelope as short as it may be: Go writes the empty fields too.
std::string short_envelope(const std::string& kind, std::string_view raw) {
  return std::string(kEnvelopeMark) +
         proto::bytes_field(1, proto::bytes_field(1, "v1") + proto::bytes_field(2, kind)) +
         proto::bytes_field(2, raw);
}

TEST(KubeBindingTextTest, ABindingIsWrittenAsTheApiServerReadsIt) {
  const std::vector<StringMap> rows = {
      {},
      {{"snug.dev/reservation", R"({"devices":[{"index":0}]})"}},
      {{"snug.dev/reservation", std::string(70'000, 'x')}, {"snug.dev/x", "\u00e4"}, {"y", ""}},
  };
  for (const StringMap& annotations : rows) {
    const Binding binding{.name_space = "ml",
                          .pod = "train-0",
                          .uid = "u-1",
                          .node = "n1",
                          .annotations = annotations};
    const nlohmann::json object{
        {"metadata",
         {{"name", "train-0"}, {"namespace", "ml"}, {"uid", "u-1"}, {"annotations", annotations}}},
        {"target", {{"kind", "Node"}, {"name", "n1"}, {"apiVersion", "v1"}}}};
    EXPECT_EQ(binding_proto(binding),
              short_envelope("Binding", proto::Writer{}.message(object, "Binding")));
  }
}

}  // namespace
}  // namespace snug
