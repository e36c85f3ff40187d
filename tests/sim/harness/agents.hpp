// The agents of the simulated nodes that create MIG slices: they follow the reservations of bound
// pods as the API server shows them, keep what nobody has any more until it is in the way, and tell
// of it in the inventory, now and then late. Sometimes a slice cannot be created. Deterministic;
// not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/harness/naive_model.hpp"
#include "sim/harness/world.hpp"
#include "support/random.hpp"

namespace snug {

class Agents {
 public:
  struct Counts {
    int created = 0;
    int reused = 0;   // by a pod that came later
    int removed = 0;  // since they were in the way
    int failed = 0;
    int other_uuids = 0;  // slices that were created anew since Snug wrote their uuid
  };

  /// `note` is told what they do.
  Agents(World& world, NaiveModel& model, Random& random, std::function<void(std::string)> note)
      : world_(world), model_(model), random_(random), note_(std::move(note)) {}

  /// The node's agent looks at the API server and does what it can; nothing where there is none.
  void act(const std::string& node);
  /// The node says what is there now; nothing where that is known.
  void publish(const std::string& node);

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Card {
    std::string model;
    std::vector<model::Slice> slices;
  };
  struct Wanted {
    model::Slice slice;
    std::string pod;  // uid
    friend bool operator==(const Wanted&, const Wanted&) = default;
  };
  struct Hardware {
    std::map<std::string, Card> cards;  // by the GPU's uuid
    std::vector<SimFailure> failures;
    std::set<std::pair<std::string, std::string>> served;  // pods and uuids of their slices
    bool published = true;
  };

  void serve(const std::string& node, const model::GpuInfo& gpu, Hardware& hardware);
  bool make_room(const std::string& node, const model::GpuInfo& gpu, const model::Slice& slice,
                 Card& card);
  /// What pods that are bound and live say that they have on the GPU.
  [[nodiscard]] std::vector<Wanted> wanted(const std::string& node, const std::string& gpu) const;
  /// What they have, whatever they say now.
  [[nodiscard]] std::vector<model::Slice> in_use(const std::string& node, const std::string& gpu);
  void check(const std::string& node, const model::GpuInfo& gpu, const Hardware& hardware);

  World& world_;
  NaiveModel& model_;
  Random& random_;
  std::function<void(std::string)> note_;
  std::map<std::string, Hardware> nodes_;
  int last_serial_ = 0;
  Counts counts_;
};

}  // namespace snug
