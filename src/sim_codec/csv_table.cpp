#include "sim_codec/csv_table.hpp"

#include <algorithm>

#include "snug/base/text.hpp"

namespace snug::sim_codec {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kLongestName = 253;  // the maximum length of a Kubernetes name

bool printable_without_blanks(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

CsvTable::CsvTable(std::string_view text, std::string_view source,
                   std::span<const CsvColumn> columns)
    : unread_csv_(text), source_(source), columns_(columns), positions_(columns.size()) {
  if (unread_csv_.starts_with(kByteOrderMark)) unread_csv_.remove_prefix(kByteOrderMark.size());
}

bool CsvTable::next() {
  if (problem_) return false;
  if (!header_read_) {
    header_read_ = true;
    if (!read_header()) return false;
  }
  if (!read_record()) return false;
  if (field_count_ == column_count_) return true;
  report_problem("this row has " + std::to_string(field_count_) + " fields; the header has " +
                 std::to_string(column_count_));
  return false;
}

bool CsvTable::read_header() {
  if (!read_record()) {
    report_problem("there is no header; expected the columns " + required_columns());
    return false;
  }
  column_count_ = field_count_;
  for (std::size_t place = 0; place < field_count_; ++place) {
    const auto csv_column = std::ranges::find(columns_, fields_[place], &CsvColumn::name);
    if (csv_column == columns_.end()) continue;
    auto& field_position = positions_[static_cast<std::size_t>(csv_column - columns_.begin())];
    if (field_position) report_problem("the column " + fields_[place] + " is in the header twice");
    field_position = place;
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!columns_[i].required || positions_[i]) continue;
    report_problem("the column " + std::string(columns_[i].name) + " is missing; the columns are " +
                   required_columns());
  }
  return !problem_;
}

/// Reads the fields of the next row. Returns false at the end of the text and after a problem.
bool CsvTable::read_record() {
  while (!unread_csv_.empty() && (at_line_end() || unread_csv_.front() == '#')) {
    if (unread_csv_.front() == '#')
      unread_csv_.remove_prefix(std::min(unread_csv_.find('\n'), unread_csv_.size()));
    skip_line_end();
  }
  line_ = current_line_;
  field_count_ = 0;
  if (unread_csv_.empty()) return false;
  while (true) {
    if (!read_field()) return false;
    if (unread_csv_.empty() || skip_line_end()) return true;
    unread_csv_.remove_prefix(1);  // skips the comma
  }
}

bool CsvTable::read_field() {
  if (field_count_ == fields_.size()) fields_.emplace_back();
  std::string& field = fields_[field_count_++];
  field.clear();
  if (unread_csv_.starts_with('"')) return read_quoted(field);
  std::size_t length = std::min(unread_csv_.find_first_of(",\n"), unread_csv_.size());
  if (length > 0 && length < unread_csv_.size() && unread_csv_[length] == '\n' &&
      unread_csv_[length - 1] == '\r') {
    --length;
  }
  field = unread_csv_.substr(0, length);
  unread_csv_.remove_prefix(length);
  return true;
}

bool CsvTable::read_quoted(std::string& field) {
  unread_csv_.remove_prefix(1);
  while (true) {
    const std::size_t quote = unread_csv_.find('"');
    if (quote == std::string_view::npos) {
      report_problem("a quote is not closed in the row that begins here");
      return false;
    }
    current_line_ += std::ranges::count(unread_csv_.substr(0, quote), '\n');
    field += unread_csv_.substr(0, quote);
    unread_csv_.remove_prefix(quote + 1);
    if (!unread_csv_.starts_with('"')) break;
    field += '"';
    unread_csv_.remove_prefix(1);
  }
  if (unread_csv_.empty() || unread_csv_.front() == ',' || at_line_end()) return true;
  report_problem("what follows a field in quotes must be a comma or the end of the line");
  return false;
}

bool CsvTable::at_line_end() const {
  return unread_csv_.starts_with('\n') || unread_csv_.starts_with("\r\n");
}

bool CsvTable::skip_line_end() {
  if (!at_line_end()) return false;
  unread_csv_.remove_prefix(unread_csv_.front() == '\r' ? 2 : 1);
  ++current_line_;
  return true;
}

std::string_view CsvTable::field(std::size_t column) const {
  const std::optional<std::size_t> place = positions_[column];
  return place ? std::string_view(fields_[*place]) : std::string_view();
}

std::int64_t CsvTable::number(std::size_t column, std::int64_t most) {
  const std::optional<std::int64_t> value = base::parse_integer(field(column));
  if (value && *value >= 0 && *value <= most) return *value;
  report_problem(std::string(columns_[column].name) + " must be an integer from 0 to " +
                 std::to_string(most) + ", not " + base::in_quotes(field(column)));
  return 0;
}

std::string CsvTable::name(std::size_t column) {
  const std::string_view text = field(column);
  if (text.empty() || text.size() > kLongestName || !printable_without_blanks(text)) {
    report_problem(std::string(columns_[column].name) + " must be a text of 1 to " +
                   std::to_string(kLongestName) +
                   " printable ASCII characters without blanks, not " + base::in_quotes(text));
  }
  return std::string(text);
}

void CsvTable::report_problem(std::string_view sentence) {
  if (problem_) return;
  problem_ =
      base::Error{base::ErrorCode::kInvalid, std::string(source_) + ':' + std::to_string(line_) +
                                                 ": " + std::string(sentence)};
}

std::string CsvTable::required_columns() const {
  std::string names;
  for (const CsvColumn& column : columns_) {
    if (column.required) names += (names.empty() ? "" : ", ") + std::string(column.name);
  }
  return names;
}

}  // namespace snug::sim_codec
