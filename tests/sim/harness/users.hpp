// The actions of users, controllers and nodes in a simulation. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/harness/sim_nodes.hpp"
#include "sim/harness/world.hpp"
#include "support/random.hpp"

namespace snug {

class Users {
 public:
  struct Shape {
    SimCluster cluster = SimCluster::kShares;
    int nodes = kSimNodes;  // number of nodes, at most kSimNodes
    std::size_t pods = 36;  // the largest number of pods
  };

  /// `note` gets a line for the trace about each action.
  Users(World& world, Random& random, Shape shape, std::function<void(std::string)> note)
      : world_(world), random_(random), shape_(shape), note_(std::move(note)) {}

  void put_first_nodes();
  void create_pod();
  void bind_by_hand();
  void delete_pod();
  void finish_pod();
  void nominate_pod();
  void resize_pod();
  /// `between` is called while a node that comes back in the same step is absent.
  void change_node(const std::function<void()>& between);

  [[nodiscard]] std::optional<std::string> any_pod(bool bound);
  [[nodiscard]] std::string any_node();  // may be absent
  [[nodiscard]] std::vector<std::string> some_nodes();
  /// The number of nominations so far.
  [[nodiscard]] int nominated() const { return nominated_; }

 private:
  World& world_;
  Random& random_;
  const Shape shape_;
  std::function<void(std::string)> note_;
  std::map<std::string, SimNode> absent_;  // nodes that will come back
  int last_uid_ = 0;
  int last_serial_ = 0;
  int nominated_ = 0;
};

}  // namespace snug
