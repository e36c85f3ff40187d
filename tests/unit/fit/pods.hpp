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

#include "support/states.hpp"

namespace snug {

inline ContainerKind kind_named(std::string_view name) {
  if (name == "app") return ContainerKind::kApp;
  if (name == "init") return ContainerKind::kInit;
  if (name == "side") return ContainerKind::kSidecar;
  throw std::invalid_argument("a container is init, side or app, not " + std::string(name));
}

inline ContainerRequest ask_named(const std::string& text) {
  if (text.starts_with("whole")) {
    return make_whole(text.size() > 5 ? std::stoi(text.substr(5)) : 1).containers.front();
  }
  if (text.starts_with("0.")) {
    const std::string digits = (text.substr(2) + "00").substr(0, 3);
    return make_fraction(std::stoi(digits)).containers.front();
  }
  if (text.ends_with("gb") || text.contains("gb+") || text.contains("gb-")) {
    return make_profile_ask(text).containers.front();
  }
  return make_memory(std::stoll(text)).containers.front();
}

inline void set_word(ContainerRequest& asked, const std::string& word) {
  if (word.starts_with('x')) {
    asked.count = std::stoll(word.substr(1));
  } else if (word.ends_with('%')) {
    asked.compute_percent = std::stoi(word);
  } else if (word == "time-slicing") {
    asked.isolation = Isolation::kTimeSlicing;
  } else if (word == "mps") {
    asked.isolation = Isolation::kMps;
  } else if (word == "mig") {
    asked.isolation = Isolation::kMig;
  } else {
    for (const std::string& glob : split(word, ',')) {
      if (glob.starts_with('!')) {
        asked.models.excluded.push_back(glob.substr(1));
      } else {
        asked.models.wanted.push_back(glob);
      }
    }
  }
}

inline GpuRequest make_asks(std::string_view text) {
  GpuRequest request;
  for (const std::string& container : split(text, ';')) {
    const std::vector<std::string> words = split(container, ' ');
    if (words.size() < 2) throw std::invalid_argument("a container is KIND WHAT WORDS…");
    ContainerRequest asked = ask_named(words[1]);
    asked.kind = kind_named(words[0]);
    asked.container = "c" + std::to_string(request.containers.size());
    for (std::size_t i = 2; i < words.size(); ++i) set_word(asked, words[i]);
    request.containers.push_back(std::move(asked));
  }
  request.main_container = request.containers.back().container;
  return request;
}

inline std::string slice_text(const NodeState& node, const DeviceTake& take) {
  const MigTable& table = *node.gpus.at(take.gpu).info->mig_table;
  return table.profiles.at(take.slice.profile).name + "@" + std::to_string(take.slice.start);
}

/// `0/0+1m 2/0+1m`: two options, in the first of which one container has GPU 0, the next GPUs 0
/// and 1, the latter in mode mps (m; w: whole, nothing: time-slicing); `0:1g.5gb@6` is a slice of
/// GPU 0. Else the reason.
inline std::string takes_text(const NodeState& node, const GpuRequest& request,
                              const Tenant& tenant = {}) {
  const Fitted fitted = fit_all(node, request, tenant);
  if (fitted.reason != ReasonCode::kNone) return std::string(reason(fitted.reason).code);
  std::string text;
  for (const Placement& option : fitted.options) {
    if (!text.empty()) text += " ";
    for (std::size_t c = 0; c < request.containers.size(); ++c) {
      std::string gpus;
      for (const DeviceTake& take : option.takes) {
        if (take.container != c) continue;
        gpus += (gpus.empty() ? "" : "+") + std::to_string(take.gpu);
        if (take.mode == GpuMode::kMps) gpus += "m";
        if (take.mode == GpuMode::kWhole) gpus += "w";
        if (take.mode == GpuMode::kMig) gpus += ":" + slice_text(node, take);
      }
      text += (c > 0 ? "/" : "") + gpus;
    }
  }
  return text;
}

struct FitRow {
  std::string_view why;
  std::string_view node;
  std::vector<HoldingPtr> holdings;
  std::string_view asks;
  std::string_view expected;
  Tenant tenant = {};
};

inline void check(const std::vector<FitRow>& rows) {
  for (const FitRow& row : rows) {
    const NodeStatePtr node = make_state(row.node, row.holdings);
    EXPECT_EQ(takes_text(*node, make_asks(row.asks), row.tenant), row.expected) << row.why;
  }
}

}  // namespace snug
