#include "request/keys.hpp"

#include "snug/request/parse.hpp"

namespace snug {
namespace {

struct KeyRow {
  std::string_view name;
  Key key;
  bool per_container;  // may carry `.<container>`; else that is refused, not overlooked
};
constexpr auto kKeys =
    std::to_array<KeyRow>({{"gpu-fraction", Key::kFraction, true},
                           {"gpu-memory", Key::kMemory, true},
                           {"gpu-mig-profile", Key::kMigProfile, true},
                           {"gpu-count", Key::kCount, true},
                           {"gpu-compute", Key::kCompute, true},
                           {"gpu-isolation", Key::kIsolation, true},
                           {"gpu-model", Key::kModel, true},
                           {"gpu-container", Key::kContainer, false},
                           {"gpu-policy", Key::kPolicy, false},
                           // KAI's names. The first takes a container as gpu-count does: ignored, a
                           // pod that asks for several GPUs would be given one.
                           {"gpu-fraction-num-devices", Key::kCount, true},
                           {"gpu-fraction-container-name", Key::kContainer, false}});

}  // namespace

std::optional<FoundKey> find_key(std::string_view annotation) {
  for (const KeyRow& row : kKeys) {
    if (!annotation.starts_with(row.name)) continue;
    const std::string_view rest = annotation.substr(row.name.size());
    if (!rest.empty() && rest.front() != '.') continue;
    FoundKey found{.key = row.key, .per_container = row.per_container, .container = std::nullopt};
    if (!rest.empty()) found.container = rest.substr(1);
    return found;
  }
  return std::nullopt;
}

bool is_request_key(std::string_view key) { return find_key(key).has_value(); }

}  // namespace snug
