#include "snug/codec/admission_policies.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "admission_policies.hpp"
#include "snug/admission/mirrored_resources.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/object_names.hpp"
#include "snug/mig/card_catalog.hpp"
#include "snug/model/mirrored_amounts.hpp"
#include "snug/request/pod_request_parser.hpp"

namespace snug::codec {
namespace {

/// The names of placeholders, without their braces, and the texts that replace them.
using Replacements = std::vector<std::pair<std::string_view, std::string>>;

/// Bytes of the longest key of a taint: a prefix, a slash and a name.
constexpr std::size_t kMaxTaintKey = 253 + 1 + 63;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

void fill_in(std::string& text, const Replacements& replacements) {
  for (const auto& [name, value] : replacements) {
    replace_all(text, "{{" + std::string(name) + "}}", value);
  }
}

/// Removes the first section `{{#name}}` … `{{/name}}` from `text`. Returns its contents and sets
/// `at` to its former position; npos if there is none.
std::string take_section(std::string& text, std::string_view name, std::size_t& at) {
  const std::string begin = "{{#" + std::string(name) + "}}\n";
  const std::string end = "{{/" + std::string(name) + "}}\n";
  at = text.find(begin);
  if (at == std::string::npos) return {};
  const std::size_t body = at + begin.size();
  const std::size_t body_end = text.find(end, body);
  std::string contents = text.substr(body, body_end - body);
  text.erase(at, body_end + end.size() - at);
  return contents;
}

/// Repeats each section of this name once for each row.
void repeat_sections(std::string& text, std::string_view name,
                     const std::vector<Replacements>& rows) {
  std::size_t at = 0;
  for (std::string body = take_section(text, name, at); at != std::string::npos;
       body = take_section(text, name, at)) {
    std::string repeated;
    for (const Replacements& row : rows) {
      std::string copy = body;
      fill_in(copy, row);
      repeated += copy;
    }
    text.insert(at, repeated);
  }
}

/// A key that says how much a container requests.
struct AmountKey {
  std::string_view key;
  std::string_view alias;  // a second name of the key; empty if there is none
};
/// In the order in which the template reads their values.
constexpr std::array kAmountKeys{AmountKey{"gpu-fraction", ""}, AmountKey{"gpu-memory", ""},
                                 AmountKey{"gpu-mig-profile", ""}, AmountKey{"gpu-compute", ""},
                                 AmountKey{"gpu-count", "gpu-fraction-num-devices"}};

std::vector<Replacements> key_rows() {
  std::vector<Replacements> rows;
  for (const AmountKey& row : kAmountKeys) {
    std::string of_pod;
    std::string of_container;
    if (!row.alias.empty()) {
      const std::string alias = ".or(variables.annotations[?'" + std::string(row.alias);
      of_pod = "\n      " + alias + "'])";
      of_container = "\n      " + alias + ".' + c.name])";
    }
    rows.push_back({{"key", std::string(row.key)},
                    {"or_alias_of_pod", of_pod},
                    {"or_alias_of_container", of_container}});
  }
  return rows;
}

/// One line of a CEL map for each profile of a built-in card.
std::string slice_rows() {
  std::set<std::string> names;
  for (const mig::MigCard& card : mig::mig_cards()) {
    for (const model::MigProfile& profile : card.table->profiles) {
      names.insert(profile.name);
      if (!profile.alias.empty()) names.insert(profile.alias);
    }
  }
  std::string rows;
  for (const std::string& name : names) {
    const model::MirroredAmounts amounts = admission::slice_amounts(name);
    rows += "      '" + name + "': [" + std::to_string(amounts.milli.value) + ", " +
            std::to_string(amounts.memory.value) + "],\n";
  }
  return rows;
}

std::vector<Replacements> variable_rows() {
  std::vector<Replacements> rows;
  rows.reserve(admission::kDownwardVariables.size());
  for (const admission::DownwardVariable& variable : admission::kDownwardVariables) {
    rows.push_back(
        {{"name", std::string(variable.name)}, {"annotation", std::string(variable.annotation)}});
  }
  return rows;
}

std::vector<std::string> variable_names() {
  std::vector<std::string> names;
  names.reserve(admission::kDownwardVariables.size());
  for (const admission::DownwardVariable& variable : admission::kDownwardVariables) {
    names.emplace_back(variable.name);
  }
  return names;
}

/// A CEL list of texts, with three in a line.
template <typename Text>
std::string text_list(const std::vector<Text>& texts, const std::string& indent) {
  constexpr std::size_t kTextsPerLine = 3;
  std::string list = "[";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) list += i % kTextsPerLine == 0 ? ",\n" + indent : ", ";
    list.append("'").append(texts[i]).append("'");
  }
  return list + "]";
}

