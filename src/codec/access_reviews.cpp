#include "snug/codec/access_reviews.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json_reader.hpp"

namespace snug::codec {
namespace {

std::string dump_review(const nlohmann::json& review) {
  return review.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// `attributes_key` and `attributes` say what the user wants to do.
std::string write_access_review(const model::TokenUser& user, const char* attributes_key,
                                nlohmann::json attributes) {
  nlohmann::json spec{{"user", user.name}, {attributes_key, std::move(attributes)}};
  if (!user.uid.empty()) spec["uid"] = user.uid;
  if (!user.groups.empty()) spec["groups"] = user.groups;
  if (!user.extra.empty()) spec["extra"] = user.extra;
  return dump_review({{"apiVersion", "authorization.k8s.io/v1"},
                      {"kind", "SubjectAccessReview"},
                      {"spec", std::move(spec)}});
}

std::vector<std::string> read_texts(JsonReader& reader, const JsonCursor& list) {
  std::vector<std::string> texts;
  for (const JsonCursor& item : reader.items(list)) texts.push_back(reader.text(item));
  return texts;
}

/// The members of UserInfo.extra, each a list of texts.
std::map<std::string, std::vector<std::string>> read_extra(JsonReader& reader,
                                                           const JsonCursor& extra) {
  std::map<std::string, std::vector<std::string>> values;
  if (!extra.value) return values;
  simdjson::dom::object members;
  if (extra.value->get(members) != simdjson::SUCCESS) {
    reader.report_problem(extra, "must be an object");
    return values;
  }
  for (const simdjson::dom::key_value_pair member : members) {
    const JsonCursor list{.value = member.value, .parent = &extra, .key = member.key};
    values.emplace(member.key, read_texts(reader, list));
  }
  return values;
}

/// The user of a TokenReview; nullopt: the token is not valid.
std::optional<model::TokenUser> read_user(JsonReader& reader, const JsonCursor& review) {
  const JsonCursor status = reader.required(review, "status");
  if (!reader.boolean(reader.member(status, "authenticated"))) return std::nullopt;
  const JsonCursor user = reader.required(status, "user");
  const JsonCursor groups = reader.member(user, "groups");
  const JsonCursor extra = reader.member(user, "extra");
  return model::TokenUser{.name = reader.nonempty_text(reader.required(user, "username")),
                          .uid = reader.text(reader.member(user, "uid")),
                          .groups = read_texts(reader, groups),
                          .extra = read_extra(reader, extra)};
}

}  // namespace

std::string write_token_review(std::string_view token) {
  return dump_review({{"apiVersion", "authentication.k8s.io/v1"},
                      {"kind", "TokenReview"},
                      {"spec", {{"token", token}}}});
}

base::Result<std::optional<model::TokenUser>> read_token_review(std::string_view text,
                                                                const base::Limits& limits) {
  return read_json(text, "the API server's TokenReview", limits.max_json_depth, read_user);
}

std::string write_path_review(const model::TokenUser& user, std::string_view verb,
                              std::string_view path) {
  return write_access_review(user, "nonResourceAttributes", {{"path", path}, {"verb", verb}});
}

std::string write_pods_review(const model::TokenUser& user, std::string_view name_space) {
  return write_access_review(
      user, "resourceAttributes",
      {{"namespace", name_space}, {"verb", "list"}, {"version", "v1"}, {"resource", "pods"}});
}

base::Result<bool> read_access_review(std::string_view text, const base::Limits& limits) {
  return read_json(text, "the API server's SubjectAccessReview", limits.max_json_depth,
                   [](JsonReader& reader, const JsonCursor& root) {
                     const JsonCursor status = reader.required(root, "status");
                     return reader.boolean(reader.required(status, "allowed"));
                   });
}

}  // namespace snug::codec
