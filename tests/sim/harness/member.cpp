#include "sim/harness/member.hpp"

#include <array>
#include <utility>

namespace snug {
namespace {

service::ServiceOptions some_options(Random& random) {
  service::ServiceOptions options;
  constexpr std::array kModes{service::AnswerMode::kWinner, service::AnswerMode::kAll,
                              service::AnswerMode::kAdvise, service::AnswerMode::kAuto};
  options.answer = kModes.at(random.below(kModes.size()));
  return options;
}

}  // namespace

Member::Member(std::string host, const Surroundings& around, const Hooks& hooks)
    : host_(std::move(host)),
      around_(around),
      wire_{.random = around.random, .meanwhile = [this, hooks] { hooks.meanwhile(*this); }},
      feed_(around.random,
            [this, hooks](std::string line) { hooks.note("  " + host_ + ":" + line); }),
      model_(around.world, feed_),
      api_(around.world, wire_, around.clock,
           [this, hooks](const model::Binding& binding) { hooks.posted(*this, binding); }),
      lease_(around.lease, wire_, around.clock),
      scheduler_lease_(
          around.scheduler_lease == nullptr
              ? nullptr
              : std::make_unique<SimLease>(*around.scheduler_lease, wire_, around.clock)) {}

void Member::start(Identity identity, const std::string& policy) {
  const service::ServiceOptions options = some_options(around_.random);
  if (identity == Identity::kNew) ++identity_;
  stopped_ = false;
  model_.restart();
  snug_ = std::make_unique<SnugInstance>(around_.clock, api_, options, policy);
  feed_.restart(snug_->reconciler());
  lists_from_ = around_.clock.now();
  heard_ = around_.clock.now();
  if (!around_.elect) {
    lists_from_ += leader::unanswered_window(options.api_timeout, options.limits);
    return;
  }
  const base::Limits& limits = options.limits;
  elector_ = std::make_unique<service::LeaderElector>(
      service::ElectorParts{lease_, scheduler_lease_.get(), snug_->readiness(), snug_->fence(),
                            *this, api_, snug_->log(), around_.clock},
      service::ElectorOptions{
          .lease_name = "snug/snug-extender",
          .election = leader::election_settings(this->identity(), options.api_timeout, limits),
          .retry = std::chrono::milliseconds(limits.lease_retry_ms),
          .about = {.name_space = "snug", .name = host_, .uid = host_},
          .seed = 1 + around_.random.below(1'000'000)});
}

void Member::kill() {
  elector_ = nullptr;
  snug_ = nullptr;
}

void Member::resign() {
  if (elector_) elector_->resign();
}

void Member::tick_election() {
  if (!runs() || !elector_ || std::exchange(ticks_election_, true)) return;
  elector_->tick();
  ticks_election_ = false;
}

void Member::tick_reconciler() {
  if (!runs() || std::exchange(ticks_reconciler_, true)) return;
  snug_->reconciler().tick();
  ticks_reconciler_ = false;
}

void Member::hint() {
  if (!lives() || !elector_) return;
  elector_->lease_sink().lease_changed("news");
  elector_->scheduler_sink().lease_changed("news");
}

void Member::relist() {
  feed_.relist();
  // The new list and watch use new connections, which are not half-open.
  if (link_ == Link::kSilent) link_ = Link::kUp;
}

void Member::set_link(Link link) {
  if (link == Link::kDown && link_ != Link::kDown) lost_ = around_.clock.now();
  link_ = link;
  if (link == Link::kDown && lives()) feed_.lost();
}

void Member::hear() {
  if (!runs() || link_ != Link::kUp) return;
  heard_ = around_.clock.now();
  feed_.alive();
}

bool Member::view_is_too_old() const {
  const base::TimePoint now = around_.clock.now();
  if (link_ == Link::kUp) return false;
  if (now - heard_ > std::chrono::seconds(45)) return true;
  return link_ == Link::kDown && now - lost_ > std::chrono::seconds(15);
}

void Member::deliver_pods(std::size_t events) {
  if (!runs() || link_ != Link::kUp) return;
  for (; events > 0; --events) feed_.deliver_pod_event();
}

void Member::deliver_node() {
  if (runs() && link_ == Link::kUp) feed_.deliver_node_event();
}

bool Member::may_list() const {
  return runs() && link_ != Link::kDown && around_.clock.now() >= lists_from_;
}

void Member::list_nodes() {
  if (may_list()) feed_.list_nodes(around_.world.nodes());
}

void Member::progress_list() {
  if (!may_list()) return;
  heard_ = around_.clock.now();
  feed_.alive();
  switch (feed_.phase()) {
    case Feed::ListPhase::kNone:
      if (!feed_.nodes_listed()) feed_.list_nodes(around_.world.nodes());
      return feed_.begin_list();
    case Feed::ListPhase::kBegun: {
      std::vector<model::PodFacts> pods;
      for (const auto& [uid, pod] : around_.world.pods()) {
        if (!pod.facts.finished) pods.push_back(pod.facts);
      }
      return feed_.take_list(std::move(pods));
    }
    case Feed::ListPhase::kTaken:
      return feed_.finish_list();
  }
}

void Member::deliver_everything() {
  if (!runs() || link_ != Link::kUp) return;
  while (!feed_.ready() || feed_.phase() != Feed::ListPhase::kNone) {
    if (!may_list()) return;
    progress_list();
  }
  feed_.deliver_everything();
}

}  // namespace snug
