#include "snug/codec/extender_codec.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "codec/json_text.hpp"
#include "codec/kube_dom.hpp"
#include "codec/preempt_reading.hpp"
#include "snug/base/name_hash.hpp"

namespace snug {
namespace {

using simdjson::dom::element;

constexpr std::size_t kLongestName = 253;  // of any Kubernetes object; uids are shorter

/// Which names came already: an open-addressing table over the call's names, kept between calls.
class SeenNames {
 public:
  void start(std::size_t most) {
    slots_.assign(std::bit_ceil(most * 2 + 2), Slot{});
    mask_ = slots_.size() - 1;
  }

  void trim() {
    if (slots_.capacity() * sizeof(Slot) > kKeptBytes) std::vector<Slot>{}.swap(slots_);
  }

  /// Whether the name is new; it is then names[position].
  bool add(std::string_view name, std::size_t position, std::span<const std::string_view> names) {
    const std::uint64_t hash = name_hash(name);
    const auto tag = static_cast<std::uint32_t>(hash >> 32U);
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.next_position == 0) {
        slot = {tag, static_cast<std::uint32_t>(position + 1)};
        return true;
      }
      if (slot.tag == tag && names[slot.next_position - 1] == name) return false;
    }
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t next_position = 0;  // one past the name's; 0: free
  };
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
};

/// Which of the five members of ExtenderFilterResult carry something.
struct FilterParts {
  const ScheduleCall& call;
  std::span<const std::size_t> kept;
  bool all = false;  // every name is kept, whatever `kept` says
  std::span<const std::pair<std::size_t, std::string_view>> failed;
  std::span<const std::pair<std::size_t, std::string_view>> failed_for_good;
};

/// Room for the whole reply, so that it is never copied while it grows.
std::size_t reply_size(const FilterParts& parts) {
  constexpr std::size_t kFrame = 256;
  constexpr std::size_t kQuotes = 6;
  std::size_t size = kFrame;
  const auto add_kept = [&](std::size_t position) {
    size += kQuotes + (parts.call.nodes_form ? parts.call.objects[position].size()
                                             : parts.call.names[position].size());
  };
  if (parts.all) {
    for (std::size_t i = 0; i < parts.call.names.size(); ++i) add_kept(i);
  }
  for (const std::size_t position : parts.kept) add_kept(position);
  for (const auto list : {parts.failed, parts.failed_for_good}) {
    for (const auto& [position, message] : list) {
      size += kQuotes + parts.call.names[position].size() + message.size();
    }
  }
  return size;
}

void append_kept(std::string& out, const FilterParts& parts) {
  bool first = true;
  const auto append = [&](std::size_t position) {
    if (!first) out += ',';
    first = false;
    if (parts.call.nodes_form) {
      out += parts.call.objects[position];
    } else {
      append_json_string(out, parts.call.names[position]);
    }
  };
  if (parts.all) {
    for (std::size_t i = 0; i < parts.call.names.size(); ++i) append(i);
  } else {
    for (const std::size_t position : parts.kept) append(position);
  }
}

/// {name: message}, or null when there is none. Messages repeat, so that each is escaped once.
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
    append_json_string(out, call.names[position]);
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
  if (parts.call.nodes_form) {
    out += R"({"Nodes":{"metadata":{},"items":[)";
    append_kept(out, parts);
    out += R"(]},"NodeNames":null)";
  } else {
    out += R"({"Nodes":null,"NodeNames":[)";
    append_kept(out, parts);
    out += ']';
  }
  out += R"(,"FailedNodes":)";
  append_failed(out, parts.call, parts.failed);
  out += R"(,"FailedAndUnresolvableNodes":)";
  append_failed(out, parts.call, parts.failed_for_good);
  out += R"(,"Error":""})";
  return out;
}

}  // namespace

struct ExtenderReader::State {
  explicit State(const Limits& the_limits)
      : limits{the_limits},
        parser{the_limits},
        max_names{static_cast<std::size_t>(the_limits.max_names_per_call)} {}

  /// Makes room for the names of a list, or says that there are too many of them.
  Result<void> start_names(const element& list, std::string_view what, ScheduleCall& call) {
    simdjson::dom::array items;
    if (list.get(items) != simdjson::SUCCESS) {
      return fail(ErrorCode::kInvalid, std::string{what} + " must be an array");
    }
    std::size_t count = items.size();
    // simdjson counts up to 2^24 - 1 only, which is far over the limit too.
    if (count > max_names) {
      return fail(ErrorCode::kTooLarge, std::string{what} + " has " + std::to_string(count) +
                                            " entries; at most " + std::to_string(max_names) +
                                            " are allowed");
    }
    seen.start(count);
    call.names.reserve(count);
    return {};
  }

  Result<void> read_names(const Field& field, ScheduleCall& call) {
    if (Result<void> started = start_names(field.value, "NodeNames", call); !started) {
      return started;
    }
    DomWalk walk;
    walk.each_item(field, Where{}, [&](const element& item, const Where& where) {
      std::string_view name;
      if (item.get(name) != simdjson::SUCCESS || name.empty()) {
        return walk.fail_at(where, "must be a string that is not empty");
      }
      if (seen.add(name, call.names.size(), call.names)) call.names.push_back(name);
    });
    if (!walk.ok()) return walk.take_error();
    return {};
  }

