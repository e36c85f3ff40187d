// Reads the arrivals file of a trace: the pods in the order of their arrival, and the ranks of the
// nodes.
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
#include "snug/mig/card_catalog.hpp"
#include "snug/sim_codec/trace_codec.hpp"

namespace snug::sim_codec {
namespace {

constexpr std::string_view kBlanks = " \t\r";

/// The words of a line. Words after the fourth are ignored, since a line with more than three words
/// is an error anyway.
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

/// Parses a decimal number from 0 to kLargestQuantity, with or without a fraction.
std::optional<double> parse_lifetime(std::string_view text) {
  const bool plain =
      !text.empty() && text.front() != '.' && text.back() != '.' &&
      std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  if (!plain) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value > static_cast<double>(base::kLargestQuantity)) return std::nullopt;
  return value;
}

class ArrivalsReader {
 public:
  ArrivalsReader(const TraceFile& file, const sim::Trace& trace) : file_(file), trace_(trace) {
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) positions_.emplace(trace.nodes[i].name, i);
    rank_lines_.resize(trace.nodes.size());
  }

  base::Result<void> read() {
    std::string_view unread_lines = file_.text;
    if (unread_lines.starts_with("\xEF\xBB\xBF")) unread_lines.remove_prefix(3);
    for (; !unread_lines.empty(); ++line_) {
      const std::size_t length = std::min(unread_lines.find('\n'), unread_lines.size());
      if (const auto read = read_line(Words(unread_lines.substr(0, length))); !read) return read;
      unread_lines.remove_prefix(std::min(length + 1, unread_lines.size()));
    }
    line_ = std::max<std::int64_t>(line_ - 1, 1);  // errors below name the last line
    if (arrivals_.empty())
      return error_here("there is no arrival; expected at least one line p ROW or m PROFILE");
    return check_all_ranked();
  }

  std::vector<sim::Arrival> take_arrivals() { return std::move(arrivals_); }
  /// Returns one pod for each profile that a line beginning with `m` names. The caller must append
  /// these pods to the trace's pods, since Arrival::pod has their positions there.
  [[nodiscard]] const std::vector<sim::TracePod>& slice_pods() const { return slice_pods_; }

  /// Returns the positions of the trace's nodes in the order of their ranks. If the file has no
  /// ranks, this is the order of the trace.
  [[nodiscard]] std::vector<std::size_t> positions_by_rank() const {
    std::vector<std::size_t> positions_by_rank;
    positions_by_rank.reserve(trace_.nodes.size());
    for (const auto& [rank, holder] : nodes_by_rank_) positions_by_rank.push_back(holder.node);
    for (std::size_t i = 0; nodes_by_rank_.empty() && i < trace_.nodes.size(); ++i)
      positions_by_rank.push_back(i);
    return positions_by_rank;
  }

 private:
  struct RankedNode {
    std::size_t node = 0;
    std::int64_t line = 0;
  };

  [[nodiscard]] std::unexpected<base::Error> error_here(const std::string& sentence) const {
    return base::fail(base::ErrorCode::kInvalid,
                      std::string(file_.source) + ':' + std::to_string(line_) + ": " + sentence);
  }

  base::Result<void> read_line(const Words& words) {
    if (words.size() == 0 || words[0].front() == '#') return {};
    if (words[0] == "p") return read_pod(words);
    if (words[0] == "n") return read_rank(words);
    if (words[0] == "m") return read_slice(words);
    return error_here(
        "a line must be p ROW or m PROFILE, each with or without a LIFETIME, or n NODE RANK, and "
        "cannot begin with " +
        base::in_quotes(words[0]));
  }

  base::Result<void> read_pod(const Words& words) {
    if (words.size() != 2 && words.size() != 3) {
      return error_here("a line that begins with p must be p ROW or p ROW LIFETIME");
    }
    const std::optional<std::int64_t> row = base::parse_integer(words[1]);
    if (trace_.pods.empty())
      return error_here("this line names a pod, but there is no file of pods");
    const auto pods = static_cast<std::int64_t>(trace_.pods.size());
    if (!row || *row < 0 || *row >= pods) {
      return error_here("ROW must be a row of the pods, an integer from 0 to " +
                        std::to_string(pods - 1) + ", not " + base::in_quotes(words[1]));
    }
    return read_lifetime(words, {.pod = static_cast<std::size_t>(*row)});
  }

  base::Result<void> read_slice(const Words& words) {
    if (words.size() != 2 && words.size() != 3) {
      return error_here("a line that begins with m must be m PROFILE or m PROFILE LIFETIME");
    }
    auto slice_pod = pod_of_profile_.find(words[1]);
    if (slice_pod == pod_of_profile_.end()) {
      const std::optional<sim::TracePod> pod = pod_for_profile(words[1]);
      if (!pod) return unknown_profile(words[1]);
      slice_pod = pod_of_profile_.emplace(words[1], trace_.pods.size() + slice_pods_.size()).first;
      slice_pods_.push_back(*pod);
    }
    return read_lifetime(words, {.pod = slice_pod->second});
  }

  /// Returns a pod that requests the profile. Its `gpu_milli` is the size of such a slice on the
  /// first node whose card has the profile. Returns nullopt if no node has such a card.
  [[nodiscard]] std::optional<sim::TracePod> pod_for_profile(std::string_view text) const {
    const std::optional<mig::MigProfileName> name = mig::parse_mig_profile_name(text);
    if (!name) return std::nullopt;
    for (const sim::TraceNode& node : trace_.nodes) {
      const mig::MigCard* card = node.mig_card;
      const auto profile_index =
          card == nullptr ? std::nullopt : card->table->find_profile(name->canonical);
      if (!profile_index) continue;
      const int slices = card->table->profiles[*profile_index].size;
      return sim::TracePod{.name = name->canonical,
                           .gpus = 1,
                           .gpu_milli = static_cast<int>(base::kWholeGpu.value) * slices /
                                        card->table->memory_slices,
                           .mig_profile = name->canonical,
                           .mig_slices = slices};
    }
    return std::nullopt;
  }

