#include "snug/service/repack_advisor.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/codec/extender_codec.hpp"
#include "snug/codec/repack_codec.hpp"
#include "snug/advice/repack.hpp"
#include "snug/request/parse.hpp"
#include "snug/service/pod_claim.hpp"

namespace snug {
namespace {

/// Of a request that no pod has made, where a reservation has a uid.
constexpr std::string_view kStatedUid = "stated";

Reply refuse(int status, std::string_view sentence) {
  return {status, write_error(ReplyShape::kBind, sentence)};
}

PodFacts stated_pod(const RepackQuestion& question) {
  PodFacts pod;
  pod.name_space = question.name_space.value_or("default");
  pod.name = kStatedUid;
  pod.uid = kStatedUid;
  pod.containers.push_back({.name = "main"});
  pod.annotations = question.stated;
  return pod;
}

/// Null: no pod of this name waits.
PodPtr find_pending(const PendingPods& pending, std::string_view name_space,
                    std::string_view name) {
  for (PendingRow& row : pending.rows()) {
    if (row.pod->name_space == name_space && row.pod->name == name) return std::move(row.pod);
  }
  return nullptr;
}

/// Pods whose binds are under way or in doubt: nobody could make them move.
std::vector<std::string> in_flight(const Ledger& ledger) {
  std::vector<std::string> uids;
  for (const LedgerEntry& entry : ledger.entries()) {
    if (entry.state != HoldingState::kBound) uids.push_back(entry.holding->uid);
  }
  std::ranges::sort(uids);
  return uids;
}

}  // namespace

Reply RepackAdvisor::advise(const RepackQuestion& question) {
  // A leader is not warm while its last renewal of the Lease has failed; its view is as fresh as
  // ever.
  if (!readiness_.ready() && !readiness_.warm()) {
    return refuse(503, "Snug is not ready: " + readiness_.why_not());
  }
  if (question.pod == "" || question.name_space == "") {
    return refuse(400, std::string("the query's ") + (question.pod == "" ? "pod" : "namespace") +
                           " is empty; allowed is a name");
  }
  if (question.pod && !question.stated.empty()) {
    return refuse(400, "the query names a pod and states a request; allowed is one of the two");
  }
  if (!question.pod) {
    if (!question.stated.empty()) return advise_on(stated_pod(question));
    return refuse(400,
                  "the query asks for nothing; allowed are namespace and pod, or a request as "
                  "annotations state it: gpu-fraction, gpu-memory…");
  }
  const std::string name_space = question.name_space.value_or("default");
  const PodPtr pod = find_pending(pending_, name_space, *question.pod);
  if (pod == nullptr || ledger_.find(pod->uid)) {
    return refuse(404, "no pod " + name_space + "/" + *question.pod + " waits for a node");
  }
  return advise_on(*pod);
}

Reply RepackAdvisor::advise_on(const PodFacts& pod) {
  const auto request = parse_request(pod);
  if (!request) return refuse(400, message(request.error()));
  if (request->empty()) return refuse(400, "the pod asks for no GPU");
  const auto claim = PodClaim::make(pod, *request, policy_.current());
  if (!claim) return refuse(400, message(claim.error()));
  const std::unique_lock alone(at_work_, std::try_to_lock);
  if (!alone) return refuse(503, "another advice is being worked out; ask again");
  // Before those in flight: a bind that begins in between is in no snapshot before it.
  const SnapshotPtr snapshot = ledger_.snapshot();
  const std::vector<std::string> flying = in_flight(ledger_);
  const std::vector<std::string_view> spared(flying.begin(), flying.end());
  const RepackAdvice advice =
      repack({.snapshot = *snapshot, .claim = claim->view(), .spared = spared});
  return {200, write_repack_advice(snapshot->generation, to_text(*request), advice)};
}

}  // namespace snug
