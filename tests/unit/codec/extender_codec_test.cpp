// kube-scheduler's bodies, as it writes them and as it must never get them past us.
#include "snug/codec/extender_codec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace snug::extender_codec_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kPod = R"({"metadata":{"name":"p","namespace":"d","uid":"u"}})";

std::string with_pod(std::string_view rest) {
  return R"({"Pod":)" + std::string{kPod} + std::string{rest} + "}";
}

std::string with_nodes(std::string_view items) {
  return with_pod(R"(,"Nodes":{"metadata":{},"items":)" + std::string{items} +
                  R"(},"NodeNames":null)");
}

TEST(ExtenderCodecTest, TheNamesFormIsReadInItsOrder) {
  codec::ExtenderReader reader{base::Limits{}};
  std::string body = with_pod(R"(,"Nodes":null,"NodeNames":["n2","n1","n3"])");
  const auto call = reader.read_schedule(body);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->pod.name, "p");
  EXPECT_EQ(call->pod.uid, "u");
  EXPECT_FALSE(call->has_node_objects);
  EXPECT_THAT(call->node_names, ElementsAre("n2", "n1", "n3"));
  EXPECT_TRUE(call->node_objects.empty());
}

TEST(ExtenderCodecTest, TheNodesFormIsReadWithItsObjects) {
  codec::ExtenderReader reader{base::Limits{}};
  const std::string first = R"({"metadata":{"name":"n1","labels":{"a":"\"é\n"}},"x":[1,2.5,null]})";
  const std::string second = R"({"kind":"Node","metadata":{"name":"n2"}})";
  std::string body = with_nodes("[" + first + "," + second + "]");
  const auto call = reader.read_schedule(body);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_TRUE(call->has_node_objects);
  EXPECT_THAT(call->node_names, ElementsAre("n1", "n2"));
  ASSERT_EQ(call->node_objects.size(), 2U);
  EXPECT_EQ(json::parse(call->node_objects[0]), json::parse(first));
  EXPECT_EQ(json::parse(call->node_objects[1]), json::parse(second));
}

TEST(ExtenderCodecTest, KeysAreReadInAnyLetterCase) {
  codec::ExtenderReader reader{base::Limits{}};
  for (const std::string keys : {"pod nodenames", "POD NODENAMES", "pOd nOdEnAmEs"}) {
    const auto space = keys.find(' ');
    std::string body = R"({")" + keys.substr(0, space) + R"(":)" + std::string{kPod} + R"(,")" +
                       keys.substr(space + 1) + R"(":["n"]})";
    const auto call = reader.read_schedule(body);
    ASSERT_TRUE(call) << keys << call.error().message;
    EXPECT_THAT(call->node_names, ElementsAre("n"));
  }
}

TEST(ExtenderCodecTest, ARepeatedNameIsKeptOnceAtItsFirstPlace) {
  codec::ExtenderReader reader{base::Limits{}};
  std::string names = with_pod(R"(,"NodeNames":["b","a","b","c","a","b"])");
  const auto by_names = reader.read_schedule(names);
  ASSERT_TRUE(by_names) << by_names.error().message;
  EXPECT_THAT(by_names->node_names, ElementsAre("b", "a", "c"));
  std::string nodes = with_nodes(
      R"([{"metadata":{"name":"b"},"x":1},{"metadata":{"name":"b"},"x":2},{"metadata":{"name":"a"}}])");
  const auto by_nodes = reader.read_schedule(nodes);
  ASSERT_TRUE(by_nodes) << by_nodes.error().message;
  EXPECT_THAT(by_nodes->node_names, ElementsAre("b", "a"));
  EXPECT_THAT(by_nodes->node_objects,
              ElementsAre(R"({"metadata":{"name":"b"},"x":1})", R"({"metadata":{"name":"a"}})"));
}

