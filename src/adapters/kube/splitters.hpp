// Streams of JSON become single objects without ever standing in memory as a whole. Only brackets,
// strings and escapes are understood here; each object is read for itself by codec/kube_objects. An
// object over the limit is told by its beginning. Views given to callbacks die when these return.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"

namespace snug {

struct SplitterCallbacks {
  /// One object; false stops the splitting.
  std::function<bool(std::string_view object)> on_object;
  /// The first bytes of one that is too large; false stops the splitting.
  std::function<bool(std::string_view beginning)> on_oversize;
};

/// The lines of a watch.
class LineSplitter {
 public:
  LineSplitter(std::size_t max_bytes, SplitterCallbacks callbacks);
  /// False: a callback said stop.
  bool feed(std::string_view piece);

 private:
  bool end_line(std::string_view line);

  const std::size_t max_bytes_;
  const SplitterCallbacks callbacks_;
  std::string kept_;  // the beginning of a line whose end has not come
  bool oversize_ = false;
};

/// The objects of a list's `items`, and its metadata.resourceVersion wherever that stands.
class ListSplitter {
 public:
  ListSplitter(std::size_t max_bytes, SplitterCallbacks callbacks);
  /// False: a callback said stop, or this is no list.
  bool feed(std::string_view piece);
  /// After the last piece: the resourceVersion, or what is wrong with the list.
  [[nodiscard]] Result<std::string> finish();

 private:
  enum class Capture : std::uint8_t { kNothing, kKey, kMetadata, kItem };

  /// Both get the position of the byte to look at and leave it behind what they took.
  bool in_string(std::string_view piece, std::size_t& at);
  bool outside_string(std::string_view piece, std::size_t& at);
  bool open(char bracket, std::size_t at);
  bool close(char bracket, std::string_view piece, std::size_t at);
  bool other(char c);
  void begin(Capture what, std::size_t at);
  void keep(std::string_view bytes);
  bool end_object();
  [[nodiscard]] bool broken(std::string problem);

  const std::size_t max_bytes_;
  const SplitterCallbacks callbacks_;

  std::size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool key_expected_ = false;  // at depth 1
  std::string key_;            // of the value at depth 1
  bool in_items_ = false;
  bool items_seen_ = false;
  bool ended_ = false;

  Capture capture_ = Capture::kNothing;
  std::size_t capture_from_ = 0;  // in the piece at hand
  std::string kept_;
  bool oversize_ = false;
  std::string metadata_;
  std::string problem_;
};

}  // namespace snug
