#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ctl/commands.hpp"
#include "ctl/connection.hpp"
#include "ctl/terminal.hpp"
#include "ctl/top_rows.hpp"
#include "ctl/top_text.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/admin_replies.hpp"

namespace snug::ctl {
namespace {

enum class TopView { kNodes, kGpus, kPods, kNamespaces, kCluster };

struct TopFlags {
  ConnectionFlags connection;
  TopView view = TopView::kNodes;
  TopFilter filter;
  std::string selector;
  std::string output;  // empty: a table
  std::string colour = "auto";
  std::string interval = "2s";
  bool watch = false;
  bool usage = false;
  bool all_namespaces = false;
};

constexpr const char* kOutputs = "wide|json|yaml|name";

bool is_for_programs(const std::string& output) { return output == "json" || output == "yaml"; }

codec::ReplyForm form_of(const std::string& output) {
  return output == "json" ? codec::ReplyForm::kJson : codec::ReplyForm::kYaml;
}

/// What one look at Snug gives: a page, or text for another program.
struct TopOutput {
  std::optional<TopPage> page;
  std::string text;
};

TopOutput as_text(std::string text) { return {.page = {}, .text = std::move(text)}; }

std::string names_text(const std::string& kind, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    std::string line = kind;
    line.append("/").append(name);
    text.append(line_text(line, Colour::kNone, {})).append("\n");
  }
  return text;
}

base::Result<TopOutput> show_nodes(const std::string& reply, const TopFlags& flags,
                                   const TextStyle& style) {
  auto nodes = codec::read_nodes_reply(reply);
  if (!nodes) return std::unexpected(nodes.error());
  if (!flags.filter.name_space.empty()) {
    keep_holders_of(flags.filter.name_space, *nodes);
    keep_held_gpus(*nodes);
  }
  const auto chosen = choose_nodes(*nodes, flags.filter);
  if (!chosen) return std::unexpected(chosen.error());
  if (is_for_programs(flags.output))
    return as_text(codec::write_selection(reply, "nodes", *chosen, form_of(flags.output)));
  if (flags.output == "name") {
    std::vector<std::string> names;
    for (const std::size_t position : *chosen) names.push_back((*nodes)[position].name);
    return as_text(names_text("node", names));
  }
  const bool in_detail = flags.output == "wide" || !flags.filter.names.empty();
  return TopOutput{.page = in_detail ? node_details_page(*nodes, *chosen, style)
                                     : nodes_page(*nodes, *chosen, style),
                   .text = {}};
}

base::Result<TopOutput> show_gpus(const std::string& reply, const TopFlags& flags,
                                  const TextStyle& style) {
  auto nodes = codec::read_nodes_reply(reply);
  if (!nodes) return std::unexpected(nodes.error());
  if (!flags.filter.name_space.empty()) keep_holders_of(flags.filter.name_space, *nodes);
  const auto chosen = choose_gpus(*nodes, flags.filter);
  if (!chosen) return std::unexpected(chosen.error());
  if (is_for_programs(flags.output)) {
    std::vector<std::size_t> selected;
    for (const GpuPosition& position : *chosen) selected.push_back(position.in_order);
    return as_text(codec::write_selection(codec::gpus_of_nodes_reply(reply), "gpus", selected,
                                          form_of(flags.output)));
  }
  if (flags.output == "name") {
    std::vector<std::string> names;
    for (const GpuPosition& position : *chosen) {
      const codec::ShownNode& node = (*nodes)[position.node];
      names.push_back(node.name + "/" + std::to_string(node.gpus[position.gpu].index));
    }
    return as_text(names_text("gpu", names));
  }
  return TopOutput{.page = gpus_page(*nodes, *chosen, flags.output == "wide", style), .text = {}};
}

base::Result<TopOutput> show_pods(const std::string& reply, const TopFlags& flags,
                                  const TextStyle& style) {
  const auto pods = codec::read_pods_reply(reply);
  if (!pods) return std::unexpected(pods.error());
  const auto chosen = choose_pods(*pods, flags.filter);
  if (!chosen) return std::unexpected(chosen.error());
  if (is_for_programs(flags.output))
    return as_text(codec::write_selection(reply, "pods", *chosen, form_of(flags.output)));
  if (flags.output == "name") {
    std::vector<std::string> names;
    for (const std::size_t position : *chosen)
      names.push_back((*pods)[position].name_space + "/" + (*pods)[position].name);
    return as_text(names_text("pod", names));
  }
  return TopOutput{.page = pods_page(*pods, *chosen, flags.output == "wide", style), .text = {}};
}

base::Result<TopOutput> show_cluster(const std::string& reply, const TopFlags& flags,
                                     const TextStyle& style) {
  const auto cluster = codec::read_cluster_reply(reply);
  if (!cluster) return std::unexpected(cluster.error());
  if (flags.view == TopView::kCluster) {
    if (is_for_programs(flags.output))
      return as_text(codec::write_selection(reply, "", {}, form_of(flags.output)));
    return TopOutput{.page = cluster_page(*cluster, style), .text = {}};
  }
  const auto chosen = choose_namespaces(cluster->namespaces, flags.filter);
  if (!chosen) return std::unexpected(chosen.error());
  if (is_for_programs(flags.output))
    return as_text(codec::write_selection(reply, "namespaces", *chosen, form_of(flags.output)));
  if (flags.output == "name") {
    std::vector<std::string> names;
    for (const std::size_t position : *chosen) names.push_back(cluster->namespaces[position].name);
    return as_text(names_text("namespace", names));
  }
  return TopOutput{.page = namespaces_page(cluster->namespaces, *chosen, style), .text = {}};
}

/// What a view asks Snug, what it shows of the reply, and which flags it takes.
struct ViewRow {
  TopView view;
  const char* name;
  /// Another name of the view, as kubectl has it; -o name prints it before each name, with a slash.
  /// Null: the view has no names.
  const char* singular;
  const char* help;
  const char* nothing;     // what stands in the place of rows if there are none
  const char* names_help;  // of its arguments; null: it takes none
  const char* path;
  base::Result<TopOutput> (*show)(const std::string& reply, const TopFlags& flags,
                                  const TextStyle& style);
  std::span<const std::string_view> (*sort_keys)();  // null: it is not sorted
  bool has_nodes;                                    // --selector chooses among them
};
constexpr ViewRow kViews[] = {
    {TopView::kNodes, "nodes", "node",
     "One line for each node (the default); a named node in detail", "no node with GPUs",
     "show these nodes, with their GPUs, holders and slices", "/v1/nodes", show_nodes,
     node_sort_keys, true},
    {TopView::kGpus, "gpus", "gpu", "One line for each GPU", "no GPU",
     "only the GPUs of these nodes, or these GPUs as NODE/INDEX", "/v1/nodes", show_gpus,
     gpu_sort_keys, true},
    {TopView::kPods, "pods", "pod", "One line for each pod that holds or wants GPUs",
     "no pod that holds or wants GPUs", "only these pods, as POD or NAMESPACE/POD", "/v1/pods",
     show_pods, pod_sort_keys, false},
    {TopView::kNamespaces, "namespaces", "namespace", "What each namespace holds, against its cap",
     "no namespace that holds GPUs", "only these namespaces", "/v1/cluster", show_cluster,
     namespace_sort_keys, false},
    {TopView::kCluster, "cluster", nullptr,
     "The whole cluster: allocation, fragmentation, models, and why pods are pending", "", nullptr,
     "/v1/cluster", show_cluster, nullptr, false},
};

const ViewRow& row_of(TopView view) { return *std::ranges::find(kViews, view, &ViewRow::view); }

/// The interval in milliseconds; nullopt if the text is no allowed duration.
std::optional<std::chrono::milliseconds> parse_interval(std::string_view text) {
  const bool in_milliseconds = text.ends_with("ms");
  if (!in_milliseconds && !text.ends_with("s")) return std::nullopt;
  const auto number = base::parse_integer(text.substr(0, text.size() - (in_milliseconds ? 2 : 1)));
  if (!number || *number > base::kMaxWatchMs) return std::nullopt;
  const std::int64_t interval = in_milliseconds ? *number : *number * 1000;
  if (interval < base::kMinWatchMs || interval > base::kMaxWatchMs) return std::nullopt;
  return std::chrono::milliseconds(interval);
}

std::string interval_problem() {
  return "--interval must be a duration from " + std::to_string(base::kMinWatchMs) + "ms to " +
         std::to_string(base::kMaxWatchMs / 1000) + "s, like 500ms or 2s";
}

/// What is wrong with flags that are valid for other views; empty: nothing.
std::string flag_problem(const TopFlags& flags) {
  const ViewRow& view = row_of(flags.view);
  const std::string command = std::string("top ") + view.name;
  if (view.names_help == nullptr && !flags.filter.names.empty())
    return command + " takes no names, but " + base::in_quotes(flags.filter.names.front()) +
           " was given; it shows the whole cluster";
  if (!flags.selector.empty() && !view.has_nodes)
    return command + " takes no --selector, which chooses nodes by their labels";
  if (!flags.selector.empty() && !flags.connection.use_kubectl()) {
    return "--selector asks kubectl which nodes have the labels, so it needs --context or another "
           "flag of kubectl; --server may be given beside it";
  }
  if (flags.view == TopView::kCluster && !flags.filter.name_space.empty())
    return command + " takes no --namespace; top namespaces does";
  if (flags.all_namespaces && !flags.filter.name_space.empty())
    return "--namespace and --all-namespaces were both given; only one of them is allowed";
  if (flags.view == TopView::kCluster && flags.output == "name")
    return command + " has no names; --output may be wide, json or yaml";
  if (!parse_interval(flags.interval)) return interval_problem();
  if (flags.filter.sort_key.empty()) return "";
  std::string keys;
  if (view.sort_keys != nullptr) {
    for (const std::string_view key : view.sort_keys()) {
      if (key == flags.filter.sort_key) return "";
      keys += (keys.empty() ? "" : ", ") + std::string(key);
    }
  }
  return command + (keys.empty() ? " takes no --sort-by" : " takes --sort-by with one of " + keys);
}

/// The name may be a misspelt view.
std::string unknown_node(const std::string& name) {
  std::string views;
  for (const ViewRow& view : kViews) views += (views.empty() ? "" : ", ") + std::string(view.name);
  return "Snug does not know a node " + base::in_quotes(name) + "; the views of top are " + views;
}

/// Says that there are no rows, and which flags may be the cause.
std::string nothing_text(const TopFlags& flags) {
  std::string text = row_of(flags.view).nothing;
  if (!flags.filter.name_space.empty())
    text += " in namespace " + base::in_quotes(flags.filter.name_space);
  if (!flags.selector.empty()) text += " on nodes with " + base::in_quotes(flags.selector);
  return text;
}

void add_nothing_line(TopPage& page, const TopFlags& flags, const TextStyle& style) {
  if (!page.rows.empty()) return;
  page.foot.insert(page.foot.begin(), line_text(nothing_text(flags), Colour::kNone, style));
}

base::Result<TopOutput> look(AdminConnection& snug, const TopFlags& flags, const TextStyle& style) {
  const ViewRow& view = row_of(flags.view);
  AdminConnection::Query query;
  if (view.view == TopView::kNodes && flags.filter.names.size() == 1)
    query.emplace("name", flags.filter.names.front());
  const base::Result<std::string> reply = snug.get(view.path, query);
  if (!reply && reply.error().code == base::ErrorCode::kNotFound && !query.empty())
    return base::fail(base::ErrorCode::kNotFound, unknown_node(flags.filter.names.front()));
  if (!reply) return std::unexpected(reply.error());
  base::Result<TopOutput> output = view.show(*reply, flags, style);
  if (!output && output.error().code == base::ErrorCode::kUnknown)
    return base::fail(base::ErrorCode::kUnknown, snug.name() + ": " + output.error().message);
  if (!output) return output;
  TopOutput shown = *std::move(output);
  if (shown.page) add_nothing_line(*shown.page, flags, style);
  return shown;
}

std::string joined(const TopPage& page) {
  std::string text;
  for (const auto* lines : {&page.head, &page.rows, &page.foot}) {
    for (const std::string& line : *lines) text += line + "\n";
  }
  return text;
}

/// The page as it fits on a terminal: rows that do not fit are counted.
TopPage fitted(TopPage page, std::size_t height, const TextStyle& style) {
  const std::size_t others = page.head.size() + page.foot.size() + 1;
  if (height == 0 || page.rows.size() + others <= height) return page;
  const std::size_t kept = height > others + 1 ? height - others - 1 : 0;
  const std::string more = "… " + std::to_string(page.rows.size() - kept) + " more lines";
  page.rows.resize(kept);
  page.rows.push_back(line_text(style.unicode ? more : more.substr(std::string("…").size() + 1),
                                Colour::kDim, style));
  return page;
}

/// The escape sequences that draw the page over the last one.
std::string redrawn(const std::string& page) {
  std::string text = "\x1b[H";
  for (const char c : page) text += c == '\n' ? "\x1b[K\n" : std::string(1, c);
  return text + "\x1b[J";
}

int print_or_report(const std::string& text) {
  const base::Result<void> printed = print(text);
  return printed ? kExitOk : report_error(printed.error());
}

int show_once(AdminConnection& snug, const TopFlags& flags) {
  TextStyle style = style_of_stdout(flags.colour);
  if (flags.output == "wide") style.width = 0;  // it is to show everything
  const base::Result<TopOutput> output = look(snug, flags, style);
  if (!output) return report_error(output.error());
  const TopOutput& shown = *output;
  return print_or_report(shown.page ? joined(*shown.page) : shown.text);
}

/// As look(), with a new connection if the last look got no usable reply. Any other error is an
/// answer of Snug, which a new connection would not change.
base::Result<TopOutput> look_again(std::optional<AdminConnection>& snug, const TopFlags& flags,
                                   const TextStyle& style) {
  if (!snug) {
    base::Result<AdminConnection> connection = AdminConnection::open(flags.connection);
    if (!connection) return std::unexpected(connection.error());
    snug.emplace(*std::move(connection));
  }
  base::Result<TopOutput> output = look(*snug, flags, style);
  if (!output && output.error().code == base::ErrorCode::kUnavailable) snug.reset();
  return output;
}

/// Draws again and again, until a signal ends the program. What fails after the first page is
/// shown below it, and tried again.
int watch(AdminConnection first_connection, const TopFlags& flags) {
  std::optional<AdminConnection> snug(std::move(first_connection));
  TopOutput shown;
  const bool on_terminal = stdout_is_terminal() && !is_for_programs(flags.output);
  const auto interval = parse_interval(flags.interval).value_or(std::chrono::seconds(1));
  for (bool is_first = true;; is_first = false) {
    const TextStyle style = style_of_stdout(flags.colour);
    const base::Result<TopOutput> output = look_again(snug, flags, style);
    if (!output && (is_first || !on_terminal)) {
      const int code = report_error(output.error());
      if (is_first) return code;
    }
    if (output) shown = *output;
    std::string text = shown.text;
    if (shown.page) {
      TopPage page = *shown.page;
      if (!output)
        page.foot.push_back(
            line_text("out of date: " + output.error().message, Colour::kRed, style));
      text = joined(fitted(std::move(page), terminal_height(), style));
    }
    if (on_terminal) {
      text = redrawn(text);
    } else if (flags.output != "json") {
      text += flags.output == "yaml" ? "---\n" : "\n";
    }
    if (on_terminal || output) {
      if (const int code = print_or_report(text); code != kExitOk) return code;
    }
    std::this_thread::sleep_for(interval);
  }
}

int run_top(TopFlags flags) {
  if (const char* const singular = row_of(flags.view).singular; singular != nullptr) {
    const std::string kind = std::string(singular) + "/";
    for (std::string& name : flags.filter.names)
      if (name.starts_with(kind)) name.erase(0, kind.size());
  }
  if (flags.usage) {
    return report_error(kExitFailure,
                        "no node publishes what its pods use of their GPUs, so --usage has nothing "
                        "to show; top shows what they have reserved");
  }
  if (const std::string problem = flag_problem(flags); !problem.empty())
    return report_error(kExitUsage, problem);
  if (!flags.selector.empty()) {
    auto nodes = select_nodes_by_label(flags.connection.kubectl_flags(), flags.selector);
    if (!nodes) return report_error(nodes.error());
    flags.filter.labelled_nodes = *std::move(nodes);
  }
  base::Result<AdminConnection> snug = AdminConnection::open(flags.connection);
  if (!snug) return report_error(snug.error());
  return flags.watch ? watch(*std::move(snug), flags) : show_once(*snug, flags);
}

/// All keys of --sort-by, as `name|memory|…`.
std::string all_sort_keys() {
  std::vector<std::string_view> keys;
  for (const ViewRow& view : kViews) {
    if (view.sort_keys == nullptr) continue;
    for (const std::string_view key : view.sort_keys()) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  std::string text;
  for (const std::string_view key : keys) text += (text.empty() ? "" : "|") + std::string(key);
  return text;
}

void add_top_flags(CLI::App& command, TopFlags& flags) {
  add_choice(command, "-o,--output", flags.output, kOutputs,
             "wide: more columns, and every node in detail; json, yaml: what Snug replies; name: "
             "one name a line");
  command
      .add_option("-n,--namespace", flags.filter.name_space,
                  "only pods of this namespace, and the nodes and GPUs that they hold")
      ->type_name("NAME");
  command.add_flag("-A,--all-namespaces", flags.all_namespaces,
                   "pods of all namespaces, which is the default");
  command
      .add_option("-l,--selector", flags.selector,
                  "only nodes with these labels, as in kubectl get nodes -l")
      ->type_name("LABELS");
  const auto check_key = [](const std::string& key) {
    return std::string(key.empty() ? "must not be empty" : "");
  };
  command
      .add_option("--sort-by", flags.filter.sort_key,
                  "the largest first; each view has some of these keys")
      ->type_name(all_sort_keys())
      ->check(CLI::Validator(check_key, ""));
  CLI::Option* watch_flag =
      command.add_flag("-w,--watch", flags.watch, "show it again and again, until Ctrl-C");
  command.add_option("--interval", flags.interval, "how often --watch looks, like 500ms or 2s")
      ->type_name("DURATION")
      ->capture_default_str()
      ->needs(watch_flag);
  add_choice(command, "--color", flags.colour, kColourChoices,
             "auto: on a terminal, unless NO_COLOR is set")
      ->capture_default_str();
  command.add_flag("--usage", flags.usage,
                   "what pods use of what they have reserved, where a node publishes that");
  add_connection_flags(command, flags.connection);
}

}  // namespace

void add_top(CLI::App& app, Action& chosen_action) {
  CLI::App* command = app.add_subcommand(
      "top", "Shows how full the GPUs are: nodes, GPUs, pods, namespaces or the whole cluster");
  const auto flags = std::make_shared<TopFlags>();
  command->require_subcommand(0, 1);
  command->add_option("node", flags->filter.names, kViews[0].names_help)->type_name("NODE");
  add_top_flags(*command, *flags);
  for (const ViewRow& view : kViews) {
    CLI::App* subcommand = command->add_subcommand(view.name, view.help)->fallthrough();
    if (view.names_help != nullptr)
      subcommand->add_option("name", flags->filter.names, view.names_help)->type_name("NAME");
    if (view.singular != nullptr) subcommand->alias(view.singular);
    subcommand->callback([flags, which = view.view] { flags->view = which; });
    subcommand->footer("It also takes the flags of `" + program_name() + " top`.");
  }
  command->footer(
      "Each character of the column GPUS is a GPU: how full it is, by memory or by compute, or x "
      "if it is closed.");
  command->callback(
      [flags, &chosen_action] { chosen_action = [flags] { return run_top(*flags); }; });
}

}  // namespace snug::ctl
