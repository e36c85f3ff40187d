// The obviously right model: from the API server's truth alone it adds up, in its own arithmetic
// and with its own reading of annotations, who holds what, and says where Snug went wrong. It calls
// nothing of Snug's and keeps no state but what it has found. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/harness/feed.hpp"
#include "sim/harness/observed.hpp"
#include "sim/harness/world.hpp"

namespace snug {

/// What a pod asks, as the simulation writes it.
struct PlainAsk {
  enum class Kind { kNothing, kFraction, kMemory, kWhole, kKubelet, kMalformed };
  Kind kind = Kind::kNothing;
  std::int64_t amount = 0;  // thousandths, MiB, GPUs, units

  [[nodiscard]] bool by_annotation() const {
    return kind == Kind::kFraction || kind == Kind::kMemory || kind == Kind::kWhole;
  }
};

[[nodiscard]] PlainAsk plain_ask(const PodFacts& pod);

[[nodiscard]] std::string show(const Held& held);

struct Violation {
  std::string check;  // one word
  std::string text;
};

class NaiveModel {
 public:
  NaiveModel(const World& world, const Feed& feed) : world_(world), feed_(feed) {}

  // The checks; each adds to violations().
  /// No GPU holds more than it has, by what bound pods and bindings under way say.
  void check_truth();
  /// A binding that Snug decided: right in itself, and with all that Snug has been told.
  void check_decision(const Binding& binding);
  /// What a living pod holds is never free in the ledger, once Snug bound it or was shown it.
  void check_ledger(const Observed& seen);
  /// Nothing is under way and everything has been told: ledger and truth are equal.
  void check_equal(const Observed& seen);
  void report(std::string check, std::string text);

  /// Whether the pod fits the node, by the truth.
  [[nodiscard]] bool fits(const PodFacts& pod, const std::string& node);
  /// What a bound pod of the truth holds.
  [[nodiscard]] const Held& held(const SimPod& pod);

  /// A node and who holds what on it, for messages.
  [[nodiscard]] std::string describe(const std::string& node);

  /// Snug has been replaced by a new process.
  void restart() { decided_.clear(); }
  [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }

 private:
  struct Holder {
    std::string uid;
    std::string node;
    std::shared_ptr<const Held> held;
  };

  std::shared_ptr<const Held> read(const PodFacts& pod, const StringMap& annotations,
                                   const std::string& node);
  /// All that Snug must count.
  std::vector<Holder> holders(bool only_known);
  [[nodiscard]] bool fits_units(std::int64_t units, const SimNode& node,
                                const std::vector<Holder>& there) const;
  [[nodiscard]] static bool fits_gpu(const PlainAsk& ask, const SimGpu& gpu,
                                     const std::vector<Holder>& there);
  /// What the snapshot counts beyond what the holders hold.
  std::map<std::string, Observed::Node> beyond(const Observed& seen,
                                               const std::vector<Holder>& all);
  void check_gpu_sums(const std::vector<Holder>& all);
  void check_shape(const PodFacts& pod, const Held& held, const SimNode& node);
  void check_device(const PlainAsk& ask, const Device& device, const SimNode& node);
  void check_kinds(const Binding& binding, const Held& held, const SimNode& node);

  const World& world_;
  const Feed& feed_;
  std::unordered_map<std::string, std::shared_ptr<const Held>> memo_;
  std::set<std::pair<std::string, std::string>> decided_;  // (uid, reservation) seen in a binding
  std::vector<Violation> violations_;
};

}  // namespace snug
