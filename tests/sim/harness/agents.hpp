// The agents that create MIG slices on the simulated nodes. An agent creates the slices in the
// reservations of bound pods. It keeps a slice that no pod has any more until the slice is in the
// way of another one. It publishes the existing slices in the inventory of the node, sometimes
// late. Sometimes it fails to create a slice. Deterministic; not thread-safe.
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
    int reused = 0;   // existing slices that a later pod got
    int removed = 0;  // slices that were in the way of another one
    int failed = 0;
    int other_uuids = 0;  // slices whose uuid changed after Snug wrote it into a reservation
  };

  /// `note` gets a line for the trace about each action of an agent.
  Agents(World& world, NaiveModel& model, Random& random, std::function<void(std::string)> note)
      : world_(world), model_(model), random_(random), note_(std::move(note)) {}

  /// The agent of `node` creates the slices that are reserved there. Does nothing if the node has
  /// no agent.
  void act(const std::string& node);
  /// The agent of `node` publishes its inventory. Does nothing if the inventory is up to date.
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
    std::set<std::pair<std::string, std::string>> served;  // (uid of the pod, uuid of its slice)
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
