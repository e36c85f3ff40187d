// Split a stream into its objects as it arrives, so that memory holds one object at a time. They
// know only brackets, strings and escapes of JSON, and the lengths of frames; codec/kube_objects
// parses the objects. Of an object over the limit the callback gets the beginning. The views that
// callbacks get are valid until these return. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"

namespace snug::kube {

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

/// The frames of a watch in protobuf: a big-endian length of four bytes, then that many bytes. A
/// frame that arrives in one piece is not copied.
class FrameSplitter {
 public:
  FrameSplitter(std::size_t max_bytes, SplitterCallbacks callbacks);
  /// False: a callback said stop. A frame that is too large is reported once its beginning has
  /// come.
  bool feed(std::string_view piece);
  /// The end of a frame has not come.
  [[nodiscard]] bool in_frame() const { return length_digits_ > 0; }

 private:
  /// Both remove from the front of the piece what they consume.
  void take_length(std::string_view& piece);
  bool take_frame(std::string_view& piece);
  void end_frame();

  const std::size_t max_bytes_;
  const SplitterCallbacks callbacks_;
  std::size_t length_digits_ = 0;  // bytes of the length that have come; 4: the frame has begun
  std::size_t left_ = 0;           // bytes of the frame that have not come
  std::size_t wanted_ = 0;         // bytes of the frame's beginning that a callback gets
  std::string kept_;               // of these, what came in earlier pieces
  bool oversize_ = false;
  bool told_ = false;  // the callback was called; the rest of the frame is skipped
};

/// The objects of a list's `items`, and its metadata.resourceVersion wherever that stands.
class ListSplitter {
 public:
  ListSplitter(std::size_t max_bytes, SplitterCallbacks callbacks);
  /// False: a callback said stop, or this is not a list.
  bool feed(std::string_view piece);
  /// After the last piece: the resourceVersion, or what is wrong with the list.
  [[nodiscard]] base::Result<std::string> finish();

 private:
  enum class Capture : std::uint8_t { kNothing, kKey, kMetadata, kItem };

  /// Both advance `at` past the bytes that they consume.
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

}  // namespace snug::kube
