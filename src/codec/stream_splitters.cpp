#include "snug/codec/stream_splitters.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "snug/codec/object_names.hpp"

namespace snug::codec {
namespace {

constexpr std::size_t kLengthBytes = 4;    // size of the length field before each frame
constexpr std::size_t kMaxKeyBytes = 256;  // the keys of a list (`kind`, `items`, ...) are short

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

LineSplitter::LineSplitter(std::size_t max_bytes, SplitterCallbacks callbacks)
    : max_bytes_(max_bytes), callbacks_(std::move(callbacks)) {}

bool LineSplitter::feed(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t newline = piece.find('\n');
    const bool line_complete = newline != std::string_view::npos;
    const std::string_view line_part = piece.substr(0, newline);
    piece.remove_prefix(line_complete ? newline + 1 : piece.size());
    if (partial_line_.size() + line_part.size() > max_bytes_) oversize_ = true;
    if (line_complete && partial_line_.empty() && !oversize_) {
      if (!end_line(line_part)) return false;
      continue;
    }
    const std::size_t room = max_bytes_ - partial_line_.size();
    partial_line_ += line_part.substr(0, room);
    if (!line_complete) continue;
    const bool keep_splitting = end_line(partial_line_);
    partial_line_.clear();
    oversize_ = false;
    if (!keep_splitting) return false;
  }
  return true;
}

bool LineSplitter::end_line(std::string_view line) {
  if (oversize_) return callbacks_.on_oversize(line.substr(0, kNamedWithin));
  if (std::ranges::all_of(line, is_space)) return true;
  return callbacks_.on_object(line);
}

FrameSplitter::FrameSplitter(std::size_t max_bytes, SplitterCallbacks callbacks)
    : max_bytes_(max_bytes), callbacks_(std::move(callbacks)) {}

bool FrameSplitter::feed(std::string_view piece) {
  while (!piece.empty()) {
    if (length_bytes_ < kLengthBytes) {
      take_length(piece);
    } else if (!take_frame(piece)) {
      return false;
    }
  }
  return true;
}

void FrameSplitter::take_length(std::string_view& piece) {
  frame_bytes_left_ = (frame_bytes_left_ << 8U) | static_cast<std::uint8_t>(piece.front());
  piece.remove_prefix(1);
  if (++length_bytes_ < kLengthBytes) return;
  if (frame_bytes_left_ == 0) return end_frame();
  oversize_ = frame_bytes_left_ > max_bytes_;
  callback_bytes_ = oversize_ ? std::min(kNamedWithin, max_bytes_) : frame_bytes_left_;
}

bool FrameSplitter::take_frame(std::string_view& piece) {
  const std::string_view frame_part = piece.substr(0, frame_bytes_left_);
  piece.remove_prefix(frame_part.size());
  frame_bytes_left_ -= frame_part.size();
  bool keep_splitting = true;
  if (!callback_called_) {
    std::string_view front = frame_part.substr(0, callback_bytes_ - partial_frame_.size());
    const bool enough = partial_frame_.size() + front.size() == callback_bytes_;
    if (!partial_frame_.empty() || !enough) {
      partial_frame_.reserve(callback_bytes_);  // += alone could allocate up to twice as much
      partial_frame_ += front;
      front = partial_frame_;
    }
    if (enough)
      keep_splitting = oversize_ ? callbacks_.on_oversize(front) : callbacks_.on_object(front);
    callback_called_ = enough;
  }
  if (frame_bytes_left_ == 0) end_frame();
  return keep_splitting;
}

void FrameSplitter::end_frame() {
  length_bytes_ = 0;
  frame_bytes_left_ = 0;
  callback_bytes_ = 0;
  partial_frame_.clear();
  oversize_ = false;
  callback_called_ = false;
}

ListSplitter::ListSplitter(std::size_t max_bytes, SplitterCallbacks callbacks)
    : max_bytes_(max_bytes), callbacks_(std::move(callbacks)) {}

bool ListSplitter::feed(std::string_view piece) {
  if (!problem_.empty()) return false;
  capture_from_ = 0;
  for (std::size_t offset = 0; offset < piece.size();) {
    const bool keep_splitting =
        in_string_ ? in_string(piece, offset) : outside_string(piece, offset);
    if (!keep_splitting) return false;
  }
  if (capture_ != Capture::kNothing) keep(piece.substr(capture_from_));
  return true;
}

bool ListSplitter::in_string(std::string_view piece, std::size_t& offset) {
  while (offset < piece.size()) {
    const char c = piece[offset++];
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      if (capture_ != Capture::kKey) return true;
      keep(piece.substr(capture_from_, offset - 1 - capture_from_));
      if (captured_.size() > kMaxKeyBytes) return fail_list("a key of the list is too long");
      top_level_key_ = captured_;
      capture_ = Capture::kNothing;
      key_expected_ = false;
      return true;
    }
  }
  return true;
}

