#include "snug/codec/policy_reply.hpp"

#include <nlohmann/json.hpp>

namespace snug::codec {

base::Result<PolicyReply> read_policy_reply(std::string_view json) {
  const auto reply = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  PolicyReply policy;
  for (const auto& [key, text] :
       {std::pair{"source", &policy.source}, std::pair{"yaml", &policy.yaml}}) {
    const auto member = reply.find(key);
    if (!reply.is_object() || member == reply.end() || !member->is_string()) {
      return base::fail(
          base::ErrorCode::kInvalid,
          std::string("it is not the policy in force: the text \"") + key + "\" is missing");
    }
    *text = member->get<std::string>();
  }
  return policy;
}

}  // namespace snug::codec
