// The replies of GET /v1/nodes and GET /v1/pods, read from the snapshot and the tables.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "snug/ledger/ledger.hpp"
#include "snug/service/pending.hpp"
#include "snug/service/reply.hpp"

namespace snug {

[[nodiscard]] Reply show_nodes(Ledger& ledger, std::optional<std::string_view> name);
[[nodiscard]] Reply show_pods(Ledger& ledger, const PendingPods& pending);

}  // namespace snug
