#include "ctl/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

namespace snug {
namespace {

constexpr auto kBetweenDraws = std::chrono::milliseconds(100);
constexpr std::size_t kBar = 24;
constexpr int kNameWidth = 20;  // so that the line stays below 80 characters

/// `1:02:03` or `2:03`.
std::string clock_text(double seconds) {
  const auto all = static_cast<std::int64_t>(std::clamp(seconds, 0.0, 359'999.0));
  std::array<char, 32> text{};
  if (all >= 3600) {
    std::snprintf(text.data(), text.size(), "%d:%02d:%02d", static_cast<int>(all / 3600),
                  static_cast<int>(all / 60 % 60), static_cast<int>(all % 60));
  } else {
    std::snprintf(text.data(), text.size(), "%d:%02d", static_cast<int>(all / 60),
                  static_cast<int>(all % 60));
  }
  return text.data();
}

}  // namespace

Progress::Progress(std::string name, std::size_t all, const Clock& clock)
    : name_(std::move(name)),
      all_(std::max<std::size_t>(all, 1)),
      clock_(clock),
      shown_(::isatty(STDERR_FILENO) == 1),
      start_(clock.now()),
      drawn_(start_) {
  if (shown_) draw(start_);
}

Progress::~Progress() {
  if (on_screen_) std::fputs("\r\x1b[K", stderr);
}

void Progress::step() {
  ++done_;
  if (!shown_) return;
  const TimePoint now = clock_.now();
  if (now - drawn_ < kBetweenDraws) return;
  drawn_ = now;
  draw(now);
}

void Progress::draw(TimePoint now) {
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  const std::string left =
      rate > 0 ? clock_text(static_cast<double>(all_ - std::min(done_, all_)) / rate) : "-:--";
  const std::size_t filled = std::min(kBar, done_ * kBar / all_);
  const std::string bar = std::string(filled, '#') + std::string(kBar - filled, '.');
  std::fprintf(stderr, "\r%.*s [%s] %3d %%  %.0f arrivals/s  ETA %s\x1b[K", kNameWidth,
               name_.c_str(), bar.c_str(),
               static_cast<int>(std::min<std::size_t>(100, done_ * 100 / all_)), rate,
               left.c_str());
  std::fflush(stderr);
  on_screen_ = true;
}

}  // namespace snug
