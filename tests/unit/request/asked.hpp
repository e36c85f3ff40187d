// What a pod asks, in one line for rows of tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "snug/request/parse.hpp"
#include "support/cluster.hpp"

namespace snug {

/// `a{gpu-fraction=0.5} b{gpu-memory=4G} main=a policy=spread`, or the sentence of the refusal.
inline std::string asked_by(const PodFacts& pod) {
  const auto request = parse_request(pod);
  if (!request) {
    EXPECT_EQ(request.error().code, ReasonCode::kMalformed);
    return request.error().sentence;
  }
  std::string text;
  for (const ContainerRequest& container : request->containers) {
    text += container.container + "{" + container.text + "} ";
  }
  text += "main=" + request->main_container;
  if (!request->policy.empty()) text += " policy=" + request->policy;
  return text;
}

}  // namespace snug
