#include "ctl/explain_text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/text_table.hpp"
#include "snug/base/text.hpp"

namespace snug::ctl {
namespace {

using ExplainRow = std::vector<std::string>;

/// The rows with aligned columns, indented by two blanks.
std::string columns(const std::vector<ExplainRow>& rows) {
  std::size_t count = 0;
  for (const ExplainRow& row : rows) count = std::max(count, row.size());
  TextTable table((std::vector<TextTable::Column>(count)));
  for (const ExplainRow& row : rows) {
    std::vector<TextCell> cells;
    for (const std::string& text : row) cells.push_back({.text = text});
    table.add_row(std::move(cells));
  }
  std::string text;
  for (const std::string& line : table.lines({})) text += "  " + line + "\n";
  return text;
}

std::string section(const std::string& title, const std::vector<ExplainRow>& rows) {
  return rows.empty() ? "" : "\n" + title + "\n" + columns(rows);
}

std::string node_count(std::int64_t nodes) {
  return std::to_string(nodes) + (nodes == 1 ? " node" : " nodes");
}

std::string headline(const codec::ExplainReply& reply) {
  const std::string pod = "pod " + reply.name_space + "/" + reply.pod;
  if (!reply.node.empty()) return pod + " is " + reply.state + " on node " + reply.node;
  const bool exists = reply.state != "hypothetical";
  if (reply.refusal)
    return pod + (exists ? " is pending: no node takes it" : " would be refused by every node");
  if (reply.request.empty()) return pod + " asks for no GPU";
  if (reply.feasible > 0) {
    return pod + (exists ? " is pending, and fits on " : " would fit on ") +
           std::to_string(reply.feasible) + " of " + node_count(reply.nodes) +
           (exists ? " now" : "");
  }
  return pod + (exists ? " is pending: it fits on none of " : " would fit on none of ") +
         node_count(reply.nodes);
}

std::string term_table(const explain::PlacementComparison& placement) {
  const bool compared = placement.runner_up.has_value();
  ExplainRow head{"TERM", "WEIGHT", "ON " + placement.chosen.node};
  if (compared) head.push_back("ON " + placement.runner_up->node);
  std::vector<ExplainRow> rows{head};
  for (std::size_t i = 0; i < placement.chosen.terms.size(); ++i) {
    const explain::TermScore& term = placement.chosen.terms[i];
    // A rule may choose another profile for the other node's model.
    const auto other = [&]() -> const explain::TermScore* {
      if (!compared) return nullptr;
      const auto& terms = placement.runner_up->terms;
      const auto found = std::ranges::find(terms, term.term, &explain::TermScore::term);
      return found == terms.end() ? nullptr : &*found;
    }();
    if (term.score() == 0 && (other == nullptr || other->score() == 0)) continue;
    ExplainRow row{term.term, std::to_string(term.weight), std::to_string(term.score())};
    if (compared) row.push_back(other == nullptr ? "-" : std::to_string(other->score()));
    rows.push_back(std::move(row));
  }
  ExplainRow total{"total", "", std::to_string(placement.chosen.total)};
  if (compared) total.push_back(std::to_string(placement.runner_up->total));
  rows.push_back(std::move(total));
  const bool has_steps =
      placement.chosen.quantum > 1 || (compared && placement.runner_up->quantum > 1);
  if (has_steps) {
    ExplainRow score_class{"score class", "", std::to_string(placement.chosen.score_class)};
    if (compared) score_class.push_back(std::to_string(placement.runner_up->score_class));
    rows.push_back(std::move(score_class));
  }
  return columns(rows);
}

/// Why the chosen node is not worse than the other, although its score class is the same.
std::string equality_text(const explain::PlacementScore& chosen,
                          const explain::PlacementScore& other) {
  if (chosen.total == other.total) return "equal scores";
  if (chosen.quantum != other.quantum) return "the score classes are the same: equally good";
  return "both scores are in the same step of " + std::to_string(chosen.quantum) +
         " (quantum): equally good";
}

/// How the comparison was decided, if the totals alone do not show it; otherwise empty.
std::string decision_text(const explain::PlacementScore& chosen,
                          const explain::PlacementScore& other, bool at_bind) {
  const bool is_equal = chosen.score_class == other.score_class;
  const bool is_best = is_equal ? chosen.node < other.node : chosen.score_class > other.score_class;
  const std::string equal = is_equal ? equality_text(chosen, other) : "";
  if (is_best && !is_equal) return "";
  if (is_best) {
    const bool is_short = chosen.total == other.total;
    return equal + (is_short ? ": " : "; ") + "the node with the lower name wins";
  }
  // filter may offer several nodes, of which kube-scheduler chooses one.
  return (is_equal ? equal + "; " : "") +
         (at_bind ? "kube-scheduler chose this node; Snug's best was "
                  : "the best node would now be ") +
         other.node;
}

std::string placement_text(const codec::ExplainReply& reply,
                           const codec::ExplainReply::Placement& explained) {
  const explain::PlacementComparison& placement = explained.comparison;
  const bool is_bound = !reply.node.empty();
  std::string title =
      is_bound ? "why node " + placement.chosen.node : "the best node is " + placement.chosen.node;
  title += ": profile " + placement.chosen.profile;
  title += explained.decided == "at bind" ? ", scores when it was bound" : ", scores as of now";
  std::string text = "\n" + title + "\n" + term_table(placement);
  if (!placement.runner_up) return text + "  no other node would take the pod\n";
  const std::string decision =
      decision_text(placement.chosen, *placement.runner_up, explained.decided == "at bind");
  return decision.empty() ? text : text + "  " + decision + "\n";
}

std::string blocker_amount(const explain::Blocker& blocker) {
  if (blocker.units > 0) return std::to_string(blocker.units) + " assigned by the kubelet";
  return std::to_string(blocker.memory_mib) + " MiB, " +
         base::percent_of_gpu({blocker.compute_milli});
}

std::string refusal_text(const codec::ExplainReply& reply, bool wide) {
  std::string text;
  std::vector<ExplainRow> rows;
  rows.reserve(reply.reasons.size());
  for (const codec::ExplainReply::Reason& reason : reply.reasons)
    rows.push_back({reason.code, node_count(reason.nodes), reason.sentence});
  text += section(reply.feasible > 0 ? "the other nodes" : "why", rows);
  if (reply.nearest)
    text += "\nnearest: node " + reply.nearest->node + "\n  " + reply.nearest->sentence + "\n";
  rows.clear();
  for (const explain::Blocker& blocker : reply.blockers) {
    rows.push_back({blocker.name_space + "/" + blocker.pod,
                    blocker.gpu ? "GPU " + std::to_string(*blocker.gpu) : "",
                    blocker_amount(blocker)});
  }
  text += section("held there by", rows);
  if (!reply.advice.empty()) text += "\nwhat would make it fit\n";
  for (const codec::ExplainReply::Advice& advice : reply.advice) {
    text += "  - " + advice.sentence + "\n";
    if (!advice.command.empty()) text += "      " + advice.command + "\n";
  }
  rows.clear();
  if (wide && reply.per_node) {
    for (const codec::ExplainReply::Node& node : *reply.per_node)
      rows.push_back({node.node, node.sentence});
  }
  return text + section("each node", rows);
}

}  // namespace

std::string explain_text(const codec::ExplainReply& reply, bool wide) {
  std::string text = headline(reply) + "\n";
  if (reply.refusal) text += "  " + reply.refusal->code + ": " + reply.refusal->sentence + "\n";
  std::vector<ExplainRow> rows;
  rows.reserve(reply.request.size());
  for (const explain::RequestInWords& request : reply.request)
    rows.push_back({request.container, request.text, request.asks});
  text += section("request", rows);
  if (reply.placement) text += placement_text(reply, *reply.placement);
  text += refusal_text(reply, wide);
  if (!reply.notes.empty()) text += "\n";
  for (const std::string& note : reply.notes) text += "note: " + note + "\n";
  return safe_lines(text);
}

}  // namespace snug::ctl
