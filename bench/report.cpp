#include "report.hpp"

#include <algorithm>
#include <cerrno>
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
  return "an unknown CPU";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

}  // namespace

std::string day_and_machine() {
  return today() + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores of " +
         cpu_model();
}

void write_page(const char* path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path);
  file << text;
  if (file.flush()) return;
  std::fprintf(stderr, "%s cannot be written\n", path);
  std::exit(1);
}

void Report::add(std::string_view what, std::vector<double> micros, int most_us) {
  std::ranges::sort(micros);
  const auto at = [&](double part) {
    return micros[static_cast<std::size_t>(part * static_cast<double>(micros.size() - 1))];
  };
  rows_.push_back(
      {std::string(what), micros.size(), at(0.5), at(0.9), at(0.99), micros.back(), most_us});
}

void Report::compare(std::string_view what, std::vector<double> micros, std::string_view floor,
                     std::vector<double> floor_micros) {
  const auto median = [](std::vector<double>& of) {
    std::ranges::nth_element(of, of.begin() + std::ssize(of) / 2);
    return of[of.size() / 2];
  };
  const double ours = median(micros);
  const double least = median(floor_micros);
  ratios_ += std::string(what) + ": " + one_digit(ours) + " us; " + std::string(floor) + ": " +
             one_digit(least) + " us; ratio " + one_digit(ours / least) + "\n";
}

bool Report::passed() const {
  return std::ranges::all_of(rows_, [this](const Row& row) { return judged(row) <= row.most_us; });
}

double Report::judged(const Row& row) const {
  return judged_ == Judged::kMedian ? row.p50 : row.worst;
}

const char* Report::judged_name() const { return judged_ == Judged::kMedian ? "median" : "worst"; }

std::string Report::text() const { return shape_ + "\n\n" + table() + "\n" + ratios_ + verdicts(); }

std::string Report::table() const {
  std::string text = "| call | calls | median us | p90 us | p99 us | worst us | ";
  text += std::string(judged_name()) + " at most |\n|---|---|---|---|---|---|---|\n";
  for (const Row& row : rows_) {
    text += "| " + row.what + " | " + std::to_string(row.calls) + " | " + one_digit(row.p50) +
            " | " + one_digit(row.p90) + " | " + one_digit(row.p99) + " | " + one_digit(row.worst) +
            " | " + std::to_string(row.most_us) + " |\n";
  }
  return text;
}

std::string Report::verdicts() const {
  std::string text;
  for (const Row& row : rows_) {
    const bool good = judged(row) <= row.most_us;
    text += std::string(good ? "PASS" : "FAIL") + ": the " + judged_name() + " of " + row.what +
            " is " + one_digit(judged(row)) + " us and may be at most " +
            std::to_string(row.most_us) + " us.\n";
  }
  return text;
}

void Report::write(const char* path, const char* title, char** argv) const {
  std::string command = std::string("build/dev/bench/") + program_invocation_short_name;
  for (char** word = argv + 1; *word != nullptr; ++word) command += std::string(" ") + *word;
  write_page(path, std::string("# ") + title + "\n\n    " + command + "\n\n" + day_and_machine() +
                       ". " + shape_ + ".\n\n" + table() + "\n" + ratios_ + verdicts());
}

}  // namespace snug_bench
