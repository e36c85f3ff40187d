// Advice on repacking as JSON: the reply of GET /v1/defrag, which snugctl defrag reads back.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/ids.hpp"
#include "snug/base/result.hpp"
#include "snug/plan/repack.hpp"

namespace snug {

/// A key of the question's query, for people: what its value is called, and what it means.
struct RepackKey {
  const char* name;
  const char* value;
  const char* meaning;
};
/// All of them; those of a request that no pod has made are the keys of its annotations (`gpu-…`).
[[nodiscard]] std::span<const RepackKey> repack_keys();

/// `request`: as the pod said it.
[[nodiscard]] std::string write_repack_advice(Generation generation, std::string_view request,
                                              const RepackAdvice& advice);

/// What a reply says, for people.
struct ShownAdvice {
  struct Place {
    std::string node;
    std::string devices;  // `0,3`; a slice with its profile and start; empty: the kubelet picks
  };
  struct Move {
    std::string name_space;
    std::string pod;
    Place from;
    Place to;
  };

  std::string request;
  bool fits = false;
  Place place;  // the request's; no node: no way was found
  std::vector<Move> moves;
  std::string because;
};

/// An error says what is wrong with the text: it is none of write_repack_advice.
[[nodiscard]] Result<ShownAdvice> read_repack_advice(std::string_view json);
/// The sentence of an error's body; empty: it has none.
[[nodiscard]] std::string read_error_sentence(std::string_view json);

}  // namespace snug