  Result<void> read_objects(const Field& field, ScheduleCall& call) {
    call.nodes_form = true;
    const Where here{nullptr, field.key};
    DomWalk walk;
    std::array<Field, 1> items{{{"items"}}};
    walk.fields(field.value, here, items);
    if (!walk.ok()) return walk.take_error();
    if (!items[0].present) return {};
    if (Result<void> started = start_names(items[0].value, "Nodes.items", call); !started) {
      return started;
    }
    walk.each_item(items[0], here, [&](const element& item, const Where& where) {
      const Result<std::string_view> name = object_name(item, where);
      if (!name) return walk.fail_with(name.error());
      if (!seen.add(*name, call.names.size(), call.names)) return;
      call.names.push_back(*name);
      call.objects.push_back(simdjson::minify(item));
    });
    if (!walk.ok()) return walk.take_error();
    return {};
  }

  Limits limits;
  DomParser parser;
  SeenNames seen;
  std::size_t max_names;
};

ExtenderReader::ExtenderReader(const Limits& limits) : state_{std::make_unique<State>(limits)} {}
ExtenderReader::~ExtenderReader() = default;
ExtenderReader::ExtenderReader(ExtenderReader&&) noexcept = default;
ExtenderReader& ExtenderReader::operator=(ExtenderReader&&) noexcept = default;

Result<ScheduleCall> ExtenderReader::read_schedule(std::string& body) {
  const Result<element> root = state_->parser.parse_in_place(body);
  if (!root) return std::unexpected(root.error());
  DomWalk walk;
  std::array<Field, 3> wanted{{{"Pod"}, {"Nodes"}, {"NodeNames"}}};
  const auto& [pod, nodes, node_names] = wanted;
  walk.fields(*root, Where{nullptr, "the body"}, wanted, KeyCase::kAny);
  if (!walk.ok()) return walk.take_error();
  if (!pod.present) {
    return fail(ErrorCode::kInvalid, "Pod is missing or null; it must be an object");
  }
  if (nodes.present == node_names.present) {
    return fail(ErrorCode::kInvalid, std::string{nodes.present ? "both" : "neither"} +
                                         " of Nodes and NodeNames came; there must be one");
  }
  Result<PodFacts> facts = pod_from(pod.value, Where{nullptr, pod.key});
  if (!facts) return std::unexpected(std::move(facts.error()));
  ScheduleCall call;
  call.pod = std::move(*facts);
  Result<void> names =
      nodes.present ? state_->read_objects(nodes, call) : state_->read_names(node_names, call);
  if (!names) return std::unexpected(std::move(names.error()));
  return call;
}

Result<PreemptCall> ExtenderReader::read_preempt(std::string& body) {
  const Result<element> root = state_->parser.parse_in_place(body);
  if (!root) return std::unexpected(root.error());
  return preempt_from(*root, state_->limits);
}

Result<BindCall> ExtenderReader::read_bind(std::string& body) {
  const Result<element> root = state_->parser.parse_in_place(body);
  if (!root) return std::unexpected(root.error());
  DomWalk walk;
  const Where here{};
  std::array<Field, 4> wanted{{{"PodName"}, {"PodNamespace"}, {"PodUID"}, {"Node"}}};
  walk.fields(*root, Where{nullptr, "the body"}, wanted, KeyCase::kAny);
  BindCall call;
  std::array<std::string*, 4> texts{&call.pod, &call.name_space, &call.uid, &call.node};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    walk.text(wanted[i], here, *texts[i]);
    if (texts[i]->empty()) {
      walk.fail_at(Where{nullptr, wanted[i].key}, "must be a string that is not empty");
    } else if (texts[i]->size() > kLongestName) {
      walk.fail_at(Where{nullptr, wanted[i].key}, "has more than 253 characters, as no name has");
    }
  }
  if (!walk.ok()) return walk.take_error();
  return call;
}

void ExtenderReader::trim() {
  state_->parser.trim();
  state_->seen.trim();
}

std::string write_filter(const ScheduleCall& call, const FilterAnswer& answer) {
  return write_parts({.call = call,
                      .kept = answer.kept,
                      .failed = answer.failed,
                      .failed_for_good = answer.failed_for_good});
}

std::string write_filter_all(const ScheduleCall& call) {
  return write_parts({.call = call, .kept = {}, .all = true, .failed = {}, .failed_for_good = {}});
}

std::string write_prioritize(std::span<const HostScore> scores) {
  constexpr std::size_t kFrame = 24;
  std::size_t size = 2;
  for (const HostScore& score : scores) size += score.host.size() + kFrame;
  std::string out;
  out.reserve(size);
  out += '[';
  bool first = true;
  for (const HostScore& score : scores) {
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

}  // namespace snug
