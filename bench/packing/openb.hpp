// The runs on the openb trace (bench/packing/openb), and the published figures for them.
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

/// `folder` has the files of bench/packing/openb. Ends the program with an error message if one is
/// missing or malformed.
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

/// The file's text. Ends the program with an error message if it cannot be read.
[[nodiscard]] std::string text_of(const std::string& path);

}  // namespace snug_bench
