// Bad requests against the whole product: each gets its status and a body of the verb's shape with
// a sentence, changes neither the ledger nor the API server, and leaves good requests as they were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "integration/http_client.hpp"
#include "integration/http_fixture.hpp"
#include "integration/http_rows.hpp"

namespace snug::testing::http_bad_input_test {
namespace {

using ::testing::HasSubstr;

/// Would change the ledger, were it read.
constexpr const char* kSmuggled =
    R"({"PodName":"waiting","PodNamespace":"d","PodUID":"u-waiting","Node":"n2"})";

constexpr const char* kGoodPreempt =
    R"({"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u"}},"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"v"}],"NumPDBViolations":1}}})";

std::string good_body(const std::string& verb) {
  if (verb == "/preempt") return kGoodPreempt;
  return verb == "/bind" ? kGoodBind : kGpuFilter;
}

/// What can be said before the body is read.
std::vector<BadRow> refused_unread(const std::string& verb) {
  const std::string post = "POST " + verb;
  return {
      {"empty body", head(post, "Content-Length: 0\r\n"), 400, "the body is empty"},
      {"no length", head(post, ""), 411, "Content-Length is missing"},
      {"length abc", head(post, "Content-Length: abc\r\n"), 400, "must be a number"},
      {"length -1", head(post, "Content-Length: -1\r\n"), 400, "must be a number"},
      {"length +5", head(post, "Content-Length: +5\r\n"), 400, "must be a number"},
      {"length 0x5", head(post, "Content-Length: 0x5\r\n"), 400, "must be a number"},
      {"length list", head(post, "Content-Length: 5, 5\r\n"), 400, "must be a number"},
      {"overflowing length", head(post, "Content-Length: 99999999999999999999\r\n"), 413,
       "larger than the 65536 bytes"},
      {"over the limit", head(post, "Content-Length: 65537\r\n"), 413,
       "larger than the 65536 bytes"},
      {"two lengths", head(post, "Content-Length: 5\r\nContent-Length: 6\r\n"), 400,
       "more than once"},
      {"the same length twice", head(post, "Content-Length: 5\r\nContent-Length: 5\r\n"), 400,
       "more than once"},
      {"chunked", head(post, "Transfer-Encoding: chunked\r\n") + "5\r\nhello\r\n0\r\n\r\n", 411,
       "Transfer-Encoding is not accepted"},
      {"chunked with a length", head(post, "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
       411, "Transfer-Encoding is not accepted"},
      {"gzip", head(post, "Content-Encoding: gzip\r\nContent-Length: 5\r\n") + "hello", 415,
       "Content-Encoding is not accepted"},
      {"plain text",
       post + " HTTP/1.1\r\nHost: t\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
       415, "must be application/json"},
      {"no type", post + " HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}", 415,
       "must be application/json"},
      {"almost the type",
       post +
           " HTTP/1.1\r\nHost: t\r\nContent-Type: application/json5\r\nContent-Length: 2\r\n\r\n{}",
       415, "must be application/json"},
      {"a form",
       post + " HTTP/1.1\r\nHost: t\r\nContent-Type: multipart/form-data; boundary=b\r\n"
              "Content-Length: 2\r\n\r\n{}",
       415, "must be application/json"},
      {"a range", head(post, "Range: bytes=0-3\r\nContent-Length: 2\r\n"), 400,
       "Range is not accepted"},
      {"a bad range", head(post, "Range: bytes=0-3,x\r\nContent-Length: 2\r\n"), 400,
       "Range is not accepted"},
      {"GET", head("GET " + verb, ""), 405, "must be POST"},
      {"PUT", head("PUT " + verb, "Content-Length: 2\r\n"), 405, "must be POST"},
      {"DELETE", head("DELETE " + verb, ""), 405, "must be POST"},
      {"an unknown path", head(post + "s", "Content-Length: 2\r\n"), 404, "/filter"},
      {"the root", head("POST /", "Content-Length: 2\r\n"), 404, "/filter"},
      {"101 headers", head(post, "Content-Length: 2\r\n" + many_headers(98)), 431,
       "more than the 100 headers"},
      {"10,000 headers", head(post, "Content-Length: 2\r\n" + many_headers(10'000)), 431,
       "larger than the 65536 bytes that are allowed"},
      {"90 KB in 90 headers", head(post, "Content-Length: 2\r\n" + many_headers(90, 1'000)), 431,
       "larger than the 65536 bytes that are allowed"},
      {"a header of 8,193 bytes", head(post, "X: " + std::string(8'188, 'x') + "\r\n"), 431,
       "a header is longer than the 8192 bytes"},
      {"a header of 100,000 bytes", head(post, "X: " + std::string(100'000, 'x') + "\r\n"), 431,
       "a header is longer than the 8192 bytes"},
      {"a long path", head(post + std::string(10'000, 'x'), ""), 414, "path is too long"},
  };
}

/// Heads that are no valid ones, and 100 Continue.
std::vector<BadRow> refused_heads(const std::string& verb) {
  const std::string post = "POST " + verb;
  return {
      {"no Host",
       post + " HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", 400,
       "Host is missing"},
      {"Host :", post + " HTTP/1.1\r\nHost : t\r\nContent-Length: 2\r\n\r\n{}", 400,
       "no blank before the colon"},
      {"a folded header", head(post, "X: a\r\n b\r\nContent-Length: 2\r\n"), 400, "one line"},
      {"NUL", head(post, std::string("X: a\0b\r\nContent-Length: 2\r\n", 27)), 400,
       "a control character"},
      {"a header hidden by a bare LF",
       head(post, "Transfer-Encoding: chunked\nContent-Length: 2\r\n"), 400, "CR LF"},
      {"another expectation", head(post, "Expect: 200-ok\r\nContent-Length: 2\r\n"), 417, "Expect"},
      {"too large to be sent on", head(post, "Expect: 100-continue\r\nContent-Length: 65537\r\n"),
       413, "larger than the 65536 bytes"},
      {"an empty line first", "\r\n", 400, "not valid HTTP"},
      {"no HTTP", "hello there\r\n\r\n", 400, "not valid HTTP"},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "not valid HTTP"},
  };
}

/// A filter or prioritize body around this pod.
std::string around(const std::string& pod, const std::string& rest = R"("NodeNames":["n1"])") {
  return R"({"Pod":)" + pod + "," + rest + "}";
}

std::string too_deep() {
  return R"({"x":)" + std::string(10'000, '[') + std::string(10'000, ']') + "}";
}

/// Bodies of filter and prioritize: wrong as a whole, or in their pod.
std::vector<BadRow> bad_pods() {
  const std::string good{kGpuFilter};
  const std::string open = good.substr(0, good.size() - 1);
  return {
      {"truncated", good.substr(0, good.size() - 10), 400, "not valid JSON"},
      {"something after it", good + "{}", 400, "not valid JSON"},
      {"no JSON", "hello", 400, "not valid JSON"},
      {"blanks", "   ", 400, "the JSON text is empty"},
      {"a list", "[]", 400, "the body must be an object, not an array"},
      {"a string", R"("Pod")", 400, "the body must be an object, not a string"},
      {"an empty object", "{}", 400, "Pod is missing or null"},
      {"10,000 deep", too_deep(), 413, "nested too deep; at most 64 levels"},
      {"invalid UTF-8", "{\"Pod\":\"\xff\"}", 400, "not valid UTF-8"},
      {"Pod twice", open + R"(,"Pod":{}})", 400, "Pod is given twice"},
      {"NodeNames twice", open + R"(,"nodenames":[]})", 400, "NodeNames is given twice"},
      {"a name twice", around(R"({"metadata":{"name":"a","name":"b","namespace":"d"}})"), 400,
       "Pod.metadata.name is given twice"},
      {"an annotation twice",
       around(R"({"metadata":{"name":"a","namespace":"d","uid":"u-a",)"
              R"("annotations":{"gpu-fraction":"1","gpu-fraction":"2"}}})"),
       400, "gpu-fraction is given twice"},
      {"Pod null", around("null"), 400, "Pod is missing or null"},
      {"Pod a list", around("[]"), 400, "Pod must be an object, not an array"},
      {"Pod a string", around(R"("waiting")"), 400, "Pod must be an object, not a string"},
      {"Pod empty", around("{}"), 400, "Pod.metadata is missing"},
      {"metadata a string", around(R"({"metadata":"x"})"), 400,
       "Pod.metadata must be an object, not a string"},
      {"no name", around(R"({"metadata":{"namespace":"d"}})"), 400, "has no name"},
      {"no namespace", around(R"({"metadata":{"name":"a"}})"), 400, "has no namespace"},
      {"uid a number", around(R"({"metadata":{"name":"a","namespace":"d","uid":7}})"), 400,
       "Pod.metadata.uid must be a string, not a number"},
      {"an annotation that is a number",
       around(R"({"metadata":{"name":"a","namespace":"d","uid":"u-a",)"
              R"("annotations":{"gpu-fraction":0.5}}})"),
       400, "must be a string, not a number"},
      {"containers an object",
       around(R"({"metadata":{"name":"a","namespace":"d","uid":"u-a"},"spec":{"containers":{}}})"),
       400, "Pod.spec.containers must be an array, not an object"},
  };
}

/// Bodies of filter and prioritize: wrong in their nodes.
std::vector<BadRow> bad_node_lists() {
  const std::string good{kGpuFilter};
  const std::string open = good.substr(0, good.size() - 1);
  const std::string pod = R"({"metadata":{"name":"waiting","namespace":"d","uid":"u-waiting"}})";
  return {
      {"neither list", R"({"Pod":)" + pod + "}", 400, "neither of Nodes and NodeNames"},
      {"both null", around(pod, R"("Nodes":null,"NodeNames":null)"), 400,
       "neither of Nodes and NodeNames"},
      {"both lists", open + R"(,"Nodes":{"items":[]}})", 400, "both of Nodes and NodeNames"},
      {"Nodes a string", around(pod, R"("Nodes":"n1")"), 400,
       "Nodes must be an object, not a string"},
      {"Nodes a list", around(pod, R"("Nodes":["n1"])"), 400,
       "Nodes must be an object, not an array"},
      {"Nodes.items a string", around(pod, R"("Nodes":{"items":"n1"})"), 400,
       "Nodes.items must be an array"},
      {"a node that is a number", around(pod, R"("Nodes":{"items":[1]})"), 400,
       "Nodes.items[0] must be an object, not a number"},
      {"a node without a name", around(pod, R"("Nodes":{"items":[{"metadata":{}}]})"), 400,
       "Nodes.items[0].metadata.name must be a string that is not empty"},
      {"NodeNames a string", around(pod, R"("NodeNames":"n1")"), 400, "NodeNames must be an array"},
      {"a name that is a number", around(pod, R"("NodeNames":["n1",1])"), 400,
       "NodeNames[1] must be a string that is not empty"},
      {"an empty name", around(pod, R"("NodeNames":[""])"), 400,
       "NodeNames[0] must be a string that is not empty"},
      {"too many names", around(pod, R"("NodeNames":["a","b","c","d","e"])"), 413,
       "NodeNames has 5 entries; at most 4 are allowed"},
  };
}

/// In the embedded mode filter creates the pods that it is shown.
std::vector<BadRow> bad_new_pods() {
  const auto pod = [](const std::string& name, const std::string& uid, const std::string& asks) {
    return around(R"({"metadata":{"name":")" + name + R"(","namespace":"d","uid":")" + uid +
                  R"(","annotations":{)" + asks + R"(}},"spec":{"containers":[{"name":"main"}]}})");
  };
  const std::string half = R"("gpu-fraction":"0.5")";
  const auto with_spec = [](const std::string& more) {
    return around(R"({"metadata":{"name":"new","namespace":"d","uid":"u-new"},"spec":{)" + more +
                  R"(,"containers":[{"name":"main"}]}})");
  };
  return {
      {"assigned", with_spec(R"("nodeName":"n2")"), 400, "the pod d/new has spec.nodeName n2;"},
      {"gated", with_spec(R"("schedulingGates":[{"name":"quota"}])"), 400,
       "the pod d/new has spec.schedulingGates; filter accepts a pod only after its gates are "
       "removed"},
      {"no uid", pod("new", "", half), 400, "a pod must have a uid"},
      {"another uid", pod("waiting", "u-other", half), 409,
       "the pod d/waiting already exists with another uid; to replace it, first delete it with "
       "DELETE /v1/pods/d/waiting"},
      {"another request", pod("waiting", "u-waiting", R"("gpu-fraction":"0.6")"), 409,
       "the pod d/waiting already exists with another request; to replace it"},
      {"another pod's uid", pod("new", "u-waiting", half), 409,
       "the uid u-waiting belongs to the pod d/waiting"},
  };
}

std::vector<BadRow> bad_binds() {
  const auto with = [](const std::string& uid, const std::string& node) {
    return R"({"PodName":"waiting","PodNamespace":"d","PodUID":)" + uid + R"(,"Node":)" + node +
           "}";
  };
  const std::string good{kSmuggled};
  return {
      {"truncated", good.substr(0, good.size() - 3), 400, "not valid JSON"},
      {"no JSON", "hello", 400, "not valid JSON"},
      {"a list", "[]", 400, "the body must be an object, not an array"},
      {"null", "null", 400, "the body must be an object, not null"},
      {"an empty object", "{}", 400, "PodName must be a string that is not empty"},
      {"10,000 deep", too_deep(), 413, "nested too deep; at most 64 levels"},
      {"invalid UTF-8", with("\"\xff\"", R"("n1")"), 400, "not valid UTF-8"},
      {"Node twice", good.substr(0, good.size() - 1) + R"(,"node":"n1"})", 400,
       "Node is given twice"},
      {"PodUID a number", with("7", R"("n1")"), 400, "PodUID must be a string, not a number"},
      {"PodUID null", with("null", R"("n1")"), 400, "PodUID must be a string that is not empty"},
      {"Node a list", with(R"("u-waiting")", R"(["n1"])"), 400,
       "Node must be a string, not an array"},
      {"Node empty", with(R"("u-waiting")", R"("")"), 400,
       "Node must be a string that is not empty"},
  };
}

std::vector<BadRow> bad_preempts() {
  const auto with = [](const std::string& victims) {
    return R"({"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u"}},)" + victims + "}";
  };
  return {
      {"no JSON", "hello", 400, "not valid JSON"},
      {"a list", "[]", 400, "the body must be an object, not an array"},
      {"an empty object", "{}", 400, "Pod is missing or null"},
      {"10,000 deep", too_deep(), 413, "nested too deep; at most 64 levels"},
      {"no victims", with(R"("Nodes":null)"), 400, "neither of NodeNameToVictims"},
      {"a list of nodes", with(R"("NodeNameToMetaVictims":["n1"])"), 400,
       "NodeNameToMetaVictims must be an object, not an array"},
      {"no uid", with(R"("NodeNameToVictims":{"n1":{"Pods":[{"metadata":{}}]}})"), 400,
       "NodeNameToVictims.n1.Pods[0].metadata.uid must be a string that is not empty"},
      {"too many nodes", with(R"("NodeNameToVictims":{"a":{},"b":{},"c":{},"d":{},"e":{}})"), 413,
       "there are too many nodes; at most 4 are allowed"},
  };
}

base::Limits small_limits() {
  base::Limits limits;
  limits.max_body_bytes = 65'536;
  limits.max_names_per_call = 4;
  return limits;
}

class HttpBadInputTest : public ::testing::TestWithParam<std::string> {
 protected:
  HttpBadInputTest() : before_(good()) {}

  std::string verb() const { return GetParam(); }
  std::string good() {
    const HttpAnswer answer = ServedSnug::ask(served_.port(), post_text(verb(), good_body(verb())));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.body;
  }
  /// The good request stands behind the bad one on the same connection, and is answered for itself.
  void expect_refused_and_go_on(const std::vector<BadRow>& rows) {
    for (const BadRow& row : rows) {
      SCOPED_TRACE(row.name);
      const std::string state = served_.state();
      HttpClient client{served_.port()};
      const std::string request = post_text(verb(), row.request);
      client.send(request);
      const auto refused = client.receive();
      ASSERT_TRUE(refused);
      expect_sentence(*refused, request, row);
      EXPECT_EQ(served_.state(), state);
      client.post(verb(), good_body(verb()));
      EXPECT_EQ(client.receive().value_or(HttpAnswer{}).body, before_);
    }
  }

  ServedSnug served_{small_limits()};
  std::string before_;
};

TEST_P(HttpBadInputTest, WhatIsRefusedUnreadLosesItsConnectionAndWhatStandsBehindIt) {
  std::vector<BadRow> rows = refused_unread(verb());
  for (BadRow& row : refused_heads(verb())) rows.push_back(std::move(row));
  for (const BadRow& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string state = served_.state();
    HttpClient client{served_.port()};
    client.send(row.request + post_text("/bind", kSmuggled));
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    expect_sentence(*answer, row.request, row);
    EXPECT_EQ(answer->headers.at("connection"), "close");
    EXPECT_TRUE(client.wait_closed());
    EXPECT_EQ(served_.state(), state);
    EXPECT_EQ(good(), before_);
  }
}

TEST_P(HttpBadInputTest, ABodyThatCannotBeUnderstoodIsRefusedAndTheConnectionGoesOn) {
  if (verb() == "/bind") return expect_refused_and_go_on(bad_binds());
  if (verb() == "/preempt") return expect_refused_and_go_on(bad_preempts());
  expect_refused_and_go_on(bad_pods());
  expect_refused_and_go_on(bad_node_lists());
  if (verb() == "/filter") expect_refused_and_go_on(bad_new_pods());
}

INSTANTIATE_TEST_SUITE_P(Verbs, HttpBadInputTest,
                         ::testing::Values("/filter", "/prioritize", "/preempt", "/bind"),
                         [](const auto& verb) { return verb.param.substr(1); });

TEST(HttpUnknownNamesTest, UnknownNodesAreAReasonAndNoError) {
  ServedSnug served;
  std::string body{kGpuFilter};
  body.replace(body.find(R"("n1","n2")"), 9, R"("nope","n3")");
  const std::string request = post_text("/filter", body);
  // The first of them is noted as the pod's reason, which GET /v1/pods shows.
  const HttpAnswer first = ServedSnug::ask(served.port(), request);
  const std::string state = served.state();
  const HttpAnswer again = ServedSnug::ask(served.port(), request);
  EXPECT_EQ(first.body, again.body);
  EXPECT_EQ(served.state(), state);
  const auto reply = nlohmann::json::parse(again.body, nullptr, false);
  EXPECT_EQ(reply["Error"], "");
  for (const char* name : {"nope", "n3"}) {
    EXPECT_THAT(reply["FailedAndUnresolvableNodes"].value(name, ""), HasSubstr("UnknownNode: "));
  }
  EXPECT_EQ(ServedSnug::ask(served.port(), post_text("/prioritize", body)).body, "[]");
  EXPECT_EQ(served.state(), state);
}

TEST(HttpUnknownNamesTest, WhatCannotBeBoundIsSaidAndChangesNothing) {
  const auto bind = [](const std::string& pod, const std::string& uid, const std::string& node) {
    return R"({"PodName":")" + pod + R"(","PodNamespace":"d","PodUID":")" + uid + R"(","Node":")" +
           node + R"("})";
  };
  const std::vector<BadRow> rows = {
      {"an unknown node", bind("waiting", "u-waiting", "nope"), 200, "UnknownNode"},
      {"an unknown pod", bind("nobody", "u-nobody", "n1"), 200, "does not exist"},
      {"another uid", bind("waiting", "u-other", "n1"), 200, "does not exist"},
      {"another pod's uid", bind("nobody", "u-waiting", "n1"), 200, "is not that of pod"},
      {"bound elsewhere", bind("held", "u-held", "n2"), 200, "n1"},
  };
  ServedSnug served;
  const std::string state = served.state();
  for (const BadRow& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string request = post_text("/bind", row.request);
    expect_sentence(ServedSnug::ask(served.port(), request), request, row);
    EXPECT_EQ(served.state(), state);
  }
  EXPECT_EQ(ServedSnug::ask(served.port(), post_text("/bind", kSmuggled)).body, R"({"Error":""})");
  EXPECT_NE(served.state(), state) << "the state shows what a bind changes";
}

}  // namespace
}  // namespace snug::testing::http_bad_input_test
