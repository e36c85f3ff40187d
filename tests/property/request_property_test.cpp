#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "many.hpp"
#include "random_cluster.hpp"
#include "snug/request/pod_request_parser.hpp"

namespace snug::request_property_test {
namespace {

const std::vector<std::string> kContainers = {"setup", "proxy", "late", "first", "second"};

std::string draw_blanks() { return std::string(static_cast<std::size_t>(draw(3)), ' '); }

std::string draw_models() {
  std::string text;
  for (int i = draw(4); i >= 0; --i) {
    text += draw_blanks() + draw_from<std::string>({"", "!", "! "});
    text += draw_from<std::string>({"A100*", "*", "H?00", "Tesla V100", "a!b", R"("\)"});
    text += draw_blanks();
    if (i > 0) text += ',';
  }
  return text;
}

/// Keys of one container that agree with each other.
void ask_well(model::PodFacts& pod, const std::string& suffix) {
  const auto say = [&](const std::string& key, const std::string& value) {
    pod.annotations.emplace(key + suffix, value);
  };
  if (one_in(4)) {
    say("gpu-mig-profile",
        draw_from<std::string>({"1g.5gb", "1g.5gb+me", "3g.20gb", "3c.3g.20gb", "1g.24gb-me"}));
    if (one_in(2)) say("gpu-count", std::to_string(1 + draw(12)));
    if (one_in(2)) say("gpu-isolation", draw_from<std::string>({"any", "mig"}));
  } else if (one_in(4)) {
    say("gpu-fraction", std::to_string(1 + draw(12)));
    if (one_in(4)) say("gpu-isolation", "any");
  } else {
    if (one_in(2)) {
      say("gpu-fraction", "0." + std::to_string(1 + draw(999)).substr(0, 3));
    } else {
      say("gpu-memory", std::to_string(1 + draw(5000)) + draw_from<std::string>({"", "Mi", "G"}));
    }
    if (one_in(2)) say("gpu-count", std::to_string(1 + draw(12)));
    if (one_in(2)) say("gpu-compute", std::to_string(1 + draw(100)));
    if (one_in(2)) {
      say("gpu-isolation", draw_from<std::string>({"any", "time-slicing", "mps", "mig"}));
    }
  }
  if (one_in(2)) say("gpu-model", draw_models());
}

model::PodFacts draw_good_pod() {
  model::PodFacts pod = make_pod_of_five();
  for (const std::string& container : kContainers) {
    if (one_in(2)) ask_well(pod, "." + container);
  }
  if (one_in(3)) pod.annotations.emplace("gpu-policy", "spread");
  return pod;
}

void texts_property() {
  const model::PodFacts pod = draw_good_pod();
  const auto request = request::parse_request(pod);
  RC_CLASSIFY(request.has_value(), "understood");
  if (!request) {
    // All that is random about the containers together.
    const std::string& sentence = request.error().sentence;
    if (sentence.find("the init container") == std::string::npos &&
        sentence.find("gpu-policy is") == std::string::npos) {
      RC_FAIL(sentence);
    }
    return;
  }
  std::size_t last = 0;
  for (const model::ContainerRequest& asked : request->containers) {
    model::ContainerRequest read = request::parse_request_text(asked.text).value();
    read.container = asked.container;
    read.type = asked.type;
    RC_ASSERT(read == asked);
    const auto position =
        std::ranges::find(pod.containers, asked.container, &model::ContainerFacts::name);
    RC_ASSERT(position->type == asked.type);
    const auto order = static_cast<std::size_t>(position - pod.containers.begin()) + 1;
    RC_ASSERT(order > last);
    last = order;
  }
}

TEST(RequestProperty, ATextMeansWhatTheAnnotationsMeant) { holds_in(20'000, texts_property); }

std::string draw_bytes() {
  std::string bytes;
  for (int i = draw(one_in(20) ? 400 : 8); i > 0; --i) bytes += static_cast<char>(draw(256));
  return bytes;
}

std::string draw_key() {
  std::string key = draw_from<std::string>(
      {"gpu-fraction", "gpu-fraction", "gpu-memory", "gpu-count", "gpu-compute", "gpu-isolation",
       "gpu-model", "gpu-policy", "gpu-container", "gpu-fraction-num-devices",
       "gpu-fraction-container-name", "kubectl.kubernetes.io/default-container"});
  if (one_in(10)) key = "gpu-mig-profile";
  if (one_in(40)) key += draw_bytes();
  if (one_in(3)) key += "." + draw_from(kContainers);
  if (one_in(20)) key += "." + draw_bytes();
  return key;
}

std::string draw_value() {
  std::string value = draw_from<std::string>({"0.5", "0.25", "1", "2", "4G", "first", "setup",
                                              "any", "mps", "mig", "A100, !B", "time-slicing", "50",
                                              "proxy", "1G", "2g.10gb", "3c.3g.20gb"});
  if (one_in(6)) value += draw_bytes();
  if (one_in(20)) value = draw_bytes();
  return value;
}

bool printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

void soup_property() {
  model::PodFacts pod = one_in(2) ? draw_good_pod() : make_pod_of_five();
  if (one_in(10)) pod.containers.front().name = draw_bytes();
  if (one_in(10)) pod.containers.back().gpu_resources.emplace("nvidia.com/gpu", draw_value());
  for (int i = draw(5); i > 0; --i) pod.annotations.emplace(draw_key(), draw_value());
  const auto request = request::parse_request(pod);
  RC_CLASSIFY(request.has_value() && !request->empty(), "asks");
  RC_CLASSIFY(!request, "refused");
  if (request) {
    for (const model::ContainerRequest& asked : request->containers) {
      RC_ASSERT(request::parse_request_text(asked.text).has_value());
    }
    return;
  }
  RC_LOG() << request.error().sentence;
  RC_ASSERT(request.error().code == model::ReasonCode::kMalformed);
  RC_ASSERT(!request.error().sentence.empty());
  RC_ASSERT(request.error().sentence.size() <= 400U);
  RC_ASSERT(printable(request.error().sentence));
}

TEST(RequestProperty, AnyAnnotationsAreARequestOrRefusedInOnePrintableSentence) {
  holds_in(50'000, soup_property);
}

void other_texts_property() {
  std::string text =
      draw_from<std::string>({"gpu-fraction=0.5;gpu-count=2;gpu-model=A*,!B",
                              "gpu-memory=4G;gpu-compute=9", "gpu-fraction=2;gpu-isolation=any",
                              "gpu-mig-profile=3g.20gb+me;gpu-isolation=mig", "nvidia.com/gpu=2"});
  for (int i = draw(2); i >= 0; --i) {
    const auto place = static_cast<std::size_t>(draw(static_cast<int>(text.size()) + 1));
    const auto removed = static_cast<std::size_t>(draw(4));
    text.replace(place, removed, draw_from<std::string>({"", ";", "=", "1", ",", " ", "A", "!"}));
  }
  const auto read = request::parse_request_text(text);
  RC_CLASSIFY(read.has_value(), "understood");
  if (!read) return;
  RC_ASSERT(read->text == text);
  RC_ASSERT(request::parse_request_text(read->text) == read);
}

TEST(RequestProperty, ATextIsReadAsItStandsOrNotAtAll) { holds_in(50'000, other_texts_property); }

}  // namespace
}  // namespace snug::request_property_test
