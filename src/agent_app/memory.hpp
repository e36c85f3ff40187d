// How the agent keeps the resident memory of its process small.
#pragma once

#include <cstddef>

namespace snug::agent_app {

/// Configures the allocator for little memory: the agent allocates little, and never in a hurry.
/// Must be called before any thread starts.
void configure_allocator();

/// The pages of the program and its libraries, except segments that can be written. Most are used
/// only at the start: by the dynamic linker and by initializers, also of libraries that Debian's
/// libcurl needs and the agent never calls.
class StartPages {
 public:
  /// Libraries that are loaded later do not belong to them: NVIDIA's might change its own code.
  StartPages();
  /// The kernel maps a page again when it is used.
  void unmap() const;

 private:
  std::size_t objects_ = 0;
};

/// Returns free memory to the kernel. free() alone returns only what lies at the heap's end.
void return_free_memory();

}  // namespace snug::agent_app
