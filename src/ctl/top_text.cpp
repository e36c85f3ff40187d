#include "ctl/top_text.hpp"

#include <algorithm>
#include <utility>

namespace snug::ctl {
namespace {

using Room = TextTable::Room;

constexpr std::int64_t kMilliPerGpu = 1000;

/// One character for each GPU: how much of it is used, by memory or compute; `x`: it is closed.
std::string gpu_levels(const codec::ShownNode& node, bool unicode) {
  std::string levels;
  for (const codec::ShownGpu& gpu : node.gpus) {
    const Portion memory{gpu.used_memory_mib, gpu.memory_mib};
    const Portion compute{gpu.used_compute_milli, kMilliPerGpu};
    const bool memory_is_fuller = memory.part * compute.whole >= compute.part * memory.whole;
    levels += gpu.closed.empty() ? level_text(memory_is_fuller ? memory : compute, unicode) : "x";
  }
  return levels;
}

std::string models_of(const codec::ShownNode& node) {
  std::vector<std::string> models;
  for (const codec::ShownGpu& gpu : node.gpus) {
    std::string model = short_model(gpu.model);
    if (model.empty()) continue;  // a vanished GPU
    if (std::ranges::find(models, model) == models.end()) models.push_back(std::move(model));
  }
  std::string text;
  for (const std::string& model : models) text += (text.empty() ? "" : ", ") + model;
  return text;
}

void add_remark(std::string& remarks, const std::string& remark) {
  remarks += (remarks.empty() ? "" : "; ") + remark;
}

TextCell node_remarks(const codec::ShownNode& node, const NodeSums& sums) {
  std::string remarks;
  const bool is_closed = !node.closed.empty();
  if (is_closed) add_remark(remarks, "closed: " + node.closed);
  if (sums.closed_gpus > 0) add_remark(remarks, counted(sums.closed_gpus, "GPU") + " closed");
  if (node.pool != "auto") add_remark(remarks, "pool " + node.pool);
  if (sums.kubelet_units > 0)
    add_remark(remarks, counted(sums.kubelet_units, "device") + " assigned by the kubelet");
  return {.text = remarks,
          .colour = sums.closed_gpus > 0 || is_closed ? Colour::kRed : Colour::kNone};
}

TextCell gpu_remarks(const codec::ShownNode& node, const codec::ShownGpu& gpu) {
  if (!gpu.closed.empty()) return {.text = "closed: " + gpu.closed, .colour = Colour::kRed};
  TextCell cell;
  if (gpu.free_whole) cell = {.text = "free", .colour = Colour::kGreen};
  const bool is_empty = gpu.holders.empty() && mode_text(gpu) == "-";
  if (is_empty && !gpu.free_whole && !node.units.empty())
    cell.text = "perhaps assigned by the kubelet";
  if (!node.closed.empty()) {
    add_remark(cell.text, "node closed: " + node.closed);
    cell.colour = Colour::kRed;
  }
  return cell;
}

std::string holders_of(const codec::ShownGpu& gpu) {
  std::string holders;
  for (const codec::ShownHolder& holder : gpu.holders)
    holders += (holders.empty() ? "" : ", ") + holder.name_space + "/" + holder.pod;
  return holders;
}

Colour colour_of_state(const codec::ShownPod& pod) {
  if (pod.state == "pending") return Colour::kYellow;
  return pod.reason.empty() ? Colour::kNone : Colour::kRed;
}

}  // namespace

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string short_model(std::string_view model) {
  constexpr std::string_view kBrand = "NVIDIA-";
  return std::string(model.starts_with(kBrand) ? model.substr(kBrand.size()) : model);
}

TextCell memory_cell(std::int64_t used_mib, std::int64_t mib) {
  const std::string percent = percent_text({used_mib, mib});
  return {.text = std::string(5 - std::min<std::size_t>(5, percent.size()), ' ') + percent + "  " +
                  gib_text(used_mib) + "/" + gib_text(mib) + " GiB",
          .colour = Colour::kCyan,
          .bar = Portion{used_mib, mib}};
}

TextCell compute_cell(std::int64_t used_milli, std::int64_t gpus) {
  const Portion portion{used_milli, gpus * kMilliPerGpu};
  const std::string percent = percent_text(portion);
  return {.text = std::string(5 - std::min<std::size_t>(5, percent.size()), ' ') + percent,
          .colour = Colour::kCyan,
          .bar = portion};
}

std::vector<std::string> sums_lines(std::size_t nodes, const NodeSums& sums,
                                    const TextStyle& style) {
  std::string counts = counted(static_cast<std::int64_t>(nodes), "node") + ", " +
                       counted(sums.gpus, "GPU") + ", " + counted(sums.pods, "pod") + "; " +
                       counted(sums.free_gpus, "whole GPU") + " free, " +
                       std::to_string(sums.closed_gpus) + " closed";
  std::string reserved =
      "reserved: " + percent_text({sums.used_memory_mib, sums.memory_mib}) + " of memory (" +
      gib_text(sums.used_memory_mib) + "/" + gib_text(sums.memory_mib) + " GiB), " +
      percent_text({sums.used_compute_milli, sums.gpus * kMilliPerGpu}) + " of compute (" +
      gpus_text(sums.used_compute_milli) + "/" + std::to_string(sums.gpus) + " GPUs)";
  std::vector<std::string> lines{std::move(counts), std::move(reserved)};
  if (sums.kubelet_units > 0) {
    lines.push_back("plus " + counted(sums.kubelet_units, "device") + " assigned by the kubelet");
  }
  for (std::string& line : lines) line = line_text(line, Colour::kNone, style);
  return lines;
}

TopPage page_of(const TextTable& table, const TextStyle& style) {
  TopPage page;
  page.rows = table.lines(style);
  page.head.push_back(std::move(page.rows.front()));
  page.rows.erase(page.rows.begin());
  return page;
}

TopPage nodes_page(std::span<const codec::ShownNode> nodes, std::span<const std::size_t> chosen,
                   const TextStyle& style) {
  TextTable table({{.title = "NODE"},
                   {.title = "GPUS", .room = Room::kLeftOutLast},
                   {.title = "FREE", .to_the_right = true, .room = Room::kLeftOutLast},
                   {.title = "MEMORY", .room = Room::kLeftOutLast},
                   {.title = "COMPUTE", .room = Room::kLeftOutLast},
                   {.title = "PODS", .to_the_right = true, .room = Room::kLeftOutLast},
                   {.title = "MODEL", .room = Room::kIfThereIsRoom},
                   {.title = "REMARKS", .room = Room::kMayBeCut}});
  NodeSums all;
  for (const std::size_t position : chosen) {
    const codec::ShownNode& node = nodes[position];
    const NodeSums sums = sums_of(node);
    all += sums;
    table.add_row({{.text = node.name},
                   {.text = gpu_levels(node, style.unicode)},
                   {.text = std::to_string(sums.free_gpus)},
                   memory_cell(sums.used_memory_mib, sums.memory_mib),
                   compute_cell(sums.used_compute_milli, sums.gpus),
                   {.text = std::to_string(sums.pods)},
                   {.text = models_of(node)},
                   node_remarks(node, sums)});
  }
  TopPage page = page_of(table, style);
  page.foot = sums_lines(chosen.size(), all, style);
  return page;
}

std::string mode_text(const codec::ShownGpu& gpu) {
  if (gpu.mode != "none") return gpu.mode;
  return gpu.axis > 0 ? "mig" : "-";
}

TopPage gpus_page(std::span<const codec::ShownNode> nodes, std::span<const GpuPosition> chosen,
                  bool wide, const TextStyle& style) {
  std::vector<TextTable::Column> columns{{.title = "NODE"},
                                         {.title = "GPU", .to_the_right = true},
                                         {.title = "MODE", .room = Room::kLeftOutLast},
                                         {.title = "MEMORY", .room = Room::kLeftOutLast},
                                         {.title = "COMPUTE", .room = Room::kLeftOutLast},
                                         {.title = "MODEL", .room = Room::kIfThereIsRoom},
                                         {.title = "REMARKS", .room = Room::kMayBeCut}};
  if (wide)
    columns.insert(columns.end(),
                   {{.title = "UUID"}, {.title = "HOLDERS", .room = Room::kMayBeCut}});
  TextTable table(std::move(columns));
  for (const GpuPosition& position : chosen) {
    const codec::ShownNode& node = nodes[position.node];
    const codec::ShownGpu& gpu = node.gpus[position.gpu];
    std::vector<TextCell> row{{.text = node.name},
                              {.text = std::to_string(gpu.index)},
                              {.text = mode_text(gpu)},
                              memory_cell(gpu.used_memory_mib, gpu.memory_mib),
                              compute_cell(gpu.used_compute_milli, 1),
                              {.text = short_model(gpu.model)},
                              gpu_remarks(node, gpu)};
    if (wide) row.insert(row.end(), {{.text = gpu.uuid}, {.text = holders_of(gpu)}});
    table.add_row(std::move(row));
  }
  return page_of(table, style);
}

TopPage pods_page(std::span<const codec::ShownPod> pods, std::span<const std::size_t> chosen,
                  bool wide, const TextStyle& style) {
  std::vector<TextTable::Column> columns{
      {.title = "NAMESPACE"},
      {.title = "POD"},
      {.title = "STATE"},
      {.title = "NODE", .room = Room::kIfThereIsRoom},
      {.title = "GPUS", .room = Room::kIfThereIsRoom},
      {.title = "MEMORY", .to_the_right = true, .room = Room::kIfThereIsRoom},
      {.title = "COMPUTE", .to_the_right = true, .room = Room::kIfThereIsRoom}};
  if (wide) columns.push_back({.title = "REQUEST"});
  columns.push_back({.title = "REASON", .room = Room::kMayBeCut});
  TextTable table(std::move(columns));
  for (const std::size_t position : chosen) {
    const codec::ShownPod& pod = pods[position];
    const bool has_devices = pod.memory_mib > 0;
    std::vector<TextCell> row{{.text = pod.name_space},
                              {.text = pod.name},
                              {.text = pod.state, .colour = colour_of_state(pod)},
                              {.text = pod.node.empty() ? "-" : pod.node},
                              {.text = pod.devices.empty() ? "-" : pod.devices},
                              {.text = has_devices ? std::to_string(pod.memory_mib) + " MiB" : "-"},
                              {.text = has_devices ? gpus_text(pod.compute_milli) : "-"}};
    if (wide) row.push_back({.text = pod.request});
    row.push_back({.text = wide ? pod.reason : pod.reason.substr(0, pod.reason.find(':')),
                   .colour = colour_of_state(pod)});
    table.add_row(std::move(row));
  }
  return page_of(table, style);
}

TopPage namespaces_page(std::span<const codec::ShownNamespace> namespaces,
                        std::span<const std::size_t> chosen, const TextStyle& style) {
  TextTable table({{.title = "NAMESPACE"},
                   {.title = "PODS", .to_the_right = true},
                   {.title = "MEMORY", .to_the_right = true},
                   {.title = "GPUS", .to_the_right = true},
                   {.title = "CAP", .to_the_right = true},
                   {.title = "OF THE CAP"}});
  for (const std::size_t position : chosen) {
    const codec::ShownNamespace& row = namespaces[position];
    TextCell of_cap{.text = "-"};
    if (row.cap_milli) {
      const Portion portion{row.compute_milli, *row.cap_milli};
      of_cap = {.text = percent_text(portion),
                .colour = portion.part >= portion.whole ? Colour::kRed : Colour::kCyan,
                .bar = portion};
    }
    table.add_row({{.text = row.name},
                   {.text = std::to_string(row.pods)},
                   {.text = gib_text(row.memory_mib) + " GiB"},
                   {.text = gpus_text(row.compute_milli)},
                   {.text = row.cap_milli ? gpus_text(*row.cap_milli) : "-"},
                   of_cap});
  }
  return page_of(table, style);
}

}  // namespace snug::ctl
