#include "service/tenant_view.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/explain/explanation.hpp"

namespace snug::service {
namespace {

/// Advice that changes the request, and nothing that belongs to anybody else.
constexpr std::array kOwnAdvice{explain::AdviceKind::kSmallerRequest, explain::AdviceKind::kProfile,
                                explain::AdviceKind::kModel, explain::AdviceKind::kIsolation};

bool changes_own_request(const codec::ExplainReply::Advice& advice) {
  return std::ranges::any_of(kOwnAdvice, [&](explain::AdviceKind kind) {
    return explain::kAdviceKindNames[kind] == advice.kind;
  });
}

}  // namespace

codec::ExplainReply tenant_view(codec::ExplainReply reply) {
  // Listed one by one, so that a field that is added later is not shown by mistake.
  codec::ExplainReply view{.generation = reply.generation,
                           .name_space = std::move(reply.name_space),
                           .pod = std::move(reply.pod),
                           .uid = std::move(reply.uid),
                           .state = std::move(reply.state),
                           .node = std::move(reply.node),
                           .request = std::move(reply.request),
                           .refusal = std::move(reply.refusal),
                           .nodes = reply.nodes,
                           .feasible = reply.feasible,
                           .reasons = std::move(reply.reasons)};
  for (codec::ExplainReply::Advice& advice : reply.advice) {
    if (changes_own_request(advice))
      view.advice.push_back({.kind = advice.kind, .sentence = std::move(advice.sentence)});
  }
  view.notes.emplace_back(
      "names of other pods and of nodes are left out: you may read about the "
      "pods of this namespace only");
  return view;
}

}  // namespace snug::service
