// The TLS context of the server: its certificate, its key and the CA for client certificates.
// Reloads them when their files change, or when the source of an identity gives another one. A
// failed reload is reported once for each change, and the last valid context stays in use.
// Thread-safe.
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
  using IdentitySource = decltype(HttpOptions::tls_identity);

  TlsContextReloader(TlsFiles files, std::function<void(std::string_view)> on_problem);
  TlsContextReloader(IdentitySource identity_source,
                     std::function<void(std::string_view)> on_problem);

  /// Reads the files for the first time. The error message names the file.
  [[nodiscard]] base::Result<void> open();
  /// Returns the context for a new connection. Reloads it first if the certificate has
  /// changed. Null: the source has not given an identity yet.
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
  /// Returns whether the certificate has changed since the last call.
  [[nodiscard]] bool take_change() SNUG_REQUIRES(mutex_);
  [[nodiscard]] base::Result<std::shared_ptr<SSL_CTX>> load() const SNUG_REQUIRES(mutex_);

  const TlsFiles files_;
  const IdentitySource identity_source_;  // empty: the files are used
  const std::function<void(std::string_view)> on_problem_;
  base::Mutex mutex_;
  Stamps read_stamps_ SNUG_GUARDED_BY(mutex_){};  // taken before the files were last read
  std::shared_ptr<const admission::ServerIdentity> identity_ SNUG_GUARDED_BY(mutex_);
  std::shared_ptr<SSL_CTX> context_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::http
