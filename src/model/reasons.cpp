#include "snug/model/reasons.hpp"

#include <array>
#include <cstddef>

namespace snug::model {
namespace {

constexpr auto kRows = std::to_array<ReasonRow>({
#define SNUG_REASON_ROW(name, code, evictable, distance, sentence) \
  {code, evictable, distance, sentence},
    SNUG_REASONS(SNUG_REASON_ROW)
#undef SNUG_REASON_ROW
});

}  // namespace

const ReasonRow& reason_row(ReasonCode code) { return kRows.at(static_cast<std::size_t>(code)); }

std::span<const ReasonRow> all_reasons() { return kRows; }

std::string message(const Refusal& refusal) {
  const ReasonRow& row = reason_row(refusal.code);
  std::string text(row.code);
  text += ": ";
  text += refusal.sentence.empty() ? row.sentence : std::string_view(refusal.sentence);
  return text;
}

std::string message(ReasonCode code) { return message(Refusal{code, {}}); }

}  // namespace snug::model
