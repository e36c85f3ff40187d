// The embedded mode's front door: a pod that a filter call shows for the first time is posted to
// the in-memory API server before the service is called, as if a user had created it. Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "snug/adapters/memory/memory_api.hpp"
#include "snug/codec/extender_codec.hpp"
#include "snug/service/reply.hpp"

namespace snug {

class FirstSight {
 public:
  FirstSight(MemoryApi& api, const Limits& limits) : api_(api), reader_(limits) {}

  /// A reply where the pod cannot be created; else the service answers, also to bodies that cannot
  /// be read.
  [[nodiscard]] std::optional<Reply> look(std::string& body);

 private:
  MemoryApi& api_;
  std::mutex mutex_;
  ExtenderReader reader_;  // guarded by mutex_
};

}  // namespace snug
