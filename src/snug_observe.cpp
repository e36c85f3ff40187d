// The main function of snug-observe: prints what its container sees of GPUs, as one line of JSON.
// `snugctl verify` runs it in pods, whose termination log it writes too.
#include <cstdint>
#include <cstdio>
#include <expected>
#include <fstream>
#include <string>
#include <string_view>

#include "observe_app/observe.hpp"
#include "snug/base/text.hpp"
#include "snug/base/version.hpp"
#include "snug/verify/verify_limits.hpp"
#include "snug/verify_codec/observation_codec.hpp"

namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongFlag = 2;
constexpr const char* kUsage =
    "Usage: snug-observe [--allocate-mib=N] [--result=FILE]\n\n"
    "Prints what this container sees of GPUs, as one line of JSON.\n\n"
    "  --allocate-mib=N  allocate so much memory of CUDA device 0, and free it again\n"
    "  --result=FILE     write the line to this file too\n"
    "  --help, --version\n";

struct Flags {
  std::int64_t allocate_mib = 0;
  std::string result;
  std::string print_and_exit;
};

/// The flags, or what is wrong with one.
std::expected<Flags, std::string> read_flags(int argc, const char* const* argv) {
  constexpr std::string_view kAllocate = "--allocate-mib=";
  constexpr std::string_view kResult = "--result=";
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help") {
      flags.print_and_exit = kUsage;
    } else if (word == "--version") {
      flags.print_and_exit = snug::base::version_of("snug-observe") + "\n";
    } else if (word.starts_with(kResult)) {
      flags.result = word.substr(kResult.size());
    } else if (word.starts_with(kAllocate)) {
      const auto number = snug::base::parse_integer(word.substr(kAllocate.size()));
      if (!number || *number < 0 || *number > snug::verify::kLargestAllocationMib)
        return std::unexpected(std::string(word) + ": must be a whole number from 0 to " +
                               std::to_string(snug::verify::kLargestAllocationMib));
      flags.allocate_mib = *number;
    } else {
      return std::unexpected("unknown flag " + std::string(word) + "; see --help");
    }
  }
  return flags;
}

int run(const Flags& flags) {
  const std::string line =
      snug::verify_codec::write_observation(snug::observe_app::observe(flags.allocate_mib)) + "\n";
  bool is_written = std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!flags.result.empty()) {
    std::ofstream file(flags.result, std::ios::binary);
    file << line << std::flush;
    is_written = is_written && file.good();
  }
  return is_written ? kDone : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  const auto flags = read_flags(argc, argv);
  if (!flags) {
    std::fprintf(stderr, "snug-observe: %s\n", flags.error().c_str());
    return kWrongFlag;
  }
  if (!flags->print_and_exit.empty()) {
    std::fputs(flags->print_and_exit.c_str(), stdout);
    return kDone;
  }
  return run(*flags);
}
