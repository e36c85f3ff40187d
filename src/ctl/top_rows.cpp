#include "ctl/top_rows.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "snug/base/text.hpp"
#include "snug/model/reasons.hpp"

namespace snug::ctl {
namespace {

/// A key of --sort-by: how much a row has of it. Rows with more come first; the name is no amount.
template <typename Row>
struct SortKey {
  std::string_view name;
  std::int64_t (*amount)(const Row& row);
};

struct NodeRow {
  std::size_t position;
  NodeSums sums;
};
constexpr SortKey<NodeRow> kNodeKeys[] = {
    {"name", nullptr},
    {"memory", [](const NodeRow& row) { return row.sums.used_memory_mib; }},
    {"compute", [](const NodeRow& row) { return row.sums.used_compute_milli; }},
    {"free", [](const NodeRow& row) { return row.sums.free_gpus; }},
    {"closed", [](const NodeRow& row) { return row.sums.closed_gpus; }},
    {"pods", [](const NodeRow& row) { return row.sums.pods; }},
};

struct GpuRow {
  GpuPosition position;
  const codec::ShownGpu* gpu;
};
constexpr SortKey<GpuRow> kGpuKeys[] = {
    {"name", nullptr},
    {"memory", [](const GpuRow& row) { return row.gpu->used_memory_mib; }},
    {"compute", [](const GpuRow& row) { return row.gpu->used_compute_milli; }},
    {"free-memory",
     [](const GpuRow& row) { return row.gpu->memory_mib - row.gpu->used_memory_mib; }},
    {"pods", [](const GpuRow& row) { return static_cast<std::int64_t>(row.gpu->holders.size()); }},
};

constexpr SortKey<codec::ShownPod> kPodKeys[] = {
    {"name", nullptr},
    {"memory", [](const codec::ShownPod& pod) { return pod.memory_mib; }},
    {"compute", [](const codec::ShownPod& pod) { return pod.compute_milli; }},
    {"pending", [](const codec::ShownPod& pod) { return std::int64_t{pod.node.empty()}; }},
};

constexpr SortKey<codec::ShownNamespace> kNamespaceKeys[] = {
    {"name", nullptr},
    {"memory", [](const codec::ShownNamespace& row) { return row.memory_mib; }},
    {"compute", [](const codec::ShownNamespace& row) { return row.compute_milli; }},
    {"cap", [](const codec::ShownNamespace& row) { return row.cap_milli.value_or(0); }},
    {"pods", [](const codec::ShownNamespace& row) { return row.pods; }},
};

template <typename Row, std::size_t count>
constexpr std::array<std::string_view, count> names_of(const SortKey<Row> (&keys)[count]) {
  std::array<std::string_view, count> names{};
  for (std::size_t i = 0; i < count; ++i) names[i] = keys[i].name;
  return names;
}
constexpr auto kNodeKeyNames = names_of(kNodeKeys);
constexpr auto kGpuKeyNames = names_of(kGpuKeys);
constexpr auto kPodKeyNames = names_of(kPodKeys);
constexpr auto kNamespaceKeyNames = names_of(kNamespaceKeys);

/// Sorts rows; `row_of` is where the row of an element is.
template <typename Row, typename Element>
void sort_by_key(std::vector<Element>& elements, std::span<const SortKey<Row>> keys,
                 const std::string& wanted, const auto& row_of) {
  const auto key = std::ranges::find(keys, wanted, &SortKey<Row>::name);
  if (key == keys.end() || key->amount == nullptr) return;  // already by name
  std::ranges::stable_sort(elements, std::greater{},
                           [&](const Element& element) { return key->amount(*row_of(element)); });
}

/// Whether the filter's names include a row with one of these names. `found` counts the uses of
/// each.
class NameMatcher {
 public:
  explicit NameMatcher(const TopFilter& filter) : filter_(filter) {}

  bool matches(std::string_view name, std::string_view full_name) {
    bool is_named = filter_.names.empty();
    for (const std::string& wanted : filter_.names) {
      if (wanted != name && wanted != full_name) continue;
      used_.insert(wanted);
      is_named = true;
    }
    return is_named;
  }