TEST(ExtenderCodecTest, ManyDistinctNamesAreAllKept) {
  codec::ExtenderReader reader{base::Limits{}};
  std::string body = R"(,"NodeNames":[)";
  for (int i = 0; i < 20'000; ++i) {
    body += (i == 0 ? "\"node-" : ",\"node-") + std::to_string(i) + '"';
  }
  body = with_pod(body + "]");
  const auto call = reader.read_schedule(body);
  ASSERT_TRUE(call) << call.error().message;
  ASSERT_EQ(call->node_names.size(), 20'000U);
  EXPECT_EQ(call->node_names[19'999], "node-19999");
}

TEST(ExtenderCodecTest, AnEmptyListOfNodesIsACallAboutNoNode) {
  codec::ExtenderReader reader{base::Limits{}};
  for (std::string body : {with_pod(R"(,"NodeNames":[])"), with_nodes("[]"), with_nodes("null")}) {
    const auto call = reader.read_schedule(body);
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_TRUE(call->node_names.empty());
  }
}

TEST(ExtenderCodecTest, ABadScheduleBodyIsRefused) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "the JSON text is empty"},
      {"null", "the body must be an object, not null"},
      {"[]", "the body must be an object, not an array"},
      {R"({"NodeNames":[]})", "Pod is missing or null; it must be an object"},
      {R"({"Pod":null,"NodeNames":[]})", "Pod is missing or null; it must be an object"},
      {R"({"Pod":"p","NodeNames":[]})", "Pod must be an object, not a string"},
      {R"({"Pod":{"metadata":{"name":"p"}},"NodeNames":[]})", "Pod.metadata has no namespace"},
      {with_pod(""), "neither of Nodes and NodeNames came; there must be one"},
      {with_pod(R"(,"Nodes":null,"NodeNames":null)"),
       "neither of Nodes and NodeNames came; there must be one"},
      {with_pod(R"(,"Nodes":{"items":[]},"NodeNames":[])"),
       "both of Nodes and NodeNames came; there must be one"},
      {with_pod(R"(,"NodeNames":[],"NodeNames":[])"), "the body's NodeNames is given twice"},
      {with_pod(R"(,"NodeNames":null,"nodenames":["n"])"), "the body's NodeNames is given twice"},
      {with_pod(R"(,"nodes":null,"NODES":null,"NodeNames":[])"), "the body's Nodes is given twice"},
      {with_pod(R"(,"NodeNames":[],"pod":null)"), "the body's Pod is given twice"},
      {with_pod(R"(,"NodeNames":{})"), "NodeNames must be an array"},
      {with_pod(R"(,"NodeNames":["a",7])"), "NodeNames[1] must be a string that is not empty"},
      {with_pod(R"(,"NodeNames":["a",""])"), "NodeNames[1] must be a string that is not empty"},
      {with_pod(R"(,"NodeNames":[null])"), "NodeNames[0] must be a string that is not empty"},
      {with_pod(R"(,"Nodes":[])"), "Nodes must be an object, not an array"},
      {with_nodes("{}"), "Nodes.items must be an array"},
      {with_nodes(R"([{"metadata":{"name":"a"}},{}])"),
       "Nodes.items[1].metadata.name must be a string that is not empty"},
      {with_nodes(R"([{"metadata":{"name":""}}])"),
       "Nodes.items[0].metadata.name must be a string that is not empty"},
      {with_nodes(R"([{"metadata":{"name":1}}])"),
       "Nodes.items[0].metadata.name must be a string that is not empty"},
      {with_nodes("[null]"), "Nodes.items[0] must be an object, not null"},
      {with_pod(R"(,"NodeNames":["a"])") + "x", "the text is not valid JSON"},
      {with_pod(R"(,"NodeNames":["a")"), "the text is not valid JSON"},
      {with_pod(",\"NodeNames\":[\"\xc3\"]"), "the JSON text is not valid UTF-8"},
      {with_pod(R"(,"NodeNames":["a"],"x":tru)"), "the text is not valid JSON"},
      {with_pod(R"(,"NodeNames":["a"],"x":18446744073709551616)"),
       "the JSON text has a number that is malformed, or too large to be read"},
      {with_pod(R"(,"NodeNames":["a"],"x":1e400)"),
       "the JSON text has a number that is malformed, or too large to be read"},
      {with_pod(R"(,"NodeNames":["a"],"x":01)"),
       "the JSON text has a number that is malformed, or too large to be read"},
      {R"({"x":)" + std::string(10'000, '[') + std::string(10'000, ']') + "}",
       "the JSON text is nested too deep"},
  };
  codec::ExtenderReader reader{base::Limits{}};
  for (const auto& [text, problem] : rows) {
    std::string body = text;
    const auto call = reader.read_schedule(body);
    ASSERT_FALSE(call) << text;
    EXPECT_TRUE(call.error().message.starts_with(problem)) << call.error().message;
  }
}

TEST(ExtenderCodecTest, ATruncatedBodyIsRefusedThoughItsRestFollowsInTheBuffer) {
  const std::string whole = with_pod(R"(,"NodeNames":["a"],"x":{"y":[[]]})");
  codec::ExtenderReader reader{base::Limits{}};
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::string body = whole;
    body.resize(size);
    EXPECT_FALSE(reader.read_schedule(body)) << size;
  }
  std::string body = whole;
  EXPECT_TRUE(reader.read_schedule(body));
}

