#include <cstddef>
#include <string>
#include <utility>

#include "codec/json_writer.hpp"
#include "snug/codec/extender_codec.hpp"

namespace snug::codec {
namespace {

/// The data of a filter reply.
struct FilterReply {
  const ScheduleCall& call;
  std::span<const std::size_t> feasible;
  bool all_feasible = false;  // all nodes of the call are feasible; `feasible` is ignored
  std::span<const std::pair<std::size_t, std::string_view>> failed;
  std::span<const std::pair<std::size_t, std::string_view>> unresolvable;
};

/// Returns the approximate size of the reply in bytes. The caller reserves this much memory, so
/// that the reply is allocated only once.
std::size_t reply_size(const FilterReply& reply) {
  constexpr std::size_t kFrame = 256;
  constexpr std::size_t kQuotes = 6;
  std::size_t reply_bytes = kFrame;
  const auto add_feasible = [&](std::size_t position) {
    reply_bytes += kQuotes + (reply.call.has_node_objects ? reply.call.node_objects[position].size()
                                                          : reply.call.node_names[position].size());
  };
  if (reply.all_feasible) {
    for (std::size_t i = 0; i < reply.call.node_names.size(); ++i) add_feasible(i);
  }
  for (const std::size_t position : reply.feasible) add_feasible(position);
  for (const auto failures : {reply.failed, reply.unresolvable}) {
    for (const auto& [position, message] : failures) {
      reply_bytes += kQuotes + reply.call.node_names[position].size() + message.size();
    }
  }
  return reply_bytes;
}

void append_feasible(std::string& out, const FilterReply& reply) {
  bool first_node = true;
  const auto append_node = [&](std::size_t position) {
    if (!first_node) out += ',';
    first_node = false;
    if (reply.call.has_node_objects) {
      out += reply.call.node_objects[position];
    } else {
      append_json_string(out, reply.call.node_names[position]);
    }
  };
  if (reply.all_feasible) {
    for (std::size_t i = 0; i < reply.call.node_names.size(); ++i) append_node(i);
  } else {
    for (const std::size_t position : reply.feasible) append_node(position);
  }
}

/// Appends a message that kube-scheduler shows to people. It passes the message to fmt.Sprintf as a
/// format, without arguments, to make the event FailedScheduling; the pod's condition has the
/// message as it is. So that both are readable, each `%` becomes a full-width percent sign.
void append_shown_message(std::string& out, std::string_view message) {
  if (!message.contains('%')) return append_json_string(out, message);
  std::string safe_message;
  for (const char c : message) {
    if (c == '%') {
      safe_message += "\xEF\xBC\x85";
    } else {
      safe_message += c;
    }
  }
  append_json_string(out, safe_message);
}

/// Appends a map of node names to messages, or null if `failed` is empty. Escapes a message only
/// once if consecutive nodes have the same message.
void append_failed(std::string& out, const ScheduleCall& call,
                   std::span<const std::pair<std::size_t, std::string_view>> failed) {
  if (failed.empty()) {
    out += "null";
    return;
  }
  std::string_view last_message;
  std::string escaped_message;
  char separator = '{';
  for (const auto& [position, message] : failed) {
    out += separator;
    separator = ',';
    append_json_string(out, call.node_names[position]);
    out += ':';
    if (escaped_message.empty() || message != last_message) {
      escaped_message.clear();
      append_shown_message(escaped_message, message);
      last_message = message;
    }
    out += escaped_message;
  }
  out += '}';
}

std::string write_filter_reply(const FilterReply& reply) {
  std::string out;
  out.reserve(reply_size(reply));
  if (reply.call.has_node_objects) {
    out += R"({"Nodes":{"metadata":{},"items":[)";
    append_feasible(out, reply);
    out += R"(]},"NodeNames":null)";
  } else {
    out += R"({"Nodes":null,"NodeNames":[)";
    append_feasible(out, reply);
    out += ']';
  }
  out += R"(,"FailedNodes":)";
  append_failed(out, reply.call, reply.failed);
  out += R"(,"FailedAndUnresolvableNodes":)";
  append_failed(out, reply.call, reply.unresolvable);
  out += R"(,"Error":""})";
  return out;
}

}  // namespace

std::string write_filter(const ScheduleCall& call, const FilterResult& result) {
  return write_filter_reply({.call = call,
                             .feasible = result.feasible,
                             .failed = result.failed,
                             .unresolvable = result.unresolvable});
}

std::string write_filter_all(const ScheduleCall& call) {
  return write_filter_reply(
      {.call = call, .feasible = {}, .all_feasible = true, .failed = {}, .unresolvable = {}});
}

std::string write_prioritize(std::span<const HostPriority> scores) {
  constexpr std::size_t kFrame = 24;
  std::size_t reply_bytes = 2;
  for (const HostPriority& priority : scores) reply_bytes += priority.host.size() + kFrame;
  std::string out;
  out.reserve(reply_bytes);
  out += '[';
  bool first_host = true;
  for (const HostPriority& priority : scores) {
    out += first_host ? R"({"Host":)" : R"(,{"Host":)";
    first_host = false;
    append_json_string(out, priority.host);
    out += R"(,"Score":)";
    out += std::to_string(priority.score);
    out += '}';
  }
  out += ']';
  return out;
}

std::string write_preempt(std::span<const NodeVictims> victims) {
  std::string out = R"({"NodeNameToMetaVictims":{)";
  bool first_node = true;
  for (const NodeVictims& node_victims : victims) {
    if (node_victims.uids.empty()) continue;
    if (!std::exchange(first_node, false)) out += ',';
    append_json_string(out, node_victims.node);
    out += R"(:{"Pods":[)";
    bool first_victim = true;
    for (const std::string_view victim_uid : node_victims.uids) {
      out += std::exchange(first_victim, false) ? R"({"UID":)" : R"(,{"UID":)";
      append_json_string(out, victim_uid);
      out += '}';
    }
    out += R"(],"NumPDBViolations":)";
    out += std::to_string(node_victims.pdb_violations);
    out += '}';
  }
  out += "}}";
  return out;
}

std::string write_bind(std::string_view error) {
  std::string out = R"({"Error":)";
  append_shown_message(out, error);
  out += '}';
  return out;
}

std::string write_error(ReplyShape shape, std::string_view sentence) {
  std::string out =
      shape == ReplyShape::kFilter
          ? R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":)"
          : R"({"Error":)";
  append_json_string(out, sentence);
  out += '}';
  return out;
}

}  // namespace snug::codec