  /// Returns an error that lists the profiles of the trace's MIG card. If the trace has several MIG
  /// cards, the error lists the cards instead.
  [[nodiscard]] std::unexpected<base::Error> unknown_profile(std::string_view text) const {
    std::vector<const mig::MigCard*> cards;
    for (const sim::TraceNode& node : trace_.nodes) {
      const mig::MigCard* card = node.mig_card;
      if (card != nullptr && std::ranges::find(cards, card) == cards.end()) {
        cards.push_back(card);
      }
    }
    if (cards.empty()) {
      return error_here("this line asks for a MIG slice, but no node with GPUs has mig 1");
    }
    std::string allowed;
    const auto list_name = [&](std::string_view name) {
      allowed.append(allowed.empty() ? "" : ", ").append(name);
    };
    if (cards.size() > 1) {
      for (const mig::MigCard* card : cards) list_name(card->name);
      allowed =
          "a profile of a MIG card of the trace (" + allowed + "), as snugctl mig CARD lists them";
    } else {
      for (const model::MigProfile& profile : cards.front()->table->profiles)
        list_name(profile.name);
      allowed = "one of " + allowed;
    }
    return error_here("PROFILE must be " + allowed + ", not " + base::in_quotes(text));
  }

  /// Sets the lifetime of the arrival to the third word, if there is one, and adds the arrival.
  base::Result<void> read_lifetime(const Words& words, sim::Arrival arrival) {
    if (words.size() == 3) {
      arrival.lifetime = parse_lifetime(words[2]);
      if (!arrival.lifetime) {
        return error_here("LIFETIME must be a decimal number from 0 to " +
                          std::to_string(base::kLargestQuantity) + ", not " +
                          base::in_quotes(words[2]));
      }
    }
    return add(arrival);
  }

  base::Result<void> add(const sim::Arrival& arrival) {
    if (arrivals_.size() >= base::kMaxTraceArrivals) {
      return error_here("there are more than " + std::to_string(base::kMaxTraceArrivals) +
                        " arrivals, the maximum");
    }
    if (!arrivals_.empty() &&
        arrivals_.front().lifetime.has_value() != arrival.lifetime.has_value()) {
      return error_here(std::string("this arrival has ") + (arrival.lifetime ? "a" : "no") +
                        " lifetime, unlike those before it; either all have one, or none");
    }
    arrivals_.push_back(arrival);
    return {};
  }

  base::Result<void> read_rank(const Words& words) {
    if (words.size() != 3) return error_here("a line that begins with n must be n NODE RANK");
    const auto node = positions_.find(words[1]);
    if (node == positions_.end()) {
      return error_here("there is no node " + base::in_quotes(words[1]) + " in the file of nodes");
    }
    const std::optional<std::int64_t> rank = base::parse_integer(words[2]);
    if (!rank || *rank < 0 || *rank > base::kLargestQuantity) {
      return error_here("RANK must be an integer from 0 to " +
                        std::to_string(base::kLargestQuantity) + ", not " +
                        base::in_quotes(words[2]));
    }
    std::int64_t& rank_line = rank_lines_[node->second];
    if (rank_line != 0) {
      return error_here("the node " + base::in_quotes(words[1]) + " has a rank in line " +
                        std::to_string(rank_line) + " already; a node can have only one rank");
    }
    const auto [holder, is_new_rank] =
        nodes_by_rank_.emplace(*rank, RankedNode{node->second, line_});
    if (!is_new_rank) {
      return error_here("the rank " + std::to_string(*rank) + " is in line " +
                        std::to_string(holder->second.line) +
                        " already; no two nodes can have the same rank");
    }
    rank_line = line_;
    return {};
  }

  [[nodiscard]] base::Result<void> check_all_ranked() const {
    if (nodes_by_rank_.empty()) return {};
    const auto unranked_node = std::ranges::find(rank_lines_, 0);
    if (unranked_node == rank_lines_.end()) return {};
    const auto& name =
        trace_.nodes[static_cast<std::size_t>(unranked_node - rank_lines_.begin())].name;
    return error_here("the node " + base::in_quotes(name) +
                      " has no rank; either all nodes must have a rank, or none");
  }

  const TraceFile& file_;
  const sim::Trace& trace_;
  std::map<std::string_view, std::size_t> positions_;  // the position of each node in the trace
  std::vector<std::int64_t> rank_lines_;  // the line with each node's rank; 0: none yet
  std::map<std::int64_t, RankedNode> nodes_by_rank_;
  std::vector<sim::Arrival> arrivals_;
  std::vector<sim::TracePod> slice_pods_;
  std::map<std::string, std::size_t, std::less<>> pod_of_profile_;  // Arrival::pod, by profile
  std::int64_t line_ = 1;
};

}  // namespace

base::Result<void> read_trace_arrivals(const TraceFile& file, sim::Trace& trace) {
  ArrivalsReader reader(file, trace);
  if (const auto read = reader.read(); !read) return read;
  std::vector<sim::TraceNode> by_rank;
  by_rank.reserve(trace.nodes.size());
  for (const std::size_t position : reader.positions_by_rank())
    by_rank.push_back(trace.nodes[position]);
  trace.nodes = std::move(by_rank);
  trace.arrivals = reader.take_arrivals();
  trace.pods.insert(trace.pods.end(), reader.slice_pods().begin(), reader.slice_pods().end());
  return {};
}

}  // namespace snug::sim_codec
