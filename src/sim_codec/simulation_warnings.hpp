// Sentences about objects of a cluster, with the number of objects that each is about.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "snug/sim/cluster.hpp"

namespace snug::sim_codec {

/// Counts objects by what there is to say about them.
class CountedSentences {
 public:
  /// `about` continues "1 pod" or "2 pods" (`noun` is `pod`), as in "asks for …".
  void count(std::string_view noun, std::string_view object, std::string_view about);
  /// Returns one sentence for each kind, those about most objects first, with the names of the
  /// first few objects.
  [[nodiscard]] std::vector<std::string> sentences() const;

 private:
  struct Row {
    std::size_t count = 0;
    std::string names;
  };
  std::map<std::pair<std::string, std::string>, Row> rows_;  // by noun and text
};

/// Counts GPU models that Snug has no MIG table for but would need, and models that pods ask for
/// and no node has.
void count_unknown_models(const sim::Cluster& cluster, CountedSentences& sentences);

}  // namespace snug::sim_codec
