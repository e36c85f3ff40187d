// The results of a benchmark of calls: for each kind of call its quantiles, and whether its median
// or its worst call is within its bound. The results are printed, or written to a page in
// bench/results together with the machine and the command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace snug_bench {

/// Returns the date, the number of processor cores and their model, for a page of results.
[[nodiscard]] std::string day_and_machine();
/// Writes a file. Ends the program if the file cannot be written.
void write_page(const char* path, const std::string& text);

enum class Judged { kMedian, kWorst };

class Report {
 public:
  Report(std::string shape, Judged judged) : shape_(std::move(shape)), judged_(judged) {}

  /// Adds a kind of call with its times, which must not be empty. `most_us` is the bound of their
  /// median or of the worst one, depending on Judged.
  void add(std::string_view what, std::vector<double> micros, int most_us);

  /// Reports the medians of both lists and their ratio, without a bound. No list may be empty.
  void compare(std::string_view what, std::vector<double> micros, std::string_view floor,
               std::vector<double> floor_micros);

  [[nodiscard]] bool passed() const;
  /// Returns the results as text: the shape, a table, and one sentence for each bound.
  [[nodiscard]] std::string text() const;
  /// Writes a page of results. Ends the program if the file cannot be written.
  void write(const char* path, const char* title, char** argv) const;

 private:
  struct Row {
    std::string what;
    std::size_t calls = 0;
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;
    double worst = 0;
    int most_us = 0;
  };

  [[nodiscard]] double judged(const Row& row) const;
  [[nodiscard]] const char* judged_name() const;
  [[nodiscard]] std::string table() const;
  [[nodiscard]] std::string verdicts() const;

  std::string shape_;
  Judged judged_;
  std::vector<Row> rows_;
  std::string ratios_;  // one sentence for each compare()
};

}  // namespace snug_bench
