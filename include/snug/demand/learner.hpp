// Learns what pods ask for from the pods that have come and gone, by counting them: by events,
// never by the clock, so that the same events in the same order teach the same. Every pod counts
// once, by its uid, when it is first seen, whether it finds room or not.
//
// Pods that ask for no GPU are not counted, and what no node could hold teaches nothing. Memory:
// the living pods, kMostWaiting of those that wait, and kMostShapes shapes; where there are more,
// all counts are halved and what has come to nothing is dropped. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "snug/demand/shape.hpp"
#include "snug/demand/supply.hpp"
#include "snug/demand/tables.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

class DemandLearner {
 public:
  /// A pod that asks for GPUs; nothing happens where it is known.
  void arrived(std::string_view uid, const PodShape& shape, const Supply& supply);
  /// A pod that was there when learning began: it says what is asked for, and nothing of how fast
  /// pods come.
  void was_there(std::string_view uid, const PodShape& shape);
  /// It holds GPUs from now on. Nothing happens where it is not known.
  void placed(std::string_view uid);
  /// It is gone; what it held is free.
  void gone(std::string_view uid, const Supply& supply);
  /// Of those that it knows, all but these are gone.
  void keep_only(const std::unordered_set<std::string_view>& living, const Supply& supply);
  [[nodiscard]] bool knows(std::string_view uid) const { return living_.contains(uid); }

  /// Whether enough has come since the tables were made to make them anew.
  [[nodiscard]] bool tables_due() const;
  /// Measured by what there is. Takes less than a millisecond for some hundred shapes, some tens of
  /// them where thousands name models.
  void build_tables(const Supply& supply);
  /// How much pods leave, as Demand::churn.
  [[nodiscard]] int churn() const { return churn_.at(); }
  /// How much of what comes finds no room, as Demand::saturation.
  [[nodiscard]] int saturation() const { return saturation_.at(); }
  /// What has been learned; without a version.
  [[nodiscard]] Demand demand() const;

 private:
  struct Living {
    /// GPUs alone. Measured when it goes: pods may be listed before the nodes that say what a GPU
    /// has.
    PodShape asks;
    bool placed = false;
  };

  /// A pod that asks for one GPU, a share of it or a slice.
  struct Waiting {
    std::string uid;
    double milli = 0;
    int passed = 0;  // pods that came after it and have been placed
  };

  /// Follows a measure in whole steps, and stays where the measure stays within three quarters of
  /// one: a measure that trembles about a boundary would make decisions look at every node again
  /// and again.
  class Steps {
   public:
    explicit Steps(int most) : most_(most) {}
    /// `part`: of the way from 0 to `most`; more than all of it is all.
    void follow(double part);
    [[nodiscard]] int at() const { return at_; }

   private:
    int most_;
    int at_ = 0;
  };

  void forget_the_rarest();
  void wait(std::string_view uid, double milli);
  void end_wait(std::string_view uid);
  void judge(double milli, bool refused);
  void know(std::string_view uid, const PodShape& shape);
  void count(const PodShape& shape);
  void follow_leaving();

  ShapeCounts pods_;
  std::unordered_map<std::string, Living, StringHash, std::equal_to<>> living_;
  std::int64_t counted_ = 0;
  std::int64_t next_build_ = 1;
  DemandTables tables_;
  // Moving means over arrivals, in milli-GPU for each.
  std::int64_t arrivals_ = 0;
  double arriving_ = 0;
  double leaving_ = 0;
  Steps churn_{Demand::kFullChurn};
  double judged_ = 0;
  double refused_ = 0;  // of these
  Steps saturation_{Demand::kFullSaturation};
  std::deque<Waiting> waiting_;  // in the order in which they came
};

}  // namespace snug
