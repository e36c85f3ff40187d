// The user to whom a bearer token belongs, as a TokenReview of the API server names it. Plain data.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace snug::model {

struct TokenUser {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;  // what authenticators added

  friend bool operator==(const TokenUser&, const TokenUser&) = default;
};

}  // namespace snug::model