bool ListSplitter::outside_string(std::string_view piece, std::size_t& offset) {
  const char c = piece[offset++];
  switch (c) {
    case '"':
      if (depth_ == 0 || (depth_ == 2 && in_items_)) return take_other_byte(c);
      in_string_ = true;
      if (depth_ == 1 && key_expected_) begin(Capture::kKey, offset);
      return true;
    case '{':
    case '[':
      return open(c, offset - 1);
    case '}':
    case ']':
      return close(c, piece, offset);
    case ',':
      if (depth_ == 1) key_expected_ = true;
      return depth_ > 0 || take_other_byte(c);
    default:
      return is_space(c) || take_other_byte(c);
  }
}

bool ListSplitter::open(char bracket, std::size_t offset) {
  if (depth_ == 0) {
    if (bracket != '{' || list_ended_) return fail_list("it is not a single JSON object");
    key_expected_ = true;
  } else if (depth_ == 1 && top_level_key_ == "items" && bracket == '[') {
    in_items_ = true;
    items_seen_ = true;
  } else if (depth_ == 1 && top_level_key_ == "metadata" && bracket == '{') {
    begin(Capture::kMetadata, offset);
  } else if (depth_ == 2 && in_items_) {
    if (bracket != '{') return fail_list("an item is not an object");
    begin(Capture::kItem, offset);
  }
  ++depth_;
  return true;
}

bool ListSplitter::close(char bracket, std::string_view piece, std::size_t offset) {
  const bool ends_items = depth_ == 2 && in_items_;
  if (depth_ == 0 || (depth_ == 1 && bracket != '}') || (ends_items && bracket != ']')) {
    return fail_list("its brackets do not match");
  }
  --depth_;
  if (ends_items) in_items_ = false;
  if (depth_ == 0) list_ended_ = true;
  const bool ends_object = (capture_ == Capture::kItem && depth_ == 2) ||
                           (capture_ == Capture::kMetadata && depth_ == 1);
  if (!ends_object) return true;
  keep(piece.substr(capture_from_, offset - capture_from_));
  return end_object();
}

/// Takes a byte that belongs to a number, true, false or null, or that is invalid at this place.
bool ListSplitter::take_other_byte(char c) {
  if (depth_ == 0) return fail_list("it is not a single JSON object");
  if (depth_ == 2 && in_items_) return fail_list("an item is not an object");
  // `"items": null` is an empty list.
  if (depth_ == 1 && top_level_key_ == "items" && c == 'n') items_seen_ = true;
  return true;
}

void ListSplitter::begin(Capture capture_kind, std::size_t offset) {
  capture_ = capture_kind;
  capture_from_ = offset;
  captured_.clear();
  oversize_ = false;
}

void ListSplitter::keep(std::string_view bytes) {
  const std::size_t room = max_bytes_ - captured_.size();
  if (bytes.size() > room) oversize_ = true;
  captured_ += bytes.substr(0, room);
}

bool ListSplitter::end_object() {
  const Capture capture_kind = capture_;
  capture_ = Capture::kNothing;
  if (capture_kind == Capture::kMetadata) {
    if (oversize_) return fail_list("its metadata is too large");
    metadata_ = captured_;
    return true;
  }
  const std::string_view object(captured_);
  return oversize_ ? callbacks_.on_oversize(object.substr(0, kNamedWithin))
                   : callbacks_.on_object(object);
}

bool ListSplitter::fail_list(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

base::Result<std::string> ListSplitter::finish() {
  if (problem_.empty() && !list_ended_) problem_ = "it ends in the middle";
  if (problem_.empty() && !items_seen_) problem_ = "it has no items";
  if (!problem_.empty()) {
    return base::fail(base::ErrorCode::kInvalid, "the list cannot be read: " + problem_);
  }
  const auto metadata = nlohmann::json::parse(metadata_, nullptr, false);
  if (metadata.is_object()) {
    const auto next_page = metadata.find("continue");
    if (next_page != metadata.end() && next_page->is_string() &&
        !next_page->get_ref<const std::string&>().empty()) {
      return base::fail(base::ErrorCode::kInvalid,
                        "the list cannot be read: it is only one page of the list, which was not "
                        "requested in pages");
    }
    const auto version_field = metadata.find("resourceVersion");
    if (version_field != metadata.end() && version_field->is_string()) {
      auto version = version_field->get<std::string>();
      if (!version.empty()) return version;
    }
  }
  return base::fail(base::ErrorCode::kInvalid,
                    "the list cannot be read: it has no metadata.resourceVersion");
}

}  // namespace snug::codec
