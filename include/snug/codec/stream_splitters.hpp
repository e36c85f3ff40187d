// Splitters divide a list or watch into its objects while it arrives, so that memory holds one
// object at a time. They scan only JSON brackets, strings and escapes, and the lengths of frames;
// codec/kube_objects parses the objects. If an object is larger than max_bytes, a callback gets its
// beginning instead. A view that is passed to a callback is valid until the callback returns. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"

namespace snug::codec {

struct SplitterCallbacks {
  /// Called with each object. Returns false to stop the splitter.
  std::function<bool(std::string_view object)> on_object;
  /// Called with the first bytes of an object that is larger than max_bytes. Returns false to stop
  /// the splitter.
  std::function<bool(std::string_view beginning)> on_oversize;
};

/// Splits a watch in JSON into its lines.
class LineSplitter {
 public:
  LineSplitter(std::size_t max_bytes, SplitterCallbacks callbacks);
  /// Takes the next bytes of the stream. Returns false if a callback returned false.
  bool feed(std::string_view piece);

 private:
  bool end_line(std::string_view line);

  const std::size_t max_bytes_;
  const SplitterCallbacks callbacks_;
  std::string partial_line_;  // the beginning of a line whose end has not arrived
  bool oversize_ = false;
};

/// Splits a watch in protobuf into its frames. A frame consists of its length, a big-endian number
/// of four bytes, and as many bytes as the length says. A frame that arrives in one piece is not
/// copied.
class FrameSplitter {
 public:
  FrameSplitter(std::size_t max_bytes, SplitterCallbacks callbacks);
  /// Takes the next bytes of the stream. Returns false if a callback returned false. on_oversize is
  /// called as soon as the beginning of a frame larger than max_bytes has arrived.
  bool feed(std::string_view piece);
  /// Whether the last frame is incomplete.
  [[nodiscard]] bool in_frame() const { return length_bytes_ > 0; }

 private:
  /// take_length() and take_frame() remove the bytes that they consume from the front of `piece`.
  void take_length(std::string_view& piece);
  bool take_frame(std::string_view& piece);
  void end_frame();

  const std::size_t max_bytes_;
  const SplitterCallbacks callbacks_;
  std::size_t length_bytes_ = 0;      // number of bytes of the length that have arrived, 0 to 4
  std::size_t frame_bytes_left_ = 0;  // number of bytes of the frame that have not arrived
  std::size_t callback_bytes_ = 0;    // number of bytes of the frame that the callback gets
  std::string partial_frame_;         // bytes from earlier pieces, to be passed to the callback
  bool oversize_ = false;
  bool callback_called_ =
      false;  // a callback was called for this frame; its other bytes are skipped
};

/// Splits a list in JSON into the objects of its `items`, and reads its metadata.resourceVersion,
/// which may precede or follow `items`.
class ListSplitter {
 public:
  ListSplitter(std::size_t max_bytes, SplitterCallbacks callbacks);
  /// Takes the next bytes of the list. Returns false if a callback returned false or if the bytes
  /// are not a list.
  bool feed(std::string_view piece);
  /// Call this after the last piece. Returns the resourceVersion of the list, or an error if the
  /// list is invalid or incomplete.
  [[nodiscard]] base::Result<std::string> finish();

 private:
  enum class Capture : std::uint8_t { kNothing, kKey, kMetadata, kItem };

  /// in_string() and outside_string() advance `offset` past the bytes that they consume.
  bool in_string(std::string_view piece, std::size_t& offset);
  bool outside_string(std::string_view piece, std::size_t& offset);
  bool open(char bracket, std::size_t offset);
  bool close(char bracket, std::string_view piece, std::size_t offset);
  bool take_other_byte(char c);
  void begin(Capture capture_kind, std::size_t offset);
  void keep(std::string_view bytes);
  bool end_object();
  [[nodiscard]] bool fail_list(std::string problem);

  const std::size_t max_bytes_;
  const SplitterCallbacks callbacks_;

  std::size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool key_expected_ = false;  // the next string at depth 1 is a key
  std::string top_level_key_;  // the last key at depth 1
  bool in_items_ = false;
  bool items_seen_ = false;
  bool list_ended_ = false;

  Capture capture_ = Capture::kNothing;
  std::size_t capture_from_ = 0;  // where the captured bytes begin in the current piece
  std::string captured_;
  bool oversize_ = false;
  std::string metadata_;
  std::string problem_;
};

}  // namespace snug::codec
