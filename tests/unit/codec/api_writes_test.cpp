#include "snug/codec/api_writes.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

TEST(EventTest, TheObjectTheTypeAndTheNamespaceAreThoseOfTheNotice) {
  struct Row {
    model::Notice notice;
    std::string_view name_space;  // of the event
    std::string_view regarding;
    std::string_view type;
  };
  const Row rows[] = {
      {{"ml", "p", "u", "GpuRefused", "why"},
       "ml",
       R"({"apiVersion":"v1","kind":"Pod","name":"p","namespace":"ml","uid":"u"})",
       "Warning"},
      {{"ml", "p", "u", "GpuAssigned", "what", model::ObjectKind::kPod, model::EventType::kNormal},
       "ml",
       R"({"apiVersion":"v1","kind":"Pod","name":"p","namespace":"ml","uid":"u"})",
       "Normal"},
      {{"", "n1", "n1", "GpuInventoryUnusable", "why", model::ObjectKind::kNode},
       "default",
       R"({"apiVersion":"v1","kind":"Node","name":"n1","uid":"n1"})",
       "Warning"},
      {{"kube-system", "l", "", "X", "why", model::ObjectKind::kLease},
       "kube-system",
       R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","name":"l",)"
       R"("namespace":"kube-system","uid":""})",
       "Warning"},
  };
  for (const Row& row : rows) {
    const auto event = nlohmann::json::parse(
        codec::write_event(row.notice, {.host = "h", .number = 1, .time = {}}));
    EXPECT_EQ(event["metadata"]["namespace"], row.name_space);
    EXPECT_EQ(event["regarding"], nlohmann::json::parse(row.regarding));
    EXPECT_EQ(event["type"], row.type);
    EXPECT_EQ(event["reason"], row.notice.reason);
    EXPECT_EQ(event["note"], row.notice.note);
  }
}

}  // namespace
}  // namespace snug::api_writes_test
