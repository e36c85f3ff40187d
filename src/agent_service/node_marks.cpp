#include "snug/agent_service/node_marks.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "snug/agent_codec/inventory_writer.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/codec/inventory_codec.hpp"

namespace snug::agent_service {

NodeMarksKeeper::NodeMarksKeeper(const Parts& parts, Options options)
    : parts_(parts),
      options_(std::move(options)),
      publisher_(parts_.node, parts_.metrics, parts_.log) {}

void NodeMarksKeeper::adopt_claim(base::TimePoint now) {
  if (now < next_claim_) return;
  next_claim_ = now + std::chrono::milliseconds(base::agent_limits::inventory_interval_ms);
  const auto marks = parts_.node.read_marks();
  if (!marks) {
    if (!std::exchange(claim_failed_, true)) {
      parts_.log.write(service::LogLevel::kWarn, "the node cannot be read, so nothing is published",
                       {{"reason", marks.error().message}});
    }
    return;
  }
  claim_known_ = true;
  const std::optional<std::string>& published = marks->inventory;
  if (!published) return;
  const model::NodeFacts facts{.name = options_.node,
                               .boot_id = options_.settings.boot_id,
                               .annotations = {{agent_codec::kInventoryAnnotation, *published}}};
  const model::NodeInventory inventory = codec::read_inventory(facts, options_.limits);
  if (inventory.closed_to_all == model::ReasonCode::kNone &&
      inventory.enforcement == model::Enforcement::kFailClosed) {
    parts_.enforcement.claimed();
  }
}

NodeMarksKeeper::Sources NodeMarksKeeper::look() const {
  Sources sources{.knowledge = parts_.book.get(),
                  .slice_troubles = parts_.slice_troubles.get(),
                  .limits = parts_.limiter.settings().limits};
  if (parts_.enforcement.state().fails_closed)
    sources.enforcement = model::Enforcement::kFailClosed;
  if (parts_.mps != nullptr) sources.mps_failures = parts_.mps->failures();
  if (parts_.usage != nullptr) sources.usage = parts_.usage->annotation();
  return sources;
}

void NodeMarksKeeper::want_marks() {
  Sources sources = look();
  if (sources == wanted_) return;
  agent::InventorySettings settings = options_.settings;
  settings.enforcement = sources.enforcement;
  settings.limits = sources.limits;
  agent::Inventory inventory = agent::make_inventory(
      sources.knowledge->devices, std::move(settings), sources.slice_troubles->failed);
  inventory.mps_failures = sources.mps_failures;
  NodePort::Marks marks{.inventory = agent_codec::write_inventory(inventory),
                        .usage = sources.usage};
  if (sources.enforcement == model::Enforcement::kFailClosed) marks.enforced = "true";
  publisher_.want(std::move(marks));
  wanted_ = std::move(sources);
}

bool NodeMarksKeeper::knows_enough(base::TimePoint now, const Knowledge& knowledge) {
  if (!knowledge.has_devices) return false;
  if (knowledge.can_answer) return knew_all_ = true;
  if (!waits_since_) waits_since_ = now;
  return knew_all_ ||
         now - *waits_since_ >= std::chrono::milliseconds(base::agent_limits::driver_patience_ms);
}

void NodeMarksKeeper::tick(base::TimePoint now, const Knowledge& knowledge) {
  if (!claim_known_) adopt_claim(now);
  if (!claim_known_ || !knows_enough(now, knowledge)) return;
  want_marks();
  publisher_.tick(now);
  is_published_ = publisher_.is_published();
}

}  // namespace snug::agent_service
