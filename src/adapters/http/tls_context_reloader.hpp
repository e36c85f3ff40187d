// The TLS context of the server: its certificate, its key and the CA for client certificates.
// Reloads them when their files change. A failed reload is reported once for each change of the
// files, and the last valid context stays in use. Thread-safe.
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

  /// Reads the files for the first time. The error message names the file.
  [[nodiscard]] base::Result<void> open();
  /// Returns the context for a new connection. Reloads the files first if one has changed. Not null
  /// after a successful open().
  [[nodiscard]] std::shared_ptr<SSL_CTX> current();

 private:
  /// The attributes of a file by which a change is detected.
  struct Stamp {
    std::uint64_t inode = 0;
    std::int64_t size = -1;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  using Stamps = std::array<Stamp, 3>;

  [[nodiscard]] static Stamp stamp_of(const std::string& pem_file);
  [[nodiscard]] Stamps stamps() const;

  const TlsFiles files_;
  const std::function<void(std::string_view)> on_problem_;
  base::Mutex mutex_;
  Stamps read_stamps_ SNUG_GUARDED_BY(mutex_){};  // taken before the files were last read
  std::shared_ptr<SSL_CTX> context_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::http
