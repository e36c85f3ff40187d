// A stream gives the same objects however it is cut into pieces, and those that a naive reading of
// the whole stream finds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "snug/codec/stream_splitters.hpp"
#include "support/random.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

constexpr std::size_t kMaxBytes = 64;
constexpr std::size_t kNoStop = 1'000'000;

struct Split {
  std::vector<std::string> objects;  // those that are too large begin with `+`
  bool going = true;
  std::string end;

  friend bool operator==(const Split&, const Split&) = default;
};

using Pieces = std::vector<std::string_view>;

/// Cuts `stream` at random places; `longest`: the bytes of the longest piece.
Pieces pieces_of(std::string_view stream, std::size_t longest) {
  Random random{stream.size()};
  Pieces pieces;
  while (!stream.empty()) {
    pieces.push_back(stream.substr(0, 1 + random.below(longest)));
    stream.remove_prefix(pieces.back().size());
  }
  return pieces;
}

codec::SplitterCallbacks into(Split& split, std::size_t stop_after) {
  const auto take = [&split, stop_after](std::string text) {
    split.objects.push_back(std::move(text));
    return split.objects.size() < stop_after;
  };
  return {[take](std::string_view object) { return take(std::string(object)); },
          [take](std::string_view beginning) { return take("+" + std::string(beginning)); }};
}

std::string end_of(codec::LineSplitter& /*splitter*/) { return {}; }
std::string end_of(codec::FrameSplitter& splitter) {
  return splitter.in_frame() ? "in a frame" : "";
}
std::string end_of(codec::ListSplitter& splitter) {
  const auto version = splitter.finish();
  return version ? "version " + *version : version.error().message;
}

template <typename Splitter>
Split split(const Pieces& pieces, std::size_t max_bytes, std::size_t stop_after = kNoStop) {
  Split out;
  Splitter splitter(max_bytes, into(out, stop_after));
  for (const std::string_view piece : pieces) {
    out.going = out.going && splitter.feed(piece);
  }
  if (out.going) out.end = end_of(splitter);
  return out;
}

template <typename Splitter>
Split same_in_all_pieces(std::string_view stream, const std::vector<Pieces>& cuts,
                         std::string_view what) {
  const Split once = split<Splitter>({stream}, kMaxBytes);
  for (const Pieces& pieces : cuts) {
    require(split<Splitter>(pieces, kMaxBytes) == once, what);
  }
  const Split first = split<Splitter>(cuts.back(), kMaxBytes, 1);
  require(once.objects.empty() || first.objects.size() == 1, "a callback that returns false stops");
  return split<Splitter>({stream}, stream.size());
}

std::vector<std::string> naive_lines(std::string_view stream) {
  std::vector<std::string> lines;
  for (std::size_t end = stream.find('\n'); end != stream.npos; end = stream.find('\n')) {
    const std::string_view line = stream.substr(0, end);
    if (line.find_first_not_of(" \r\t") != line.npos) lines.emplace_back(line);
    stream.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string> naive_frames(std::string_view stream) {
  std::vector<std::string> frames;
  while (stream.size() >= 4) {
    std::size_t size = 0;
    for (int i = 0; i < 4; ++i) {
      size = size * 256 + static_cast<std::uint8_t>(stream[static_cast<std::size_t>(i)]);
    }
    stream.remove_prefix(4);
    // The stream ends within the frame.
    if (size > stream.size()) break;
    if (size > 0) frames.emplace_back(stream.substr(0, size));
    stream.remove_prefix(size);
  }
  return frames;
}

/// If the stream is a list in valid JSON, the splitter finds its items.
void check_list(std::string_view stream, const Split& found) {
  bool repeated = false;
  std::vector<std::vector<std::string>> keys;
  const auto watch = [&](int /*depth*/, nlohmann::json::parse_event_t event,
                         nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event != Event::key) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    repeated = repeated || std::ranges::count(keys.back(), key) > 0;
    keys.back().push_back(key);
    return true;
  };
  const auto list = nlohmann::json::parse(stream, watch, false);
  // A key with an escape is none that the API server writes, and one that comes twice has no
  // defined meaning.
  if (!list.is_object() || repeated || stream.find('\\') != stream.npos) return;
  const auto items = list.find("items");
  if (items == list.end() || !items->is_array()) return;
  if (!std::ranges::all_of(*items, [](const auto& item) { return item.is_object(); })) return;
  require(found.objects.size() == items->size(), "a list has as many items as JSON says");
  for (std::size_t i = 0; i < items->size(); ++i) {
    require(nlohmann::json::parse(found.objects[i], nullptr, false) == (*items)[i],
            "an item is the one that JSON says");
  }
}

}  // namespace

void take_input(std::string_view input) {
  const std::vector<Pieces> cuts{pieces_of(input, 1), pieces_of(input, 5), pieces_of(input, 40)};
  const Split lines = same_in_all_pieces<codec::LineSplitter>(input, cuts, "lines in pieces");
  require(lines.objects == naive_lines(input), "lines");
  const Split frames = same_in_all_pieces<codec::FrameSplitter>(input, cuts, "frames in pieces");
  std::vector<std::string> expected = naive_frames(input);
  // Of a frame that is too large, its beginning is told before it ends.
  if (frames.objects.size() == expected.size() + 1) expected.push_back(frames.objects.back());
  require(frames.objects == expected, "frames");
  check_list(input, same_in_all_pieces<codec::ListSplitter>(input, cuts, "a list in pieces"));
}

}  // namespace snug::fuzz
