// Advice on repacking as JSON: the reply of GET /v1/defrag, which snugctl defrag reads back.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/advice/repack.hpp"
#include "snug/base/ids.hpp"
#include "snug/base/result.hpp"

namespace snug {

/// A query parameter: its name, a placeholder for its value, and its meaning.
struct RepackKey {
  const char* name;
  const char* value;
  const char* meaning;
};
/// All of them. A request without a pod is given by the annotations that a pod would have
/// (`gpu-…`).
[[nodiscard]] std::span<const RepackKey> repack_keys();

/// `request`: the pod's own words.
[[nodiscard]] std::string write_repack_advice(Generation generation, std::string_view request,
                                              const RepackAdvice& advice);

/// A reply, for people.
struct ShownAdvice {
  struct Place {
    std::string node;
    std::string devices;  // `0,3`, slices with profile and start; empty: the kubelet picks
  };
  struct Move {
    std::string name_space;
    std::string pod;
    Place from;
    Place to;
  };

  std::string request;
  bool fits = false;
  Place place;  // of the request; without a node: no way was found
  std::vector<Move> moves;
  std::string because;
};

/// An error: the text was not written by write_repack_advice().
[[nodiscard]] Result<ShownAdvice> read_repack_advice(std::string_view json);
/// The field `Error` of a reply's body; empty: there is none.
[[nodiscard]] std::string read_error_sentence(std::string_view json);

}  // namespace snug
