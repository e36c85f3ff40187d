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
    : rest_(text), source_(source), columns_(columns), positions_(columns.size()) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
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
    const auto known = std::ranges::find(columns_, fields_[place], &CsvColumn::name);
    if (known == columns_.end()) continue;
    auto& found = positions_[static_cast<std::size_t>(known - columns_.begin())];
    if (found) report_problem("the column " + fields_[place] + " is in the header twice");
    found = place;
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
  while (!rest_.empty() && (at_line_end() || rest_.front() == '#')) {
    if (rest_.front() == '#') rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    skip_line_end();
  }
  line_ = current_line_;
  field_count_ = 0;
  if (rest_.empty()) return false;
  while (true) {
    if (!read_field()) return false;
    if (rest_.empty() || skip_line_end()) return true;
    rest_.remove_prefix(1);  // skips the comma
  }
}

bool CsvTable::read_field() {
  if (field_count_ == fields_.size()) fields_.emplace_back();
  std::string& field = fields_[field_count_++];
  field.clear();
  if (rest_.starts_with('"')) return read_quoted(field);
  std::size_t length = std::min(rest_.find_first_of(",\n"), rest_.size());
  if (length > 0 && length < rest_.size() && rest_[length] == '\n' && rest_[length - 1] == '\r') {
    --length;
  }
  field = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return true;
}

bool CsvTable::read_quoted(std::string& field) {
  rest_.remove_prefix(1);
  while (true) {
    const std::size_t quote = rest_.find('"');
    if (quote == std::string_view::npos) {
      report_problem("a quote is not closed in the row that begins here");
      return false;
    }
    current_line_ += std::ranges::count(rest_.substr(0, quote), '\n');
    field += rest_.substr(0, quote);
    rest_.remove_prefix(quote + 1);
    if (!rest_.starts_with('"')) break;
    field += '"';
    rest_.remove_prefix(1);
  }
  if (rest_.empty() || rest_.front() == ',' || at_line_end()) return true;
  report_problem("what follows a field in quotes must be a comma or the end of the line");
  return false;
}

bool CsvTable::at_line_end() const { return rest_.starts_with('\n') || rest_.starts_with("\r\n"); }

bool CsvTable::skip_line_end() {
  if (!at_line_end()) return false;
  rest_.remove_prefix(rest_.front() == '\r' ? 2 : 1);
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
