// AdmissionReviews. What the webhook adds is a JSON patch that applies, and nothing is added to the
// pod that results.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/admission_review.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

using nlohmann::json;

constexpr admission::CardRange kCards{{16'384}, {81'920}};

const admission::PodDefaults& defaults() {
  static const admission::PodDefaults kDefaults{.runtime_class = "nvidia"};
  return kDefaults;
}

base::Result<codec::AdmissionReview> read(std::string body) {
  return codec::read_admission_review(body, base::Limits{});
}

/// The patch of a reply, applied to the pod of the review.
json patched(json review, const std::string& reply) {
  const json response = json::parse(reply).at("response");
  require(response.at("allowed") == true && response.at("uid") == review.at("request").at("uid"),
          "the reply allows this request");
  if (!response.contains("patch")) return review;
  const auto patch = base::decode_base64(response.at("patch").get_ref<const std::string&>());
  require(patch.has_value(), "the patch is in base64");
  json& pod = review["request"]["object"];
  pod = pod.patch(json::parse(*patch));
  return review;
}

}  // namespace

void take_input(std::string_view input) {
  const auto review = read(std::string(input));
  if (!review) return require(!review.error().message.empty(), "an error has a message");
  const json whole = json::parse(input, nullptr, false);
  // Numbers beyond a double are JSON, but not for nlohmann.
  if (whole.is_discarded() || !review->pod) return;
  const auto additions = admission::additions_for(*review->pod, defaults(), kCards);
  const auto refusal = admission::refusal_of(*review->pod, {"snug"});
  require(!refusal || !refusal->empty(), "a refusal has a sentence");
  require(json::accept(codec::write_denied(review->uid, refusal.value_or("no"))),
          "a denial is JSON");
  if (whole.dump().size() > input.size() * 2) return;  // long numbers
  const json after = patched(whole, codec::write_allowed(review->uid, additions));
  const auto again = read(after.dump());
  require(again && again->pod, "the patched pod can be read");
  require(admission::additions_for(*again->pod, defaults(), kCards).empty(),
          "a second application adds nothing");
}

}  // namespace snug::fuzz
