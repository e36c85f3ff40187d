// The unix socket of the container runtime, whose waits a StopSignal ends. RuntimeSocket is not
// thread-safe; StopSignal is.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "snug/base/result.hpp"

namespace snug::nri {

/// A file descriptor, closed by the destructor.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) = delete;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// Raised once, from any thread.
class StopSignal {
 public:
  StopSignal();

  /// False: the system refused the file descriptor.
  [[nodiscard]] bool usable() const { return event_.get() >= 0; }
  void raise() const;
  [[nodiscard]] bool is_raised() const { return wait_for(std::chrono::milliseconds{0}); }
  /// Waits until the signal is raised, but at most `time`. Returns whether it is.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds time) const;
  [[nodiscard]] int fd() const { return event_.get(); }

 private:
  FileDescriptor event_;
};

/// Errors are kUnavailable: the socket cannot be used any more, or the signal is raised.
class RuntimeSocket {
 public:
  [[nodiscard]] static base::Result<RuntimeSocket> connect(const std::string& path);
  /// A socket that is connected already; it is closed by the destructor.
  [[nodiscard]] static RuntimeSocket adopt(int fd) { return RuntimeSocket{FileDescriptor{fd}}; }

  /// Waits for bytes and replaces those in `bytes`, up to nri_frame_bytes.
  [[nodiscard]] base::Result<void> read(std::string& bytes, const StopSignal& stop) const;
  [[nodiscard]] base::Result<void> write(std::string_view bytes, const StopSignal& stop) const;

 private:
  explicit RuntimeSocket(FileDescriptor socket) : socket_(std::move(socket)) {}
  [[nodiscard]] base::Result<void> wait(short events, const StopSignal& stop) const;

  FileDescriptor socket_;  // non-blocking, if it was connected here
};

}  // namespace snug::nri
