// Reads a CSV text row by row, by the names of its columns. Fields may be quoted, with "" for a
// quote; lines may end with CR LF; the text may begin with a byte order mark. Empty lines and lines
// that begin with # are skipped. Pure.
//
// The first problem, one sentence with file and line, is kept and ends the rows: check problem()
// once, when next() has returned false.
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
  /// `source` names the text in messages. What the arguments point to outlives the table.
  CsvTable(std::string_view text, std::string_view source, std::span<const CsvColumn> columns);

  /// Reads the next row, and the header before the first. False: no more rows, or a problem.
  [[nodiscard]] bool next();

  /// The row's field in the column at this position of `columns`; empty if the file lacks the
  /// column.
  [[nodiscard]] std::string_view field(std::size_t column) const;
  /// 0, and a problem, unless the field is an integer from 0 to `most`.
  std::int64_t number(std::size_t column, std::int64_t most);
  /// A problem unless the field has 1 to 253 printable characters without blanks.
  std::string name(std::size_t column);

  /// Where the row begins, from 1.
  [[nodiscard]] std::int64_t line() const { return line_; }
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

  std::string_view rest_;
  std::string_view source_;
  std::span<const CsvColumn> columns_;
  std::vector<std::optional<std::size_t>> positions_;  // of each of columns_ in a record
  std::size_t column_count_ = 0;                       // fields of the header
  std::vector<std::string> fields_;                    // the first used_ are the record's
  std::size_t field_count_ = 0;
  std::int64_t line_ = 1;          // of the record
  std::int64_t current_line_ = 1;  // of rest_
  bool header_read_ = false;
  std::optional<base::Error> problem_;
};

}  // namespace snug::sim_codec
