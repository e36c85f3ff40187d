// The main function of snug-mps: reads the options, runs MPS daemons, and ends them and itself on
// SIGTERM or SIGINT.
#include <malloc.h>

#include <csignal>
#include <cstdio>

#include "mps_app/mps_program.hpp"
#include "snug/config/mps_options.hpp"
#include "snug/config/signals.hpp"

namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kBadConfiguration = 2;

int fail(const snug::base::Error& error) {
  std::fprintf(stderr, "snug-mps: %s\n", error.message.c_str());
  return error.code == snug::base::ErrorCode::kInvalid ? kBadConfiguration : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_ARENA_MAX, 1);  // it allocates little, and never in a hurry
  auto options = snug::config::read_mps_options(argc, argv);
  if (!options) return fail(options.error());
  if (!options->print_and_exit.empty()) {
    std::fputs(options->print_and_exit.c_str(), stdout);
    return kDone;
  }
  const sigset_t signals = snug::config::block_signals({SIGTERM, SIGINT});
  snug::mps_app::MpsProgram program(*std::move(options));
  if (const auto started = program.start(); !started) return fail(started.error());
  std::puts(program.listening_line().c_str());
  std::fflush(stdout);
  program.run(signals);
  return kDone;
}
