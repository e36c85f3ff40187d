// The runs on the openb trace (bench/packing/openb), and what others report of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snug/sim/report.hpp"
#include "snug/sim/trace.hpp"

namespace snug_bench {

struct OpenbRun {
  std::string name;  // of the file of arrivals
  std::uint64_t seed = 0;
  snug::sim::Trace trace;
};

struct PublishedFigure {
  std::string policy;
  std::uint64_t seed = 0;
  double at100 = 0;
  double at130 = 0;
};

/// `folder` holds what bench/packing/openb does. Ends the program with a sentence where a file is
/// missing or wrong.
class Openb {
 public:
  explicit Openb(const std::string& folder);

  [[nodiscard]] const std::vector<OpenbRun>& fill() const { return fill_; }
  [[nodiscard]] const std::vector<OpenbRun>& churn() const { return churn_; }
  [[nodiscard]] const std::vector<PublishedFigure>& published() const { return published_; }

 private:
  std::vector<OpenbRun> fill_;
  std::vector<OpenbRun> churn_;
  std::vector<PublishedFigure> published_;
};

/// The file's text; ends the program where it cannot be read.
[[nodiscard]] std::string text_of(const std::string& path);

}  // namespace snug_bench
