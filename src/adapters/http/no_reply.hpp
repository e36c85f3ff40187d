// Why a server gave no reply, as a sentence for the person who named the server. Pure.
#pragma once

#include <string>
#include <string_view>

namespace snug::http {

enum class NoReply {
  kRefused,       // nothing listens on the port
  kUnknownHost,   // the host's name cannot be resolved
  kUnreachable,   // there is no route to the host
  kTimedOut,      // the host does not accept the connection
  kClosed,        // the server closed the connection without a reply
  kNotTls,        // https was asked for, and the server speaks another protocol
  kUntrusted,     // the certificate of the server
  kBadAuthority,  // the file of authorities cannot be used
  kNotHttp,       // the server answers in another protocol
  kSilent,        // the server accepted the connection and sends nothing
  kOther,
};

/// Returns the sentence. `server` is `http://HOST:PORT`; `detail` is what the library says, and is
/// used only for kOther.
[[nodiscard]] std::string no_reply_sentence(NoReply why, std::string_view server,
                                            std::string_view detail);

}  // namespace snug::http
