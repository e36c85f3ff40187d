#include "ctl/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

namespace snug::ctl {
namespace {

constexpr auto kBetweenDraws = std::chrono::milliseconds(100);
constexpr std::size_t kBarWidth = 24;
constexpr int kNameWidth = 20;  // keeps the line shorter than 80 characters

/// Returns a duration as `1:02:03` or `2:03`.
std::string clock_text(double seconds) {
  const auto total_seconds = static_cast<std::int64_t>(std::clamp(seconds, 0.0, 359'999.0));
  std::array<char, 32> text{};
  if (total_seconds >= 3600) {
    std::snprintf(text.data(), text.size(), "%d:%02d:%02d", static_cast<int>(total_seconds / 3600),
                  static_cast<int>(total_seconds / 60 % 60), static_cast<int>(total_seconds % 60));
  } else {
    std::snprintf(text.data(), text.size(), "%d:%02d", static_cast<int>(total_seconds / 60),
                  static_cast<int>(total_seconds % 60));
  }
  return text.data();
}

}  // namespace

Progress::Progress(std::string name, std::size_t arrivals, const base::Clock& clock)
    : name_(std::move(name)),
      total_(std::max<std::size_t>(arrivals, 1)),
      clock_(clock),
      is_terminal_(::isatty(STDERR_FILENO) == 1),
      start_(clock.now()),
      last_drawn_(start_) {
  if (is_terminal_) draw(start_);
}

Progress::~Progress() {
  if (on_screen_) std::fputs("\r\x1b[K", stderr);
}

void Progress::advance() {
  ++done_;
  if (!is_terminal_) return;
  const base::TimePoint now = clock_.now();
  if (now - last_drawn_ < kBetweenDraws) return;
  last_drawn_ = now;
  draw(now);
}

void Progress::draw(base::TimePoint now) {
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  const std::string eta =
      rate > 0 ? clock_text(static_cast<double>(total_ - std::min(done_, total_)) / rate) : "-:--";
  const std::size_t filled = std::min(kBarWidth, done_ * kBarWidth / total_);
  const std::string bar = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
  std::fprintf(stderr, "\r%.*s [%s] %3d %%  %.0f arrivals/s  ETA %s\x1b[K", kNameWidth,
               name_.c_str(), bar.c_str(),
               static_cast<int>(std::min<std::size_t>(100, done_ * 100 / total_)), rate,
               eta.c_str());
  std::fflush(stderr);
  on_screen_ = true;
}

}  // namespace snug::ctl
