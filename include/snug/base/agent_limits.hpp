// The limits of snug-agent: one row for each, with its value and its meaning. None is configurable.
// They are apart from base/limits.hpp, the limits of snug-extender. The agent's codecs and its
// connection to the API server also use the default values of base::Limits.
#pragma once

#include <cstdint>

// ROW(name, value, meaning)
// clang-format off
#define SNUG_AGENT_LIMITS(ROW) \
  ROW(max_nri_message_bytes,   4'194'304, "bytes of one message of the container runtime; ttrpc has the same limit") \
  ROW(nri_frame_bytes,         4'096,     "bytes of one frame to the container runtime, whose reader has a buffer of this size") \
  ROW(max_nri_reason_bytes,    1'024,     "bytes of the reason why the agent refuses a container") \
  ROW(max_nri_objects,         65'536,    "pods and containers that the container runtime lists to the agent") \
  ROW(nri_retry_ms,            200,       "milliseconds between two attempts to connect to the container runtime") \
  ROW(heartbeat_ms,            10'000,    "milliseconds between two renewals of the Lease of an agent, as for the Leases of kubelets") \
  ROW(heartbeat_lost_ms,       40'000,    "milliseconds without a renewal after which Snug no longer counts the node as enforced, as for nodes") \
  ROW(heartbeat_retry_ms,      2'000,     "milliseconds between two attempts to renew the Lease of an agent after a failure") \
  ROW(inventory_interval_ms,   1'000,     "milliseconds between two writes of the inventory") \
  ROW(marks_check_ms,          60'000,    "milliseconds between two reads of the inventory and the label on the node, which repair what others changed") \
  ROW(marks_retry_last_ms,     30'000,    "longest wait in milliseconds after failed reads or writes of the inventory; the first is inventory_interval_ms, and each is twice the one before") \
  ROW(device_poll_ms,          5'000,     "milliseconds between two reads of all GPUs without an event; finds GPUs that were removed or added") \
  ROW(driver_patience_ms,      30'000,    "milliseconds after which a driver that has not answered since the agent's start counts as having no GPUs") \
  ROW(driver_hung_ms,          60'000,    "milliseconds after which a call of the driver that has not returned makes the agent not ready") \
  ROW(driver_wait_ms,          200,       "milliseconds that one call may wait for an event of the driver; so long can a lost driver delay its reopening") \
  ROW(driver_reopen_ms,        60'000,    "milliseconds between two attempts to reach a GPU that stays lost by opening the driver anew") \
  ROW(recovery_settle_ms,      5'000,     "milliseconds after an error of a GPU in which the driver may not yet say that the GPU needs recovery") \
  ROW(xid_quiet_ms,            300'000,   "milliseconds without an error after which a GPU is healthy again, for errors that it survives without a reset") \
  ROW(max_sick_gpus,           256,       "GPUs whose errors the agent remembers, also those that vanished") \
  ROW(max_node_pods,           4'096,     "pods of one node that the agent knows") \
  ROW(max_driver_files,        256,       "libraries and programs of the driver that are mounted into a container") \
  ROW(max_cdi_spec_bytes,      262'144,   "bytes of one CDI specification that the agent writes") \
  ROW(max_cdi_device_bytes,    128,       "bytes of the name of a CDI device; a longer name is replaced by a hash") \
  ROW(max_symbolic_links,      40,        "symbolic links that lead to one file of the driver; the kernel has the same limit") \
  ROW(max_host_file_bytes,     65'536,    "bytes of a file in /proc that the agent reads")
// clang-format on

namespace snug::base::agent_limits {

#define SNUG_AGENT_LIMIT_CONSTANT(name, value, meaning) inline constexpr std::int64_t name = value;
SNUG_AGENT_LIMITS(SNUG_AGENT_LIMIT_CONSTANT)
#undef SNUG_AGENT_LIMIT_CONSTANT

}  // namespace snug::base::agent_limits
