// Writes and reads repacking advice as JSON: the reply of GET /v1/defrag, which `snugctl defrag`
// reads.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/advice/repack.hpp"
#include "snug/base/ids.hpp"
#include "snug/base/result.hpp"

namespace snug::codec {

/// A query parameter of GET /v1/defrag: its name, a placeholder for its value, and its help text.
struct RepackQueryKey {
  const char* name;
  const char* placeholder;
  const char* help;
};
/// Returns all query parameters of GET /v1/defrag. A call states either a pod or a request. The
/// parameters of a request have the names of annotations (`gpu-…`).
[[nodiscard]] std::span<const RepackQueryKey> repack_keys();

/// Writes `advice` as JSON. `request` is the text of the GPU request that the advice is for.
[[nodiscard]] std::string write_repack_advice(base::Generation generation, std::string_view request,
                                              const advice::RepackAdvice& advice);

/// The parts of the JSON advice that snugctl shows.
struct ParsedAdvice {
  struct Place {
    std::string node;
    /// The GPUs by index, as in `0,3`; a slice also has its profile and start, as in
    /// `0:1g.5gb@6`. Empty: the kubelet assigns the devices.
    std::string devices;
  };
  struct Move {
    std::string name_space;
    std::string pod;
    Place from;
    Place to;
  };

  std::string request_text;
  bool fits_now = false;
  Place place;  // where the request fits after the moves; `node` is empty if no place was found
  std::vector<Move> moves;
  std::string explanation;
};

/// Reads the output of write_repack_advice(). Fails on any other text.
[[nodiscard]] base::Result<ParsedAdvice> read_repack_advice(std::string_view json);
/// Returns the field `Error` of the body of a reply. Empty if the body has no such field.
[[nodiscard]] std::string read_error_sentence(std::string_view json);

}  // namespace snug::codec
