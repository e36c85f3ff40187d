// What users, controllers and nodes do in a simulation, whatever Snug does. Not thread-safe.
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
    int nodes = kSimNodes;  // kSimNodes at most
    std::size_t pods = 36;  // at most
  };

  /// `note` is told what they do.
  Users(World& world, Random& random, Shape shape, std::function<void(std::string)> note)
      : world_(world), random_(random), shape_(shape), note_(std::move(note)) {}

  void put_first_nodes();
  void create_pod();
  void bind_by_hand();
  void delete_pod();
  void finish_pod();
  void nominate_pod();
  void resize_pod();
  /// `between`: called while a node is gone and will come back at once.
  void change_node(const std::function<void()>& between);

  [[nodiscard]] std::optional<std::string> any_pod(bool bound);
  [[nodiscard]] std::string any_node();  // that may be absent
  [[nodiscard]] std::vector<std::string> some_nodes();
  /// How many times a pod was nominated.
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
