// Makes and checks the webhook's certificates with OpenSSL: P-256 keys, an authority for each
// certificate. The authority's key is not kept, so the authority signs nothing else. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "snug/service/webhook_ports.hpp"

namespace snug::http {

class OpensslCertificateMaker final : public service::CertificateMaker {
 public:
  /// The names that the certificate is for. `addresses`: IP addresses.
  OpensslCertificateMaker(std::vector<std::string> host_names, std::vector<std::string> addresses);

  [[nodiscard]] base::Result<admission::ServerIdentity> make(
      const admission::Validity& validity) override;
  [[nodiscard]] base::Result<admission::Validity> inspect(
      const admission::ServerIdentity& identity) override;

 private:
  const std::vector<std::string> host_names_;
  const std::vector<std::string> addresses_;
};

}  // namespace snug::http
