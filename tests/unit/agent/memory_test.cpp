// What the agent does to keep its resident memory small.
#include "agent_app/memory.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace snug::memory_test {
namespace {

/// KiB of this process, from /proc: RssFile or RssAnon.
std::int64_t resident(const std::string& kind) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == kind + ":" && status >> kibibytes) return kibibytes;
  }
  ADD_FAILURE() << "/proc/self/status has no " << kind;
  return 0;
}

int changed_number = 7;

TEST(Memory, PagesOfTheProgramAreUnmappedAndItsVariablesStay) {
  changed_number = 8;
  const std::int64_t before = resident("RssFile");
  agent_app::StartPages().unmap();
  EXPECT_LT(resident("RssFile"), before / 2);
  EXPECT_EQ(changed_number, 8);
}

/// KiB of the largest mapping of the file.
std::int64_t resident_of(const std::string& file) {
  std::ifstream mappings("/proc/self/smaps");
  std::int64_t most = 0;
  bool is_file = false;
  for (std::string line; std::getline(mappings, line);) {
    if (line.find('-') < line.find(':')) is_file = line.ends_with(file);
    if (is_file && line.starts_with("Rss:")) most = std::max(most, std::stol(line.substr(4)));
  }
  return most;
}

TEST(Memory, PagesOfLibrariesThatAreLoadedLaterStay) {
  const agent_app::StartPages pages;
  const std::string name = "libnvidia-ml.so.1";
  const auto folder = std::filesystem::canonical("/proc/self/exe").parent_path() / "standin";
  void* const library = ::dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const std::int64_t before = resident_of(name);
  EXPECT_GT(before, 0);
  pages.unmap();
  EXPECT_GE(resident_of(name), before);
  ::dlclose(library);
}

TEST(Memory, FreeMemoryBetweenBlocksInUseIsReturned) {
  for (const char* sanitizer : {"__asan_init", "__tsan_init"}) {
    if (::dlsym(RTLD_DEFAULT, sanitizer) != nullptr) GTEST_SKIP() << "it has a heap of its own";
  }
  constexpr std::size_t kBlocks = 20'000;
  std::vector<std::unique_ptr<std::string>> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i)
    blocks.push_back(std::make_unique<std::string>(1'000, 'x'));
  for (std::size_t i = 0; i + 1 < kBlocks; ++i) blocks[i].reset();
  const std::int64_t before = resident("RssAnon");
  agent_app::return_free_memory();
  EXPECT_LT(resident("RssAnon"), before - 10'000);
}

}  // namespace
}  // namespace snug::memory_test
