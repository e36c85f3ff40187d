// The pages of `snugctl top`: tables of nodes, GPUs, pods and namespaces, one node in detail, and
// the whole cluster. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ctl/text_table.hpp"
#include "ctl/top_rows.hpp"
#include "snug/codec/admin_replies.hpp"

namespace snug::ctl {

/// Lines without newlines. Where a page is too long for a terminal, only `rows` are left out.
struct TopPage {
  std::vector<std::string> head;
  std::vector<std::string> rows;
  std::vector<std::string> foot;
};

/// One line for each node, and their sums.
[[nodiscard]] TopPage nodes_page(std::span<const codec::ShownNode> nodes,
                                 std::span<const std::size_t> chosen, const TextStyle& style);
/// The GPUs of each node, their holders and slices, and the sums.
[[nodiscard]] TopPage node_details_page(std::span<const codec::ShownNode> nodes,
                                        std::span<const std::size_t> chosen,
                                        const TextStyle& style);
/// The GPU's mode; `-` for an empty GPU, which has none unless it serves MIG slices.
[[nodiscard]] std::string mode_text(const codec::ShownGpu& gpu);
/// One line for each GPU. `wide`: with its uuid and its holders.
[[nodiscard]] TopPage gpus_page(std::span<const codec::ShownNode> nodes,
                                std::span<const GpuPosition> chosen, bool wide,
                                const TextStyle& style);
/// One line for each pod. `wide`: with its request, and the whole sentence of its reason.
[[nodiscard]] TopPage pods_page(std::span<const codec::ShownPod> pods,
                                std::span<const std::size_t> chosen, bool wide,
                                const TextStyle& style);
[[nodiscard]] TopPage namespaces_page(std::span<const codec::ShownNamespace> namespaces,
                                      std::span<const std::size_t> chosen, const TextStyle& style);
[[nodiscard]] TopPage cluster_page(const codec::ShownCluster& cluster, const TextStyle& style);

// Parts of several pages.
/// `bar 44 %  20/40 GiB`
[[nodiscard]] TextCell memory_cell(std::int64_t used_mib, std::int64_t mib);
/// `bar 25 %`; the whole is a number of GPUs.
[[nodiscard]] TextCell compute_cell(std::int64_t used_milli, std::int64_t gpus);
/// `1 GPU`, `3 GPUs`
[[nodiscard]] std::string counted(std::int64_t count, const std::string& noun);
/// The name of a GPU model without NVIDIA's prefix.
[[nodiscard]] std::string short_model(std::string_view model);
[[nodiscard]] std::vector<std::string> sums_lines(std::size_t nodes, const NodeSums& sums,
                                                  const TextStyle& style);
/// The page of a table whose first line has the titles.
[[nodiscard]] TopPage page_of(const TextTable& table, const TextStyle& style);

}  // namespace snug::ctl
