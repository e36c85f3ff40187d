// The server's certificate, key and client authority, reloaded when their files change. A failed
// reload is reported once, and the last valid ones stay in use. Thread-safe.
#pragma once

#include <openssl/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "snug/adapters/http/http_options.hpp"
#include "snug/base/mutex.hpp"
#include "snug/base/result.hpp"

namespace snug::http {

class TlsContextReloader {
 public:
  TlsContextReloader(TlsFiles files, std::function<void(std::string_view)> on_problem);

  /// Reads the files for the first time; the error names the file.
  [[nodiscard]] base::Result<void> open();
  /// For a new connection. Never null after open().
  [[nodiscard]] std::shared_ptr<SSL_CTX> current();

 private:
  /// What tells one version of a file from the next.
  struct Stamp {
    std::uint64_t inode = 0;
    std::int64_t size = -1;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  using Stamps = std::array<Stamp, 3>;

  [[nodiscard]] static Stamp stamp_of(const std::string& file);
  [[nodiscard]] Stamps stamps() const;

  const TlsFiles files_;
  const std::function<void(std::string_view)> on_problem_;
  base::Mutex mutex_;
  Stamps read_stamps_ SNUG_GUARDED_BY(mutex_){};  // of the files as `context_` has them
  std::shared_ptr<SSL_CTX> context_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::http
