// Reads a CSV text row by row, and the fields of a row by the names of their columns. A field may
// be in quotes, with "" for a quote. A line may end with CR LF. The text may begin with a byte
// order mark. Empty lines and lines that begin with # are skipped. Pure.
//
// The first problem is kept as a sentence with file and line. After a problem, next() returns
// false, so the caller checks problem() once, after its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/result.hpp"

namespace snug::sim_codec {

struct CsvColumn {
  std::string_view name;
  bool required = true;
};

class CsvTable {
 public:
  /// `source` is the name of the text in messages. The data of all arguments must outlive the
  /// table.
  CsvTable(std::string_view text, std::string_view source, std::span<const CsvColumn> columns);

  /// Reads the next row. The first call also reads the header. Returns false after the last row and
  /// after a problem.
  [[nodiscard]] bool next();

  /// Returns the current row's field in columns[column]; empty if the file lacks that column.
  [[nodiscard]] std::string_view field(std::size_t column) const;
  /// Returns the field as an integer. Reports a problem and returns 0 if the field is not an
  /// integer from 0 to `most`.
  std::int64_t number(std::size_t column, std::int64_t most);
  /// Returns the field. Reports a problem if it does not have 1 to 253 printable ASCII characters
  /// without blanks.
  std::string name(std::size_t column);

  /// The 1-based line in which the current row begins.
  [[nodiscard]] std::int64_t line() const { return line_; }
  /// Keeps the sentence as the problem, with the current line, unless there is a problem already.
  void report_problem(std::string_view sentence);
  [[nodiscard]] const std::optional<base::Error>& problem() const { return problem_; }

 private:
  bool read_header();
  bool read_record();
  bool read_field();
  bool read_quoted(std::string& field);
  bool skip_line_end();
  [[nodiscard]] bool at_line_end() const;
  [[nodiscard]] std::string required_columns() const;

  std::string_view unread_csv_;
  std::string_view source_;
  std::span<const CsvColumn> columns_;
  std::vector<std::optional<std::size_t>> positions_;  // the position in a row for each of columns_
  std::size_t column_count_ = 0;                       // the number of fields in the header
  std::vector<std::string> fields_;                    // the first field_count_ hold the row
  std::size_t field_count_ = 0;
  std::int64_t line_ = 1;          // the line in which the row begins
  std::int64_t current_line_ = 1;  // the line in which unread_csv_ begins
  bool header_read_ = false;
  std::optional<base::Error> problem_;
};

}  // namespace snug::sim_codec
