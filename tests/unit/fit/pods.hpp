// Requests of several containers from one-line strings, and what fit() makes of them as text, for
// tests of fit. Pure; a text that cannot be read throws std::invalid_argument.
//
//   make_asks("side 0.25 mps; init whole; app 4096 x2 50% A100*,!T4")
//
// A container is its kind (init, side, app), what it asks for (a fraction, MiB, `whole` or
// `wholeN`, a MIG profile) and words: xN (gpu-count), N% (gpu-compute), time-slicing, mps or mig,
// else a list of models.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/node_states.hpp"

namespace snug {

inline model::ContainerType kind_named(std::string_view name) {
  if (name == "app") return model::ContainerType::kApp;
  if (name == "init") return model::ContainerType::kInit;
  if (name == "side") return model::ContainerType::kSidecar;
  throw std::invalid_argument("a container is init, side or app, not " + std::string(name));
}

inline model::ContainerRequest ask_named(const std::string& text) {
  if (text.starts_with("whole")) {
    return make_whole(text.size() > 5 ? std::stoi(text.substr(5)) : 1).containers.front();
  }
  if (text.starts_with("0.")) {
    const std::string digits = (text.substr(2) + "00").substr(0, 3);
    return make_fraction(std::stoi(digits)).containers.front();
  }
  if (text.ends_with("gb") || text.contains("gb+") || text.contains("gb-")) {
    return make_slice_request(text).containers.front();
  }
  return make_memory(std::stoll(text)).containers.front();
}

inline void set_word(model::ContainerRequest& asked, const std::string& word) {
  if (word.starts_with('x')) {
    asked.count = std::stoll(word.substr(1));
  } else if (word.ends_with('%')) {
    asked.compute_percent = std::stoi(word);
  } else if (word == "time-slicing") {
    asked.isolation = model::Isolation::kTimeSlicing;
  } else if (word == "mps") {
    asked.isolation = model::Isolation::kMps;
  } else if (word == "mig") {
    asked.isolation = model::Isolation::kMig;
  } else {
    for (const std::string& glob : split(word, ',')) {
      if (glob.starts_with('!')) {
        asked.models.excluded.push_back(glob.substr(1));
      } else {
        asked.models.included.push_back(glob);
      }
    }
  }
}

inline model::GpuRequest make_asks(std::string_view text) {
  model::GpuRequest request;
  for (const std::string& container : split(text, ';')) {
    const std::vector<std::string> words = split(container, ' ');
    if (words.size() < 2) throw std::invalid_argument("a container is KIND WHAT WORDS…");
    model::ContainerRequest asked = ask_named(words[1]);
    asked.type = kind_named(words[0]);
    asked.container = "c" + std::to_string(request.containers.size());
    for (std::size_t i = 2; i < words.size(); ++i) set_word(asked, words[i]);
    request.containers.push_back(std::move(asked));
  }
  request.main_container = request.containers.back().container;
  return request;
}

inline std::string slice_text(const model::NodeState& node,
                              const model::DeviceAllocation& allocation) {
  const model::MigTable& table = *node.gpus.at(allocation.gpu).info->mig_table;
  return table.profiles.at(allocation.slice.profile).name + "@" +
         std::to_string(allocation.slice.start);
}

/// `0/0+1m 2/0+1m`: two options, in the first of which one container has GPU 0, the next GPUs 0
/// and 1, the latter in mode mps (m; w: whole, nothing: time-slicing); `0:1g.5gb@6` is a slice of
/// GPU 0. Else the reason.
inline std::string takes_text(const model::NodeState& node, const model::GpuRequest& request,
                              const fit::Tenant& tenant = {}) {
  const FitResult fitted = fit_all(node, request, tenant);
  if (fitted.reason != model::ReasonCode::kNone)
    return std::string(model::reason_row(fitted.reason).code);
  std::string text;
  for (const model::Placement& option : fitted.options) {
    if (!text.empty()) text += " ";
    for (std::size_t c = 0; c < request.containers.size(); ++c) {
      std::string gpus;
      for (const model::DeviceAllocation& allocation : option.allocations) {
        if (allocation.container != c) continue;
        gpus += (gpus.empty() ? "" : "+") + std::to_string(allocation.gpu);
        if (allocation.mode == model::GpuMode::kMps) gpus += "m";
        if (allocation.mode == model::GpuMode::kWhole) gpus += "w";
        if (allocation.mode == model::GpuMode::kMig) gpus += ":" + slice_text(node, allocation);
      }
      text += (c > 0 ? "/" : "") + gpus;
    }
  }
  return text;
}

struct FitRow {
  std::string_view why;
  std::string_view node;
  std::vector<model::HoldingPtr> holdings;
  std::string_view asks;
  std::string_view expected;
  fit::Tenant tenant = {};
};

inline void check(const std::vector<FitRow>& rows) {
  for (const FitRow& row : rows) {
    const model::NodeStatePtr node = make_state(row.node, row.holdings);
    EXPECT_EQ(takes_text(*node, make_asks(row.asks), row.tenant), row.expected) << row.why;
  }
}

}  // namespace snug
