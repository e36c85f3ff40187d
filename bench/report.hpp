// What a bench of calls says: quantiles of each kind of call, whether its median or its worst call
// is within its bound, and the same as a page of bench/results with the machine and the command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace snug_bench {

/// For a page of results: the date, how many cores, and of what.
[[nodiscard]] std::string day_and_machine();
/// Ends the program where the file cannot be written.
void write_page(const char* path, const std::string& text);

enum class Judged { kMedian, kWorst };

class Report {
 public:
  Report(std::string shape, Judged judged) : shape_(std::move(shape)), judged_(judged) {}

  /// `micros` is not empty; `most_us` bounds what is judged of it.
  void add(std::string_view what, std::vector<double> micros, int most_us);

  /// Both medians and their ratio, without a bound. Neither list is empty.
  void compare(std::string_view what, std::vector<double> micros, std::string_view floor,
               std::vector<double> floor_micros);

  [[nodiscard]] bool passed() const;
  /// The shape, a table, and a sentence for each verdict.
  [[nodiscard]] std::string text() const;
  /// Ends the program where the file cannot be written.
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
  std::string ratios_;  // a sentence each
};

}  // namespace snug_bench
