#include "snug/codec/api_writes.hpp"

#include <gtest/gtest.h>

#include "support/kube_proto.hpp"

namespace snug::api_writes_test {
namespace {

TEST(KubeBindingProtoTest, ABindingIsWrittenAsTheApiServerReadsIt) {
  const std::vector<model::StringMap> rows = {
      {},
      {{"snug.dev/reservation", R"({"devices":[{"index":0}]})"}},
      {{"snug.dev/reservation", std::string(70'000, 'x')}, {"snug.dev/x", "\u00e4"}, {"y", ""}},
  };
  for (const model::StringMap& annotations : rows) {
    const model::Binding binding{.name_space = "ml",
                                 .pod = "train-0",
                                 .uid = "u-1",
                                 .node = "n1",
                                 .annotations = annotations};
    const nlohmann::json object{
        {"metadata",
         {{"name", "train-0"}, {"namespace", "ml"}, {"uid", "u-1"}, {"annotations", annotations}}},
        {"target", {{"kind", "Node"}, {"name", "n1"}, {"apiVersion", "v1"}}}};
    EXPECT_EQ(codec::write_binding(binding),
              proto::short_envelope("Binding", proto::Writer{}.message(object, "Binding")));
  }
}

}  // namespace
}  // namespace snug::api_writes_test
