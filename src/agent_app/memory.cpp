#include "agent_app/memory.hpp"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>

namespace snug::agent_app {
namespace {

using ProgramHeader = ElfW(Phdr);

int count_object(dl_phdr_info*, std::size_t, void* count) {
  ++*static_cast<std::size_t*>(count);
  return 0;
}

/// The objects come in the order in which they were loaded. Ends the iteration when none is left.
int unmap_object(dl_phdr_info* object, std::size_t, void* left) {
  if ((*static_cast<std::size_t*>(left))-- == 0) return 1;
  const auto page_mask = ~(static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE)) - 1);
  for (const ProgramHeader& header : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + header.p_vaddr) & page_mask;
    const std::uintptr_t end = object->dlpi_addr + header.p_vaddr + header.p_memsz;
    // It fails where the kernel does not allow it, which costs nothing but the memory.
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the linker gives addresses as numbers
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void configure_allocator() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, 64 << 10);
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
}

StartPages::StartPages() { ::dl_iterate_phdr(&count_object, &objects_); }

void StartPages::unmap() const {
  std::size_t left = objects_;
  ::dl_iterate_phdr(&unmap_object, &left);
}

void return_free_memory() { ::malloc_trim(0); }

}  // namespace snug::agent_app