TEST(ExtenderCodecTest, MoreNamesThanTheLimitAreTooLargeInBothForms) {
  base::Limits limits;
  limits.max_names_per_call = 2;
  codec::ExtenderReader reader{limits};
  std::string two = with_pod(R"(,"NodeNames":["a","b"])");
  EXPECT_TRUE(reader.read_schedule(two));
  const std::string node = R"({"metadata":{"name":"a"}})";
  for (std::string body : {with_pod(R"(,"NodeNames":["a","b","a"])"),
                           with_nodes("[" + node + "," + node + "," + node + "]")}) {
    const auto call = reader.read_schedule(body);
    ASSERT_FALSE(call);
    EXPECT_EQ(call.error().code, base::ErrorCode::kTooLarge);
    EXPECT_THAT(call.error().message, HasSubstr("3 entries; at most 2 are allowed"));
  }
}

TEST(ExtenderCodecTest, BindIsReadAsTheSchedulerWritesIt) {
  codec::ExtenderReader reader{base::Limits{}};
  for (
      std::string body :
      {R"({"PodName":"mypodname","PodNamespace":"mypodnamespace","PodUID":"mypoduid","Node":"mynode"})",
       R"({"podname":"mypodname","podnamespace":"mypodnamespace","poduid":"mypoduid","node":"mynode"})"}) {
    const auto call = reader.read_bind(body);
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_EQ(call->pod, "mypodname");
    EXPECT_EQ(call->name_space, "mypodnamespace");
    EXPECT_EQ(call->uid, "mypoduid");
    EXPECT_EQ(call->node, "mynode");
  }
}

TEST(ExtenderCodecTest, ABadBindBodyIsRefused) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "the JSON text is empty"},
      {"{}", "PodName must be a string that is not empty"},
      {R"({"PodName":"p"})", "PodNamespace must be a string that is not empty"},
      {R"({"PodName":"p","PodNamespace":"d","PodUID":"","Node":"n"})",
       "PodUID must be a string that is not empty"},
      {R"({"PodName":"p","PodNamespace":"d","PodUID":"u","Node":null})",
       "Node must be a string that is not empty"},
      {R"({"PodName":"p","PodNamespace":"d","PodUID":"u","Node":7})",
       "Node must be a string, not a number"},
      {R"({"PodName":"p","PodNamespace":"d","PodUID":"u","Node":"n","node":"m"})",
       "the body's Node is given twice"},
      {R"({"PodName":"p","PodNamespace":"d","PodUID":"u","Node":"n")", "the text is not valid"},
  };
  codec::ExtenderReader reader{base::Limits{}};
  for (const auto& [text, problem] : rows) {
    std::string body = text;
    const auto call = reader.read_bind(body);
    ASSERT_FALSE(call) << text;
    EXPECT_TRUE(call.error().message.starts_with(problem)) << call.error().message;
  }
}

codec::ScheduleCall names_call() {
  codec::ScheduleCall call;
  call.node_names = {"n1", "n2", "n3"};
  return call;
}

TEST(ExtenderCodecTest, AFilterReplyInNamesFormHasTheExactShape) {
  codec::FilterResult result;
  result.feasible = {1};
  result.failed = {{0, "NoRoom: full"}};
  result.unresolvable = {{2, "UnknownNode: who"}};
  EXPECT_EQ(codec::write_filter(names_call(), result),
            R"({"Nodes":null,"NodeNames":["n2"],"FailedNodes":{"n1":"NoRoom: full"},)"
            R"("FailedAndUnresolvableNodes":{"n3":"UnknownNode: who"},"Error":""})");
}

