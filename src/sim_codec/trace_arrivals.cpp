// Reads the arrivals file of a trace: the pods in the order of their arrival, and the nodes' ranks.
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "snug/base/text.hpp"
#include "snug/base/units.hpp"
#include "snug/mig/catalog.hpp"
#include "snug/sim_codec/trace_codec.hpp"

namespace snug {
namespace {

constexpr std::string_view kBlanks = " \t\r";

/// The words of a line; those beyond the fourth are left out, since no line has so many.
class Words {
 public:
  explicit Words(std::string_view line) {
    while (count_ < words_.size()) {
      line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
      if (line.empty()) return;
      const std::size_t length = std::min(line.find_first_of(kBlanks), line.size());
      words_[count_++] = line.substr(0, length);
      line.remove_prefix(length);
    }
  }
  [[nodiscard]] std::size_t size() const { return count_; }
  std::string_view operator[](std::size_t at) const { return words_[at]; }

 private:
  std::array<std::string_view, 4> words_;
  std::size_t count_ = 0;
};

/// Digits with or without a fraction, up to kLargestQuantity.
std::optional<double> parse_lifetime(std::string_view text) {
  const bool plain =
      !text.empty() && text.front() != '.' && text.back() != '.' &&
      std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  if (!plain) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value > static_cast<double>(kLargestQuantity)) return std::nullopt;
  return value;
}

class ArrivalsReader {
 public:
  ArrivalsReader(const TraceFile& file, const Trace& trace) : file_(file), trace_(trace) {
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) positions_.emplace(trace.nodes[i].name, i);
    ranks_.resize(trace.nodes.size());
  }

  Result<void> read() {
    std::string_view rest = file_.text;
    if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
    for (; !rest.empty(); ++line_) {
      const std::size_t length = std::min(rest.find('\n'), rest.size());
      if (const auto read = read_line(Words(rest.substr(0, length))); !read) return read;
      rest.remove_prefix(std::min(length + 1, rest.size()));
    }
    line_ = std::max<std::int64_t>(line_ - 1, 1);  // the last
    if (arrivals_.empty()) return problem("there is no arrival; expected lines p ROW or m PROFILE");
    return all_ranked();
  }

  std::vector<Arrival> take_arrivals() { return std::move(arrivals_); }
  /// Those that ask for slices, which come after the trace's pods.
  [[nodiscard]] const std::vector<TracePod>& slice_pods() const { return slice_pods_; }

  /// Positions of the trace's nodes, by rank.
  [[nodiscard]] std::vector<std::size_t> order() const {
    std::vector<std::size_t> order;
    order.reserve(trace_.nodes.size());
    for (const auto& [rank, holder] : holders_) order.push_back(holder.node);
    for (std::size_t i = 0; holders_.empty() && i < trace_.nodes.size(); ++i) order.push_back(i);
    return order;
  }

 private:
  struct Holder {
    std::size_t node = 0;
    std::int64_t line = 0;
  };

  [[nodiscard]] std::unexpected<Error> problem(const std::string& sentence) const {
    return fail(ErrorCode::kInvalid,
                std::string(file_.source) + ':' + std::to_string(line_) + ": " + sentence);
  }

  Result<void> read_line(const Words& words) {
    if (words.size() == 0 || words[0].front() == '#') return {};
    if (words[0] == "p") return read_pod(words);
    if (words[0] == "n") return read_rank(words);
    if (words[0] == "m") return read_slice(words);
    return problem(
        "a line must be p ROW or m PROFILE, each with or without a LIFETIME, or n NODE RANK, and "
        "cannot begin with " +
        in_quotes(words[0]));
  }

  Result<void> read_pod(const Words& words) {
    if (words.size() != 2 && words.size() != 3) {
      return problem("a line p must be p ROW or p ROW LIFETIME");
    }
    const std::optional<std::int64_t> row = parse_integer(words[1]);
    if (trace_.pods.empty()) return problem("a line p names a pod, and there is no file of pods");
    const auto pods = static_cast<std::int64_t>(trace_.pods.size());
    if (!row || *row < 0 || *row >= pods) {
      return problem("ROW must be an integer from 0 to " + std::to_string(pods - 1) +
                     ", a row of the pods, not " + in_quotes(words[1]));
    }
    return read_lifetime(words, {.pod = static_cast<std::size_t>(*row)});
  }

  Result<void> read_slice(const Words& words) {
    if (words.size() != 2 && words.size() != 3) {
      return problem("a line m must be m PROFILE or m PROFILE LIFETIME");
    }
    auto known = pod_of_profile_.find(words[1]);
    if (known == pod_of_profile_.end()) {
      const std::optional<TracePod> pod = pod_asking(words[1]);
      if (!pod) return unknown_profile(words[1]);
      known = pod_of_profile_.emplace(words[1], trace_.pods.size() + slice_pods_.size()).first;
      slice_pods_.push_back(*pod);
    }
    return read_lifetime(words, {.pod = known->second});
  }

