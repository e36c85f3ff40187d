// What a pod asks, in one line for rows of tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "snug/request/pod_request_parser.hpp"
#include "support/test_objects.hpp"

namespace snug {

/// `a{gpu-fraction=0.5} b{gpu-memory=4G} main=a policy=spread`, or the sentence of the refusal.
inline std::string asked_by(const model::PodFacts& pod) {
  const auto request = request::parse_request(pod);
  if (!request) {
    EXPECT_EQ(request.error().code, model::ReasonCode::kMalformed);
    return request.error().sentence;
  }
  std::string text;
  for (const model::ContainerRequest& container : request->containers) {
    text += container.container + "{" + container.text + "} ";
  }
  text += "main=" + request->main_container;
  if (!request->policy.empty()) text += " policy=" + request->policy;
  return text;
}

}  // namespace snug