  /// The first name that no row has; null: there is none.
  [[nodiscard]] const std::string* unused() const {
    const auto name = std::ranges::find_if(
        filter_.names, [&](const std::string& wanted) { return !used_.contains(wanted); });
    return name == filter_.names.end() ? nullptr : &*name;
  }

 private:
  const TopFilter& filter_;
  std::set<std::string> used_;
};

std::unexpected<base::Error> unknown_name(std::string_view kind, const std::string& name) {
  return base::fail(base::ErrorCode::kNotFound,
                    "Snug does not know a " + std::string(kind) + " " + base::in_quotes(name));
}

bool is_held_by(const codec::ShownGpu& gpu, const std::string& name_space) {
  return name_space.empty() ||
         std::ranges::any_of(gpu.holders, [&](const codec::ShownHolder& holder) {
           return holder.name_space == name_space;
         });
}

bool is_held_by(const codec::ShownNode& node, const std::string& name_space) {
  return name_space.empty() ||
         std::ranges::any_of(node.gpus,
                             [&](const auto& gpu) { return is_held_by(gpu, name_space); }) ||
         std::ranges::any_of(node.units, [&](const codec::ShownUnits& units) {
           return units.name_space == name_space;
         });
}

/// Whether the node has to do with GPUs: it has some, or its inventory cannot be read.
bool is_gpu_node(const codec::ShownNode& node) {
  const std::string_view no_gpu = model::reason_row(model::ReasonCode::kNoGpu).code;
  const bool says_why = !node.closed.empty() && !node.closed.starts_with(no_gpu);
  return !node.gpus.empty() || !node.units.empty() || says_why;
}

bool has_labels(const codec::ShownNode& node, const TopFilter& filter) {
  return !filter.labelled_nodes || std::ranges::binary_search(*filter.labelled_nodes, node.name);
}

}  // namespace

NodeSums sums_of(const codec::ShownNode& node) {
  NodeSums sums{.gpus = static_cast<std::int64_t>(node.gpus.size())};
  std::set<std::pair<std::string_view, std::string_view>> pods;
  for (const codec::ShownGpu& gpu : node.gpus) {
    sums.closed_gpus += gpu.closed.empty() ? 0 : 1;
    sums.free_gpus += gpu.free_whole ? 1 : 0;
    sums.memory_mib += gpu.memory_mib;
    sums.used_memory_mib += gpu.used_memory_mib;
    sums.used_compute_milli += gpu.used_compute_milli;
    for (const codec::ShownHolder& holder : gpu.holders)
      pods.emplace(holder.name_space, holder.pod);
  }
  for (const codec::ShownUnits& units : node.units) {
    pods.emplace(units.name_space, units.pod);
    sums.kubelet_units += units.count;
  }
  sums.pods = static_cast<std::int64_t>(pods.size());
  return sums;
}

NodeSums& operator+=(NodeSums& sums, const NodeSums& more) {
  sums.gpus += more.gpus;
  sums.closed_gpus += more.closed_gpus;
  sums.free_gpus += more.free_gpus;
  sums.memory_mib += more.memory_mib;
  sums.used_memory_mib += more.used_memory_mib;
  sums.used_compute_milli += more.used_compute_milli;
  sums.kubelet_units += more.kubelet_units;
  sums.pods += more.pods;
  return sums;
}

void keep_holders_of(std::string_view name_space, std::vector<codec::ShownNode>& nodes) {
  const auto is_of_another = [&](const auto& owner) { return owner.name_space != name_space; };
  for (codec::ShownNode& node : nodes) {
    for (codec::ShownGpu& gpu : node.gpus) std::erase_if(gpu.holders, is_of_another);
    std::erase_if(node.units, is_of_another);
  }
}

void keep_held_gpus(std::vector<codec::ShownNode>& nodes) {
  for (codec::ShownNode& node : nodes)
    std::erase_if(node.gpus, [](const codec::ShownGpu& gpu) { return gpu.holders.empty(); });
}

std::span<const std::string_view> node_sort_keys() { return kNodeKeyNames; }

std::span<const std::string_view> gpu_sort_keys() { return kGpuKeyNames; }

std::span<const std::string_view> pod_sort_keys() { return kPodKeyNames; }

std::span<const std::string_view> namespace_sort_keys() { return kNamespaceKeyNames; }

base::Result<std::vector<std::size_t>> choose_nodes(std::span<const codec::ShownNode> nodes,
                                                    const TopFilter& filter) {
  std::vector<std::size_t> chosen;
  NameMatcher names(filter);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool is_of_interest = !filter.names.empty() || is_gpu_node(nodes[i]);
    if (names.matches(nodes[i].name, nodes[i].name) && has_labels(nodes[i], filter) &&
        is_held_by(nodes[i], filter.name_space) && is_of_interest) {
      chosen.push_back(i);
    }
  }
  if (const std::string* unused = names.unused()) return unknown_name("node", *unused);
  std::vector<NodeRow> rows;
  rows.reserve(chosen.size());
  for (const std::size_t position : chosen) rows.push_back({position, sums_of(nodes[position])});
  sort_by_key<NodeRow>(rows, std::span(kNodeKeys), filter.sort_key,
                       [](const NodeRow& row) { return &row; });
  for (std::size_t i = 0; i < rows.size(); ++i) chosen[i] = rows[i].position;
  return chosen;
}

