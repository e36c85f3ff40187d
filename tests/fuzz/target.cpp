#include "target.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace snug::fuzz {

void require(bool condition, std::string_view what) {
  if (condition) return;
  std::cerr << "not as required: " << what << '\n';
  std::abort();
}

}  // namespace snug::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  snug::fuzz::take_input({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
