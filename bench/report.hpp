// What a bench of calls says: quantiles of each kind of call, whether its median is within its
// bound, and the same as a page of bench/results with the machine and the command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace snug_bench {

class Report {
 public:
  explicit Report(std::string shape) : shape_(std::move(shape)) {}

  /// `micros` is not empty; `most_us` bounds its median.
  void add(std::string_view what, std::vector<double> micros, int most_us);

  [[nodiscard]] bool passed() const;
  /// The shape, a table, and a sentence for each verdict.
  [[nodiscard]] std::string text() const;
  /// Ends the program where the file cannot be written.
  void write(const char* path, int argc, char** argv) const;

 private:
  struct Row {
    std::string what;
    std::size_t calls = 0;
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;
    int most_us = 0;
  };

  [[nodiscard]] std::string table() const;
  [[nodiscard]] std::string verdicts() const;

  std::string shape_;
  std::vector<Row> rows_;
};

}  // namespace snug_bench