base::Result<std::vector<GpuPosition>> choose_gpus(std::span<const codec::ShownNode> nodes,
                                                   const TopFilter& filter) {
  std::vector<GpuRow> rows;
  NameMatcher names(filter);
  std::size_t in_order = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool is_named = names.matches(nodes[i].name, nodes[i].name);
    const bool is_labelled = has_labels(nodes[i], filter);
    for (std::size_t j = 0; j < nodes[i].gpus.size(); ++j, ++in_order) {
      const codec::ShownGpu& gpu = nodes[i].gpus[j];
      const std::string full_name = nodes[i].name + "/" + std::to_string(gpu.index);
      const bool is_wanted = (names.matches(full_name, full_name) || is_named) && is_labelled;
      if (is_wanted && is_held_by(gpu, filter.name_space)) rows.push_back({{i, j, in_order}, &gpu});
    }
  }
  if (const std::string* unused = names.unused())
    return unknown_name(unused->contains('/') ? "GPU" : "node", *unused);
  sort_by_key<GpuRow>(rows, std::span(kGpuKeys), filter.sort_key,
                      [](const GpuRow& row) { return &row; });
  std::vector<GpuPosition> chosen;
  chosen.reserve(rows.size());
  for (const GpuRow& row : rows) chosen.push_back(row.position);
  return chosen;
}

base::Result<std::vector<std::size_t>> choose_pods(std::span<const codec::ShownPod> pods,
                                                   const TopFilter& filter) {
  std::vector<std::size_t> chosen;
  NameMatcher names(filter);
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const bool in_namespace = filter.name_space.empty() || pods[i].name_space == filter.name_space;
    if (in_namespace && names.matches(pods[i].name, pods[i].name_space + "/" + pods[i].name))
      chosen.push_back(i);
  }
  if (const std::string* unused = names.unused()) return unknown_name("GPU pod", *unused);
  sort_by_key<codec::ShownPod>(chosen, std::span(kPodKeys), filter.sort_key,
                               [&](std::size_t position) { return &pods[position]; });
  return chosen;
}

base::Result<std::vector<std::size_t>> choose_namespaces(
    std::span<const codec::ShownNamespace> namespaces, const TopFilter& filter) {
  std::vector<std::size_t> chosen;
  NameMatcher names(filter);
  for (std::size_t i = 0; i < namespaces.size(); ++i) {
    const bool in_namespace = filter.name_space.empty() || namespaces[i].name == filter.name_space;
    if (names.matches(namespaces[i].name, namespaces[i].name) && in_namespace) chosen.push_back(i);
  }
  if (const std::string* unused = names.unused())
    return unknown_name("namespace with GPU pods called", *unused);
  sort_by_key<codec::ShownNamespace>(chosen, std::span(kNamespaceKeys), filter.sort_key,
                                     [&](std::size_t position) { return &namespaces[position]; });
  return chosen;
}

}  // namespace snug::ctl
