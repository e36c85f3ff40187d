#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "service/error_reply.hpp"
#include "snug/advice/repack.hpp"
#include "snug/codec/repack_codec.hpp"
#include "snug/service/admin_service.hpp"

namespace snug::service {
namespace {

/// The uid and name of the pod that is made up for a query without a pod.
constexpr std::string_view kStatedUid = "stated";

class DefragGuard {
 public:
  explicit DefragGuard(std::atomic<bool>& defrag_runs) : defrag_runs_(defrag_runs) {}
  ~DefragGuard() { defrag_runs_ = false; }
  DefragGuard(const DefragGuard&) = delete;
  DefragGuard& operator=(const DefragGuard&) = delete;

 private:
  std::atomic<bool>& defrag_runs_;
};

PodInfoPtr pod_from_query(const RepackQuery& query) {
  model::PodFacts pod;
  pod.name_space = query.name_space.value_or("default");
  pod.name = kStatedUid;
  pod.uid = kStatedUid;
  pod.containers.push_back({.name = "main"});
  pod.annotations = query.request;
  return std::make_shared<const PodInfo>(std::move(pod));
}

}  // namespace

Reply AdminService::defrag(const RepackQuery& query) {
  // A leader whose last renewal of the Lease has failed is no warm standby, but it stays ready
  // until its Lease ends. So either of the two is enough.
  if (!parts_.readiness.is_ready() && !parts_.readiness.is_warm_standby()) {
    return error_reply(503, "Snug is not ready: " + parts_.readiness.why_not());
  }
  if (query.pod == "" || query.name_space == "") {
    return error_reply(400, std::string("the query's ") + (query.pod == "" ? "pod" : "namespace") +
                                " is empty; expected a name");
  }
  if (query.pod && !query.request.empty()) {
    return error_reply(400, "the query has both a pod and a request; expected one of the two");
  }
  if (!query.pod) {
    if (!query.request.empty()) return defrag_for(pod_from_query(query));
    return error_reply(
        400,
        "the query has neither a pod nor a request; expected pod and namespace, or the "
        "keys of annotations: gpu-fraction, gpu-memory…");
  }
  const std::string name_space = query.name_space.value_or("default");
  const PodInfoPtr pod = parts_.pending.find(name_space, *query.pod);
  if (pod == nullptr || parts_.ledger.find(pod->facts.uid)) {
    return error_reply(404, "no pod " + name_space + "/" + *query.pod + " is pending");
  }
  return defrag_for(pod);
}

Reply AdminService::defrag_for(const PodInfoPtr& pod) {
  if (!pod->request) return error_reply(400, model::message(pod->request.error()));
  if (pod->request->empty()) return error_reply(400, "the pod asks for no GPU");
  const auto claim = PodClaim::make(pod, parts_.policy.current());
  if (!claim) return error_reply(400, model::message(claim.error()));
  if (defrag_runs_.exchange(true)) {
    return error_reply(503, "another defrag request is running; try again");
  }
  const DefragGuard guard(defrag_runs_);
  // The snapshot must be taken before the list of binds in flight. Then the list contains every
  // bind that the snapshot shows and that is still in flight.
  const model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  const std::vector<std::string> in_flight_uids = parts_.ledger.uids_in_flight();
  const std::vector<std::string_view> protected_uids(in_flight_uids.begin(), in_flight_uids.end());
  const advice::RepackAdvice repack_advice = advice::repack(
      {.snapshot = *snapshot, .incoming = claim->view(), .protected_uids = protected_uids});
  return {200, codec::write_repack_advice(snapshot->generation, model::to_text(*pod->request),
                                          repack_advice)};
}

}  // namespace snug::service
