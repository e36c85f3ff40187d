#include <cstddef>
#include <string>
#include <utility>

#include "codec/json_writer.hpp"
#include "snug/codec/extender_codec.hpp"

namespace snug::codec {
namespace {

/// The data of a filter reply.
struct FilterParts {
  const ScheduleCall& call;
  std::span<const std::size_t> feasible;
  bool all_feasible = false;  // all nodes of the call are feasible; `feasible` is ignored
  std::span<const std::pair<std::size_t, std::string_view>> failed;
  std::span<const std::pair<std::size_t, std::string_view>> unresolvable;
};

/// Returns the approximate size of the reply in bytes. The caller reserves this much memory, so
/// that the reply is allocated only once.
std::size_t reply_size(const FilterParts& parts) {
  constexpr std::size_t kFrame = 256;
  constexpr std::size_t kQuotes = 6;
  std::size_t size = kFrame;
  const auto add_kept = [&](std::size_t position) {
    size += kQuotes + (parts.call.has_node_objects ? parts.call.node_objects[position].size()
                                                   : parts.call.node_names[position].size());
  };
  if (parts.all_feasible) {
    for (std::size_t i = 0; i < parts.call.node_names.size(); ++i) add_kept(i);
  }
  for (const std::size_t position : parts.feasible) add_kept(position);
  for (const auto list : {parts.failed, parts.unresolvable}) {
    for (const auto& [position, message] : list) {
      size += kQuotes + parts.call.node_names[position].size() + message.size();
    }
  }
  return size;
}

void append_feasible(std::string& out, const FilterParts& parts) {
  bool first = true;
  const auto append = [&](std::size_t position) {
    if (!first) out += ',';
    first = false;
    if (parts.call.has_node_objects) {
      out += parts.call.node_objects[position];
    } else {
      append_json_string(out, parts.call.node_names[position]);
    }
  };
  if (parts.all_feasible) {
    for (std::size_t i = 0; i < parts.call.node_names.size(); ++i) append(i);
  } else {
    for (const std::size_t position : parts.feasible) append(position);
  }
}

/// Appends a map of node names to messages, or null if `failed` is empty. Escapes a message only
/// once if consecutive nodes have the same message.
void append_failed(std::string& out, const ScheduleCall& call,
                   std::span<const std::pair<std::size_t, std::string_view>> failed) {
  if (failed.empty()) {
    out += "null";
    return;
  }
  std::string_view last;
  std::string escaped;
  char separator = '{';
  for (const auto& [position, message] : failed) {
    out += separator;
    separator = ',';
    append_json_string(out, call.node_names[position]);
    out += ':';
    if (escaped.empty() || message != last) {
      escaped.clear();
      append_json_string(escaped, message);
      last = message;
    }
    out += escaped;
  }
  out += '}';
}

std::string write_parts(const FilterParts& parts) {
  std::string out;
  out.reserve(reply_size(parts));
  if (parts.call.has_node_objects) {
    out += R"({"Nodes":{"metadata":{},"items":[)";
    append_feasible(out, parts);
    out += R"(]},"NodeNames":null)";
  } else {
    out += R"({"Nodes":null,"NodeNames":[)";
    append_feasible(out, parts);
    out += ']';
  }
  out += R"(,"FailedNodes":)";
  append_failed(out, parts.call, parts.failed);
  out += R"(,"FailedAndUnresolvableNodes":)";
  append_failed(out, parts.call, parts.unresolvable);
  out += R"(,"Error":""})";
  return out;
}

}  // namespace

std::string write_filter(const ScheduleCall& call, const FilterResult& result) {
  return write_parts({.call = call,
                      .feasible = result.feasible,
                      .failed = result.failed,
                      .unresolvable = result.unresolvable});
}

std::string write_filter_all(const ScheduleCall& call) {
  return write_parts(
      {.call = call, .feasible = {}, .all_feasible = true, .failed = {}, .unresolvable = {}});
}

std::string write_prioritize(std::span<const HostPriority> scores) {
  constexpr std::size_t kFrame = 24;
  std::size_t size = 2;
  for (const HostPriority& score : scores) size += score.host.size() + kFrame;
  std::string out;
  out.reserve(size);
  out += '[';
  bool first = true;
  for (const HostPriority& score : scores) {
    out += first ? R"({"Host":)" : R"(,{"Host":)";
    first = false;
    append_json_string(out, score.host);
    out += R"(,"Score":)";
    out += std::to_string(score.score);
    out += '}';
  }
  out += ']';
  return out;
}

std::string write_preempt(std::span<const NodeVictims> victims) {
  std::string out = R"({"NodeNameToMetaVictims":{)";
  bool first_node = true;
  for (const NodeVictims& node : victims) {
    if (node.uids.empty()) continue;
    if (!std::exchange(first_node, false)) out += ',';
    append_json_string(out, node.node);
    out += R"(:{"Pods":[)";
    bool first_pod = true;
    for (const std::string_view uid : node.uids) {
      out += std::exchange(first_pod, false) ? R"({"UID":)" : R"(,{"UID":)";
      append_json_string(out, uid);
      out += '}';
    }
    out += R"(],"NumPDBViolations":)";
    out += std::to_string(node.pdb_violations);
    out += '}';
  }
  out += "}}";
  return out;
}

std::string write_bind(std::string_view error) {
  std::string out = R"({"Error":)";
  append_json_string(out, error);
  out += '}';
  return out;
}

std::string write_error(ReplyShape shape, std::string_view sentence) {
  if (shape != ReplyShape::kFilter) return write_bind(sentence);
  std::string out =
      R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":)";
  append_json_string(out, sentence);
  out += '}';
  return out;
}

}  // namespace snug::codec
