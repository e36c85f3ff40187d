// Repacking advice as JSON: the reply of GET /v1/defrag, which snugctl defrag reads.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/advice/repack.hpp"
#include "snug/base/ids.hpp"
#include "snug/base/result.hpp"

namespace snug::codec {

/// A query parameter: its name, a placeholder for its value, and its meaning.
struct RepackQueryKey {
  const char* name;
  const char* placeholder;
  const char* help;
};
/// All query parameters. A request without a pod is given by its annotations (`gpu-…`).
[[nodiscard]] std::span<const RepackQueryKey> repack_keys();

/// `request` is the request's text, as the pod's annotations or limits state it.
[[nodiscard]] std::string write_repack_advice(base::Generation generation, std::string_view request,
                                              const advice::RepackAdvice& advice);

/// The parts of a reply that snugctl shows.
struct ParsedAdvice {
  struct Place {
    std::string node;
    std::string devices;  // `0,3`, slices with profile and start; empty: the kubelet assigns them
  };
  struct Move {
    std::string name_space;
    std::string pod;
    Place from;
    Place to;
  };

  std::string request_text;
  bool fits_now = false;
  Place place;  // of the request; without a node: no solution was found
  std::vector<Move> moves;
  std::string explanation;
};

/// Fails if the text was not written by write_repack_advice().
[[nodiscard]] base::Result<ParsedAdvice> read_repack_advice(std::string_view json);
/// The field `Error` of a reply's body; empty if there is none.
[[nodiscard]] std::string read_error_sentence(std::string_view json);

}  // namespace snug::codec
