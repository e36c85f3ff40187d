// Streams become single objects without ever standing in memory as a whole. Only brackets, strings
// and escapes of JSON and the lengths of frames are understood here; each object is read for itself
// by codec/kube_objects. An object over the limit is told by its beginning. Views given to
// callbacks die when these return. Not thread-safe.
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

/// The frames of a watch in protobuf: a length of four bytes, the first the highest, then as many
/// bytes. One that comes in one piece is given without being copied.
class FrameSplitter {
 public:
  FrameSplitter(std::size_t max_bytes, SplitterCallbacks callbacks);
  /// False: a callback said stop. One that is too large is told as soon as its beginning is here.
  bool feed(std::string_view piece);
  /// The end of a frame has not come.
  [[nodiscard]] bool in_frame() const { return length_digits_ > 0; }

 private:
  /// Both take what they need from the front of the piece.
  void take_length(std::string_view& piece);
  bool take_frame(std::string_view& piece);
  void end_frame();

  const std::size_t max_bytes_;
  const SplitterCallbacks callbacks_;
  std::size_t length_digits_ = 0;  // bytes of the length that have come; 4: the frame has begun
  std::size_t left_ = 0;           // bytes of the frame that have not come
  std::size_t wanted_ = 0;         // bytes from the frame's front that a callback gets
  std::string kept_;               // those of them that came in earlier pieces
  bool oversize_ = false;
  bool told_ = false;  // an oversize frame; its rest is skipped
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
