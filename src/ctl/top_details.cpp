// The pages of one node and of the whole cluster.
#include <algorithm>
#include <string>
#include <utility>

#include "ctl/top_text.hpp"

namespace snug::ctl {
namespace {

constexpr std::size_t kNarrowestSlice = 4;  // characters of one memory slice in a drawing

std::string holder_name(const codec::ShownHolder& holder) {
  return holder.name_space + "/" + holder.pod + " (" + holder.container + ")";
}

std::string in_the_middle(const std::string& text, std::size_t width) {
  if (text.size() >= width) return text.substr(0, width);
  const std::size_t before = (width - text.size()) / 2;
  return std::string(before, ' ') + text + std::string(width - text.size() - before, ' ');
}

/// How many characters wide a memory slice must be, so that each box has room for its profile.
std::size_t slice_width(const codec::ShownGpu& gpu) {
  std::size_t width = kNarrowestSlice;
  for (const codec::ShownSlice& slice : gpu.slices) {
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(slice.size, 1));
    width = std::max(width, (slice.profile.size() + 2 + size - 1) / size);
  }
  return width;
}

/// Draws the slices at their places, `[1g.5gb][  2g.10gb   ]   .   `; a dot is a memory slice that
/// no slice has. A slice that would overlap another one is left out.
std::string slices_drawing(const codec::ShownGpu& gpu,
                           const std::vector<const codec::ShownSlice*>& slices) {
  const std::size_t width = slice_width(gpu);
  std::string drawing;
  std::int64_t at = 0;
  for (const codec::ShownSlice* slice : slices) {
    if (slice->start < at || slice->start + slice->size > gpu.axis) continue;
    for (; at < slice->start; ++at) drawing += in_the_middle(".", width);
    const std::size_t cells = static_cast<std::size_t>(slice->size) * width;
    drawing += "[" + in_the_middle(slice->profile, cells - 2) + "]";
    at += slice->size;
  }
  for (; at < gpu.axis; ++at) drawing += in_the_middle(".", width);
  return drawing;
}

void add_slices(const codec::ShownGpu& gpu, TextTable& table) {
  std::vector<const codec::ShownSlice*> slices;
  for (const codec::ShownSlice& slice : gpu.slices)
    if (slice.size > 0) slices.push_back(&slice);
  std::ranges::stable_sort(slices, {}, &codec::ShownSlice::start);
  table.add_line("      " + slices_drawing(gpu, slices));
  for (const codec::ShownSlice* slice : slices) {
    const std::int64_t last = slice->start + slice->size - 1;
    const std::string places = last == slice->start
                                   ? std::to_string(slice->start)
                                   : std::to_string(slice->start) + "-" + std::to_string(last);
    table.add_line("      " + slice->profile + " at " + places + ": " +
                   (slice->holder ? holder_name(*slice->holder) : "free"));
  }
}

void add_gpu(const codec::ShownGpu& gpu, TextTable& table) {
  const std::string mode = mode_text(gpu);
  TextCell remarks{.text = gpu.free_whole ? "free" : mode == "-" ? "empty" : mode};
  if (!gpu.closed.empty()) remarks = {.text = "closed: " + gpu.closed, .colour = Colour::kRed};
  table.add_row({{.text = "  " + std::to_string(gpu.index)},
                 {.text = short_model(gpu.model)},
                 memory_cell(gpu.used_memory_mib, gpu.memory_mib),
                 compute_cell(gpu.used_compute_milli, 1),
                 remarks});
  if (gpu.axis > 0) return add_slices(gpu, table);
  for (const codec::ShownHolder& holder : gpu.holders) {
    table.add_line("      " + holder_name(holder) + "  " + std::to_string(holder.memory_mib) +
                   " MiB, " + percent_text({holder.compute_milli, 1000}));
  }
}

/// `agent: fail-closed, limits mps`
std::string agent_text(const codec::ShownAgent& agent) {
  std::string text = "agent: " + agent.enforcement;
  if (!agent.limits.empty()) text += ", limits " + agent.limits;
  return text + (agent.alive ? "" : ", away");
}

void add_node(const codec::ShownNode& node, TextTable& table) {
  std::string heading = node.name;
  if (node.pool != "auto") heading += "  pool " + node.pool;
  if (node.agent) heading += "  " + agent_text(*node.agent);
  if (!node.enforcer.empty()) heading += "  enforcer " + node.enforcer;
  if (!node.closed.empty()) heading += "  closed: " + node.closed;
  table.add_line(std::move(heading), node.closed.empty() ? Colour::kBold : Colour::kRed);
  for (const codec::ShownGpu& gpu : node.gpus) add_gpu(gpu, table);
  for (const codec::ShownUnits& units : node.units) {
    table.add_line("  assigned by the kubelet: " + units.name_space + "/" + units.pod + " (" +
                   units.container + ")  " + std::to_string(units.count) + " x " + units.resource);
  }
}

void add_lines(std::vector<std::string>& lines, const TextTable& table, const TextStyle& style) {
  for (std::string& line : table.lines(style)) lines.push_back(std::move(line));
}

void add_models(const codec::ShownCluster& cluster, const TextStyle& style,
                std::vector<std::string>& lines) {
  TextTable table({{.title = "MODEL"},
                   {.title = "GPUS", .to_the_right = true},
                   {.title = "FREE", .to_the_right = true},
                   {.title = "MEMORY"},
                   {.title = "COMPUTE"}});
  for (const codec::ShownModel& model : cluster.models) {
    table.add_row({{.text = model.model.empty() ? "(vanished)" : short_model(model.model)},
                   {.text = std::to_string(model.gpus)},
                   {.text = std::to_string(model.free_whole_gpus)},
                   memory_cell(model.used_memory_mib, model.memory_mib),
                   compute_cell(model.used_compute_milli, model.gpus)});
  }
  add_lines(lines, table, style);
}

void add_pending(const codec::ShownCluster& cluster, const TextStyle& style,
                 std::vector<std::string>& lines) {
  if (cluster.pending.empty()) {
    lines.push_back("no GPU pod is pending");
    return;
  }
  TextTable table({{.title = "PENDING", .to_the_right = true},
                   {.title = "REASON"},
                   {.title = "", .room = TextTable::Room::kMayBeCut}});
  for (const codec::ShownPending& pending : cluster.pending) {
    table.add_row(
        {{.text = std::to_string(pending.pods), .colour = Colour::kYellow},
         {.text = pending.code.empty() ? "-" : pending.code},
         {.text = pending.code.empty() ? "Snug has not refused them yet" : pending.sentence}});
  }
  add_lines(lines, table, style);
}

std::string free_share_text(const codec::ShownCluster& cluster) {
  const std::string whole = counted(cluster.free_whole_gpus, "whole GPU");
  if (!cluster.largest_free_share) return whole + "; nothing for a pod that shares a GPU";
  const codec::ShownFreeShare& share = *cluster.largest_free_share;
  return whole + "; the largest share for one pod is " + std::to_string(share.memory_mib) +
         " MiB and " + percent_text({share.compute_milli, 1000}) + " of the compute, on GPU " +
         std::to_string(share.gpu) + " of node " + share.node;
}

}  // namespace