  /// By the first node that has the profile.
  [[nodiscard]] std::optional<TracePod> pod_asking(std::string_view text) const {
    const std::optional<MigName> name = parse_mig_name(text);
    if (!name) return std::nullopt;
    for (const TraceNode& node : trace_.nodes) {
      const MigCard* card = node.mig_card;
      const auto found = card == nullptr ? std::nullopt : card->table->find(name->name);
      if (!found) continue;
      const int slices = card->table->profiles[*found].size;
      return TracePod{.name = name->name,
                      .gpus = 1,
                      .gpu_milli = static_cast<int>(kWholeGpu.value) * slices / card->table->axis,
                      .mig_profile = name->name,
                      .mig_slices = slices};
    }
    return std::nullopt;
  }

  /// Profiles of one card are named; where there are several, the cards.
  [[nodiscard]] std::unexpected<Error> unknown_profile(std::string_view text) const {
    std::vector<const MigCard*> cards;
    for (const TraceNode& node : trace_.nodes) {
      const MigCard* card = node.mig_card;
      if (card != nullptr && std::ranges::find(cards, card) == cards.end()) {
        cards.push_back(card);
      }
    }
    if (cards.empty()) {
      return problem("a line m asks for a MIG slice, and no node with GPUs has mig 1");
    }
    std::string allowed;
    const auto add = [&](std::string_view name) {
      allowed.append(allowed.empty() ? "" : ", ").append(name);
    };
    if (cards.size() > 1) {
      for (const MigCard* card : cards) add(card->name);
      allowed = "a profile of a card here (" + allowed + "), which snugctl mig CARD lists";
    } else {
      for (const MigProfile& profile : cards.front()->table->profiles) add(profile.name);
      allowed = "one of " + allowed;
    }
    return problem("PROFILE must be " + allowed + ", not " + in_quotes(text));
  }

  /// Of the words the third, if there is one.
  Result<void> read_lifetime(const Words& words, Arrival arrival) {
    if (words.size() == 3) {
      arrival.lifetime = parse_lifetime(words[2]);
      if (!arrival.lifetime) {
        return problem("LIFETIME must be a decimal number from 0 to " +
                       std::to_string(kLargestQuantity) + ", not " + in_quotes(words[2]));
      }
    }
    return add(arrival);
  }

  Result<void> add(const Arrival& arrival) {
    if (arrivals_.size() >= kMostTraceArrivals) {
      return problem("there are more than " + std::to_string(kMostTraceArrivals) +
                     " arrivals, which is as many as may be");
    }
    if (!arrivals_.empty() &&
        arrivals_.front().lifetime.has_value() != arrival.lifetime.has_value()) {
      return problem(std::string("this arrival has ") + (arrival.lifetime ? "a" : "no") +
                     " lifetime, unlike those before it; either all have one, or none");
    }
    arrivals_.push_back(arrival);
    return {};
  }

  Result<void> read_rank(const Words& words) {
    if (words.size() != 3) return problem("a line n must be n NODE RANK");
    const auto node = positions_.find(words[1]);
    if (node == positions_.end()) {
      return problem("there is no node " + in_quotes(words[1]) + " in the file of nodes");
    }
    const std::optional<std::int64_t> rank = parse_integer(words[2]);
    if (!rank || *rank < 0 || *rank > kLargestQuantity) {
      return problem("RANK must be an integer from 0 to " + std::to_string(kLargestQuantity) +
                     ", not " + in_quotes(words[2]));
    }
    std::int64_t& ranked = ranks_[node->second];
    if (ranked != 0) {
      return problem("the node " + in_quotes(words[1]) + " has a rank in line " +
                     std::to_string(ranked) + " already; each node has one");
    }
    const auto [holder, added] = holders_.emplace(*rank, Holder{node->second, line_});
    if (!added) {
      return problem("the rank " + std::to_string(*rank) + " stands in line " +
                     std::to_string(holder->second.line) + " already; each rank is one node's");
    }
    ranked = line_;
    return {};
  }

  [[nodiscard]] Result<void> all_ranked() const {
    if (holders_.empty()) return {};
    const auto missing = std::ranges::find(ranks_, 0);
    if (missing == ranks_.end()) return {};
    const auto& name = trace_.nodes[static_cast<std::size_t>(missing - ranks_.begin())].name;
    return problem("the node " + in_quotes(name) +
                   " has no rank; either all nodes have a line n, or none");
  }

  const TraceFile& file_;
  const Trace& trace_;
  std::map<std::string_view, std::size_t> positions_;  // of the trace's nodes, by name
  std::vector<std::int64_t> ranks_;                    // lines; 0: none
  std::map<std::int64_t, Holder> holders_;             // by rank
  std::vector<Arrival> arrivals_;
  std::vector<TracePod> slice_pods_;
  std::map<std::string, std::size_t, std::less<>> pod_of_profile_;
  std::int64_t line_ = 1;
};

}  // namespace

Result<void> read_trace_arrivals(const TraceFile& file, Trace& trace) {
  ArrivalsReader reader(file, trace);
  if (const auto read = reader.read(); !read) return read;
  std::vector<TraceNode> by_rank;
  by_rank.reserve(trace.nodes.size());
  for (const std::size_t position : reader.order()) by_rank.push_back(trace.nodes[position]);
  trace.nodes = std::move(by_rank);
  trace.arrivals = reader.take_arrivals();
  trace.pods.insert(trace.pods.end(), reader.slice_pods().begin(), reader.slice_pods().end());
  return {};
}

}  // namespace snug
