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
    const bool whole = newline != std::string_view::npos;
    const std::string_view part = piece.substr(0, newline);
    piece.remove_prefix(whole ? newline + 1 : piece.size());
    if (kept_.size() + part.size() > max_bytes_) oversize_ = true;
    if (whole && kept_.empty() && !oversize_) {
      if (!end_line(part)) return false;
      continue;
    }
    const std::size_t room = max_bytes_ - kept_.size();
    kept_ += part.substr(0, room);
    if (!whole) continue;
    const bool go_on = end_line(kept_);
    kept_.clear();
    oversize_ = false;
    if (!go_on) return false;
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
  left_ = (left_ << 8U) | static_cast<std::uint8_t>(piece.front());
  piece.remove_prefix(1);
  if (++length_bytes_ < kLengthBytes) return;
  if (left_ == 0) return end_frame();
  oversize_ = left_ > max_bytes_;
  wanted_ = oversize_ ? std::min(kNamedWithin, max_bytes_) : left_;
}

bool FrameSplitter::take_frame(std::string_view& piece) {
  const std::string_view part = piece.substr(0, left_);
  piece.remove_prefix(part.size());
  left_ -= part.size();
  bool go_on = true;
  if (!callback_called_) {
    std::string_view front = part.substr(0, wanted_ - kept_.size());
    const bool enough = kept_.size() + front.size() == wanted_;
    if (!kept_.empty() || !enough) {
      kept_.reserve(wanted_);  // += alone could allocate up to twice as much
      kept_ += front;
      front = kept_;
    }
    if (enough) go_on = oversize_ ? callbacks_.on_oversize(front) : callbacks_.on_object(front);
    callback_called_ = enough;
  }
  if (left_ == 0) end_frame();
  return go_on;
}

void FrameSplitter::end_frame() {
  length_bytes_ = 0;
  left_ = 0;
  wanted_ = 0;
  kept_.clear();
  oversize_ = false;
  callback_called_ = false;
}

ListSplitter::ListSplitter(std::size_t max_bytes, SplitterCallbacks callbacks)
    : max_bytes_(max_bytes), callbacks_(std::move(callbacks)) {}

bool ListSplitter::feed(std::string_view piece) {
  if (!problem_.empty()) return false;
  capture_from_ = 0;
  for (std::size_t at = 0; at < piece.size();) {
    const bool go_on = in_string_ ? in_string(piece, at) : outside_string(piece, at);
    if (!go_on) return false;
  }
  if (capture_ != Capture::kNothing) keep(piece.substr(capture_from_));
  return true;
}

bool ListSplitter::in_string(std::string_view piece, std::size_t& at) {
  while (at < piece.size()) {
    const char c = piece[at++];
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      if (capture_ != Capture::kKey) return true;
      keep(piece.substr(capture_from_, at - 1 - capture_from_));
      if (kept_.size() > kMaxKeyBytes) return broken("a key of the list is too long");
      key_ = kept_;
      capture_ = Capture::kNothing;
      key_expected_ = false;
      return true;
    }
  }
  return true;
}

bool ListSplitter::outside_string(std::string_view piece, std::size_t& at) {
  const char c = piece[at++];
  switch (c) {
    case '"':
      if (depth_ == 0 || (depth_ == 2 && in_items_)) return other(c);
      in_string_ = true;
      if (depth_ == 1 && key_expected_) begin(Capture::kKey, at);
      return true;
    case '{':
    case '[':
      return open(c, at - 1);
    case '}':
    case ']':
      return close(c, piece, at);
    case ',':
      if (depth_ == 1) key_expected_ = true;
      return depth_ > 0 || other(c);
    default:
      return is_space(c) || other(c);
  }
}

bool ListSplitter::open(char bracket, std::size_t at) {
  if (depth_ == 0) {
    if (bracket != '{' || ended_) return broken("it is not a single JSON object");
    key_expected_ = true;
  } else if (depth_ == 1 && key_ == "items" && bracket == '[') {
    in_items_ = true;
    items_seen_ = true;
  } else if (depth_ == 1 && key_ == "metadata" && bracket == '{') {
    begin(Capture::kMetadata, at);
  } else if (depth_ == 2 && in_items_) {
    if (bracket != '{') return broken("an item is not an object");
    begin(Capture::kItem, at);
  }
  ++depth_;
  return true;
}

bool ListSplitter::close(char bracket, std::string_view piece, std::size_t at) {
  const bool ends_items = depth_ == 2 && in_items_;
  if (depth_ == 0 || (depth_ == 1 && bracket != '}') || (ends_items && bracket != ']')) {
    return broken("its brackets do not match");
  }
  --depth_;
  if (ends_items) in_items_ = false;
  if (depth_ == 0) ended_ = true;
  const bool ends_object = (capture_ == Capture::kItem && depth_ == 2) ||
                           (capture_ == Capture::kMetadata && depth_ == 1);
  if (!ends_object) return true;
  keep(piece.substr(capture_from_, at - capture_from_));
  return end_object();
}

/// Takes a byte that belongs to a number, true, false or null, or that is invalid at this place.
bool ListSplitter::other(char c) {
  if (depth_ == 0) return broken("it is not a single JSON object");
  if (depth_ == 2 && in_items_) return broken("an item is not an object");
  // `"items": null` is an empty list.
  if (depth_ == 1 && key_ == "items" && c == 'n') items_seen_ = true;
  return true;
}

void ListSplitter::begin(Capture what, std::size_t at) {
  capture_ = what;
  capture_from_ = at;
  kept_.clear();
  oversize_ = false;
}

void ListSplitter::keep(std::string_view bytes) {
  const std::size_t room = max_bytes_ - kept_.size();
  if (bytes.size() > room) oversize_ = true;
  kept_ += bytes.substr(0, room);
}

bool ListSplitter::end_object() {
  const Capture what = capture_;
  capture_ = Capture::kNothing;
  if (what == Capture::kMetadata) {
    if (oversize_) return broken("its metadata is too large");
    metadata_ = kept_;
    return true;
  }
  const std::string_view object(kept_);
  return oversize_ ? callbacks_.on_oversize(object.substr(0, kNamedWithin))
                   : callbacks_.on_object(object);
}

bool ListSplitter::broken(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

base::Result<std::string> ListSplitter::finish() {
  if (problem_.empty() && !ended_) problem_ = "it ends in the middle";
  if (problem_.empty() && !items_seen_) problem_ = "it has no items";
  if (!problem_.empty()) {
    return base::fail(base::ErrorCode::kInvalid, "the list cannot be read: " + problem_);
  }
  const auto metadata = nlohmann::json::parse(metadata_, nullptr, false);
  if (metadata.is_object()) {
    const auto found = metadata.find("resourceVersion");
    if (found != metadata.end() && found->is_string()) {
      auto version = found->get<std::string>();
      if (!version.empty()) return version;
    }
  }
  return base::fail(base::ErrorCode::kInvalid,
                    "the list cannot be read: it has no metadata.resourceVersion");
}

}  // namespace snug::codec
