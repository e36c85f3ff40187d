#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

namespace snug_bench {
namespace {

std::string one_digit(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "a CPU that does not say its model";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

}  // namespace

void Report::add(std::string_view what, std::vector<double> micros, int most_us) {
  std::ranges::sort(micros);
  const auto at = [&](double part) {
    return micros[static_cast<std::size_t>(part * static_cast<double>(micros.size() - 1))];
  };
  rows_.push_back({std::string(what), micros.size(), at(0.5), at(0.9), at(0.99), most_us});
}

bool Report::passed() const {
  return std::ranges::all_of(rows_, [](const Row& row) { return row.p50 <= row.most_us; });
}

std::string Report::text() const { return shape_ + "\n\n" + table() + "\n" + verdicts(); }

std::string Report::table() const {
  std::string text = "| call | calls | p50 us | p90 us | p99 us | p50 at most |\n";
  text += "|---|---|---|---|---|---|\n";
  for (const Row& row : rows_) {
    text += "| " + row.what + " | " + std::to_string(row.calls) + " | " + one_digit(row.p50) +
            " | " + one_digit(row.p90) + " | " + one_digit(row.p99) + " | " +
            std::to_string(row.most_us) + " |\n";
  }
  return text;
}

std::string Report::verdicts() const {
  std::string text;
  for (const Row& row : rows_) {
    const bool good = row.p50 <= row.most_us;
    text += std::string(good ? "PASS" : "FAIL") + ": the median of " + row.what + " is " +
            one_digit(row.p50) + " us and may be at most " + std::to_string(row.most_us) + " us.\n";
  }
  return text;
}

void Report::write(const char* path, int argc, char** argv) const {
  std::string command = "build/dev/bench/http_bench";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path);
  file << "# Latency of filter and bind\n\n    " << command << "\n\n"
       << today() << ", " << std::thread::hardware_concurrency() << " cores of " << cpu_model()
       << ". " << shape_ << ".\n\n"
       << table() << "\n"
       << verdicts();
  if (!file.flush()) {
    std::fprintf(stderr, "http_bench: %s cannot be written\n", path);
    std::exit(1);
  }
}

}  // namespace snug_bench