TopPage node_details_page(std::span<const codec::ShownNode> nodes,
                          std::span<const std::size_t> chosen, const TextStyle& style) {
  TextTable table({{.title = "GPU"},
                   {.title = "MODEL", .room = TextTable::Room::kIfThereIsRoom},
                   {.title = "MEMORY"},
                   {.title = "COMPUTE"},
                   {.title = "MODE", .room = TextTable::Room::kMayBeCut}});
  NodeSums all;
  for (const std::size_t position : chosen) {
    all += sums_of(nodes[position]);
    add_node(nodes[position], table);
  }
  TopPage page = page_of(table, style);
  page.foot = sums_lines(chosen.size(), all, style);
  return page;
}

TopPage cluster_page(const codec::ShownCluster& cluster, const TextStyle& style) {
  TextTable sums({{.title = "CLUSTER"}, {.title = "", .room = TextTable::Room::kMayBeCut}});
  sums.add_row({{.text = "nodes"},
                {.text = std::to_string(cluster.nodes) + " with " + counted(cluster.gpus, "GPU") +
                         ", of which " + std::to_string(cluster.closed_gpus) + " closed"}});
  sums.add_row({{.text = "memory"}, memory_cell(cluster.used_memory_mib, cluster.memory_mib)});
  TextCell compute = compute_cell(cluster.used_compute_milli, cluster.gpus);
  compute.text +=
      "  " + gpus_text(cluster.used_compute_milli) + "/" + std::to_string(cluster.gpus) + " GPUs";
  sums.add_row({{.text = "compute"}, compute});
  sums.add_row({{.text = "free"}, {.text = free_share_text(cluster)}});
  sums.add_row(
      {{.text = "fragmented"},
       {.text = gpus_text(cluster.fragmented_milli) + " of the " + gpus_text(cluster.free_milli) +
                " free GPUs are of no use to a typical pod"}});
  sums.add_row({{.text = "policy"},
                {.text = cluster.default_profile + ", generation " +
                         std::to_string(cluster.policy_generation)}});
  TopPage page = page_of(sums, style);
  page.rows.emplace_back();
  add_models(cluster, style, page.rows);
  page.rows.emplace_back();
  add_pending(cluster, style, page.rows);
  return page;
}

}  // namespace snug::ctl