TEST(ExtenderCodecTest, NoFitIsAnEmptyListAndNotNull) {
  codec::FilterResult result;
  result.unresolvable = {{0, "a"}, {1, "b"}, {2, "a"}};
  EXPECT_EQ(codec::write_filter(names_call(), result),
            R"({"Nodes":null,"NodeNames":[],"FailedNodes":null,)"
            R"("FailedAndUnresolvableNodes":{"n1":"a","n2":"b","n3":"a"},"Error":""})");
}

TEST(ExtenderCodecTest, AFilterReplyInNodesFormEchoesTheObjects) {
  codec::ScheduleCall call = names_call();
  call.has_node_objects = true;
  call.node_objects = {R"({"a":1})", R"({"b":2})", R"({"c":3})"};
  codec::FilterResult result;
  result.feasible = {2, 0};
  EXPECT_EQ(codec::write_filter(call, result),
            R"({"Nodes":{"metadata":{},"items":[{"c":3},{"a":1}]},"NodeNames":null,)"
            R"("FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""})");
  EXPECT_EQ(codec::write_filter_all(call),
            R"({"Nodes":{"metadata":{},"items":[{"a":1},{"b":2},{"c":3}]},"NodeNames":null,)"
            R"("FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""})");
}

TEST(ExtenderCodecTest, AllNamesComeBackInNamesForm) {
  EXPECT_EQ(codec::write_filter_all(names_call()),
            R"({"Nodes":null,"NodeNames":["n1","n2","n3"],"FailedNodes":null,)"
            R"("FailedAndUnresolvableNodes":null,"Error":""})");
}

TEST(ExtenderCodecTest, PrioritizeAndBindRepliesHaveTheExactShape) {
  EXPECT_EQ(codec::write_prioritize({}), "[]");
  const std::vector<codec::HostPriority> scores = {{"myhost", 1}, {"b", 10}};
  EXPECT_EQ(codec::write_prioritize(scores),
            R"([{"Host":"myhost","Score":1},{"Host":"b","Score":10}])");
  EXPECT_EQ(codec::write_bind(""), R"({"Error":""})");
  EXPECT_EQ(codec::write_bind("it is gone"), R"({"Error":"it is gone"})");
  // kube-scheduler formats what people read; it only logs the replies of write_error().
  EXPECT_EQ(codec::write_bind("is \"25%\""), "{\"Error\":\"is \\\"25\uFF05\\\"\"}");
  EXPECT_EQ(codec::write_error(codec::ReplyShape::kBind, "25%"), R"({"Error":"25%"})");
}

TEST(ExtenderCodecTest, ErrorsHaveTheShapeOfTheirVerb) {
  EXPECT_EQ(codec::write_error(codec::ReplyShape::kFilter, "no"),
            R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,)"
            R"("FailedAndUnresolvableNodes":null,"Error":"no"})");
  EXPECT_EQ(codec::write_error(codec::ReplyShape::kPrioritize, "no"), R"({"Error":"no"})");
  EXPECT_EQ(codec::write_error(codec::ReplyShape::kBind, "no"), R"({"Error":"no"})");
}

TEST(ExtenderCodecTest, AnyTextIsEscapedIntoValidJson) {
  std::string every;
  for (int c = 1; c < 128; ++c) every += static_cast<char>(c);
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"plain", "plain"},
      {every, every},
      {std::string("a\0b", 3), std::string("a\0b", 3)},
      {"long enough for eight bytes at once \" end", "long enough for eight bytes at once \" end"},
      {"héllo wörld ✓", "héllo wörld ✓"},
      {"\xff", "\xEF\xBF\xBD"},
      {"cut \xc3", "cut \xEF\xBF\xBD"},
  };
  for (const auto& [text, read_back] : rows) {
    const std::string reply = codec::write_error(codec::ReplyShape::kBind, text);
    const json parsed = json::parse(reply, nullptr, false);
    ASSERT_FALSE(parsed.is_discarded()) << reply;
    EXPECT_EQ(parsed.at("Error").get<std::string>(), read_back);
  }
}

}  // namespace
}  // namespace snug::extender_codec_test