/// A CEL list with one operation unless `condition` holds, and `+` after it.
std::string set_unless(const std::string& condition, const std::string& path,
                       const std::string& value) {
  return "\n        (" + condition + " ? [] :\n        [JSONPatch{op: 'add', path: '" + path +
         "', value: '" + value + "'}]) +";
}

base::Result<void> check(const admission::PodDefaults& defaults) {
  if (!defaults.scheduler.empty()) {
    if (auto checked = check_object_name("scheduler", defaults.scheduler); !checked) return checked;
  }
  if (!defaults.runtime_class.empty()) {
    auto checked = check_object_name("runtime class", defaults.runtime_class);
    if (!checked) return checked;
  }
  for (const std::string& key : defaults.tolerations) {
    if (!is_taint_key(key)) {
      return base::fail(base::ErrorCode::kInvalid,
                        "the toleration " + base::in_quotes(key) +
                            " is not the key of a taint; expected 1 to " +
                            std::to_string(kMaxTaintKey) + " letters, digits and -_./");
    }
  }
  return {};
}

}  // namespace

bool is_taint_key(std::string_view key) {
  constexpr std::string_view kPunctuation = "-_./";
  return !key.empty() && key.size() <= kMaxTaintKey && std::ranges::all_of(key, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kPunctuation.contains(c);
  });
}

base::Result<std::string> write_admission_policies(const admission::PodDefaults& defaults) {
  if (auto checked = check(defaults); !checked) return std::unexpected(checked.error());
  std::string text = kAdmissionPoliciesTemplate;
  std::size_t at = 0;
  for (const std::string name : {"gpu_containers", "gpu_variables"}) {
    const std::string shared = take_section(text, name, at);
    text.insert(at, shared);
    replace_all(text, "{{" + name + "}}\n", shared);
  }
  repeat_sections(text, "each_key", key_rows());
  repeat_sections(text, "each_variable", variable_rows());
  std::string scheduler;
  std::string lacks_scheduler;
  if (!defaults.scheduler.empty()) {
    const std::string by_default = "'" + std::string(admission::kDefaultScheduler) + "'";
    const std::string name = "object.spec.?schedulerName.orValue(" + by_default + ")";
    scheduler = set_unless(name + " != " + by_default, "/spec/schedulerName", defaults.scheduler);
    lacks_scheduler = name + " == " + by_default + "\n      || ";
  }
  std::string runtime_class;
  std::string lacks_runtime_class;
  if (!defaults.runtime_class.empty()) {
    runtime_class = set_unless("has(object.spec.runtimeClassName)", "/spec/runtimeClassName",
                               defaults.runtime_class);
    lacks_runtime_class = "!has(object.spec.runtimeClassName)\n      || ";
  }
  fill_in(text, {{"scheduler", scheduler},
                 {"runtime_class", runtime_class},
                 {"request_keys", text_list(request::request_keys(), "      ")},
                 {"tolerations", text_list(defaults.tolerations, "        ")},
                 {"lacks_scheduler", lacks_scheduler},
                 {"lacks_runtime_class", lacks_runtime_class},
                 {"variable_names", text_list(variable_names(), "      ")},
                 {"slices", slice_rows()},
                 {"milli_resource", std::string(model::kMilliResource)},
                 {"memory_resource", std::string(model::kMemoryResource)}});
  return text;
}

}  // namespace snug::codec
