// The limits of snug-agent and snug-mps: one row for each, with its value and its meaning. None is
// configurable. They are apart from base/limits.hpp, the limits of snug-extender. The agent's
// codecs and its connection to the API server also use the default values of base::Limits.
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
  ROW(audit_interval_ms,       60'000,    "milliseconds between two audits of the running containers while no device changes") \
  ROW(max_kept_variable_bytes, 1'024,     "bytes of NVIDIA_VISIBLE_DEVICES=… of a running container that the agent keeps for audits") \
  ROW(stop_retry_ms,           2'000,     "milliseconds after the first try to stop a container with GPUs that are not its own; each wait is twice the one before") \
  ROW(stop_retry_last_ms,      60'000,    "longest wait in milliseconds between two tries to stop a container") \
  ROW(max_stop_tries,          8,         "tries to stop one container") \
  ROW(max_cgroup_file_bytes,   16'384,    "bytes of /proc/PID/cgroup that are read to find the processes of a container") \
  ROW(min_container_id_bytes,  12,        "shortest id of a container whose processes the agent kills; shorter ones may be part of another cgroup's name") \
  ROW(gate_lost_ms,            1'000,     "milliseconds after which a snug-gate that does not run any more counts as lost; it ends a moment before the container runtime does") \
  ROW(heartbeat_ms,            10'000,    "milliseconds between two renewals of the Lease of an agent, as for the Leases of kubelets") \
  ROW(heartbeat_lost_ms,       40'000,    "milliseconds without a renewal after which an agent counts as away, as for nodes") \
  ROW(heartbeat_retry_ms,      2'000,     "milliseconds between two attempts to renew the Lease of an agent after a failure") \
  ROW(inventory_interval_ms,   1'000,     "milliseconds between two writes of the inventory") \
  ROW(listen_patience_ms,      5'000,     "milliseconds for which a starting agent tries again to listen on a port that is in use, for example by the agent that it replaces") \
  ROW(marks_check_ms,          60'000,    "milliseconds between two reads of the inventory and the label on the node, which repair what others changed") \
  ROW(marks_retry_last_ms,     30'000,    "longest wait in milliseconds after failed reads or writes of the inventory; the first is inventory_interval_ms, and each is twice the one before") \
  ROW(pod_retry_ms,            2'000,     "milliseconds between the first two retries of a waiting pod, and after the first that fails; each wait is twice the one before") \
  ROW(pod_retry_last_ms,       8'000,     "longest wait in milliseconds between two retries of a waiting pod; less than the kubelet's own back-off") \
  ROW(pod_retry_pause_last_ms, 30'000,    "longest wait in milliseconds after failed retries of waiting pods") \
  ROW(pod_retry_late_ms,       5'000,     "milliseconds after a change of what the agent can give in which a refusal may be shown that is older than the change") \
  ROW(max_pod_retries_per_s,   50,        "retries of waiting pods in one second") \
  ROW(max_pod_retries_at_once, 5,         "retries of waiting pods before the agent does its other work in between") \
  ROW(usage_interval_ms,       60'000,    "milliseconds between two reads of how much of each GPU is in use, and so the shortest time between two writes of it") \
  ROW(device_poll_ms,          5'000,     "milliseconds between two reads of all GPUs without an event; finds GPUs that were removed or added") \
  ROW(device_pause_ms,         500,       "shortest time in milliseconds between the beginnings of two reads of all GPUs, however many events the driver has") \
  ROW(driver_patience_ms,      30'000,    "milliseconds after which a driver that has not answered since the agent's start counts as having no GPUs") \
  ROW(driver_hung_ms,          60'000,    "milliseconds after which a call of the driver that has not returned makes the agent not ready") \
  ROW(driver_wait_ms,          200,       "milliseconds that one call may wait for an event of the driver; so long can a lost driver delay its reopening") \
  ROW(driver_reopen_ms,        60'000,    "milliseconds between two attempts to reach a GPU that stays lost by reopening the driver") \
  ROW(recovery_settle_ms,      5'000,     "milliseconds after an error of a GPU in which the driver may not yet say that the GPU needs recovery") \
  ROW(xid_quiet_ms,            300'000,   "milliseconds without an error after which a GPU is healthy again, for errors that it survives without a reset") \
  ROW(mps_look_ms,             250,       "milliseconds between two looks at which MPS daemons pods need, and at the states of daemons that are not ready") \
  ROW(mps_recheck_ms,          5'000,     "milliseconds between two looks at the states of MPS daemons that are all ready") \
  ROW(mps_rewrite_ms,          60'000,    "milliseconds after which the agent asks for the same MPS daemons again, which repairs what others removed") \
  ROW(max_mps_reason_bytes,    256,       "bytes of the reason in the inventory why the MPS daemon of a GPU failed, and of the reason in a state why a namespace cannot be made") \
  ROW(max_sick_gpus,           256,       "GPUs whose errors the agent remembers, also those that vanished") \
  ROW(max_gpu_processes,       4'096,     "processes of one GPU that the driver can list to the agent; with more, no MIG slice of it is destroyed") \
  ROW(slice_retry_ms,          2'000,     "milliseconds before the agent tries again to make a MIG slice that could not be made; each wait is twice the one before") \
  ROW(slice_retry_last_ms,     60'000,    "longest wait in milliseconds between two attempts to make a MIG slice") \
  ROW(slice_blocked_ms,        30'000,    "milliseconds that a reserved MIG slice may wait for what is in its way, before it counts as failed") \
  ROW(mig_manager_poll_ms,     5'000,     "milliseconds between two reads of the node's label that says whether NVIDIA's mig-manager is at work, while slices are to be made") \
  ROW(max_mig_failures,        256,       "MIG slices that could not be made in one inventory") \
  ROW(max_mig_idle_minutes,    525'600,   "minutes that the operator may let idle MIG slices exist; longer is never") \
  ROW(heap_trim_s,             1,         "seconds between two returns of the agent's free memory to the kernel") \
  ROW(max_node_pods,           4'096,     "pods of one node that the agent knows") \
  ROW(max_driver_files,        256,       "libraries and programs of the driver that are mounted into a container") \
  ROW(max_cdi_spec_bytes,      262'144,   "bytes of one CDI specification that the agent writes") \
  ROW(max_cdi_device_bytes,    128,       "bytes of the name of a CDI device; a longer name is replaced by a hash") \
  ROW(max_symbolic_links,      40,        "symbolic links that lead to one file of the driver; the kernel has the same limit") \
  ROW(host_check_ms,           1'000,     "milliseconds between two looks at the files of the host that the enforcer of shares needs") \
  ROW(max_host_file_bytes,     65'536,    "bytes of a file in /proc that the agent reads, and of the files by which it and snug-mps talk") \
  ROW(mps_poll_ms,             200,       "milliseconds between two looks of snug-mps at which MPS daemons are wanted, and between two questions to a daemon that starts") \
  ROW(mps_check_ms,            3'000,     "milliseconds between two questions to an MPS daemon that answers") \
  ROW(mps_command_ms,          2'000,     "milliseconds after which a question to an MPS daemon counts as not answered") \
  ROW(mps_start_ms,            30'000,    "milliseconds without an answer after its start after which an MPS daemon is restarted") \
  ROW(mps_silence_ms,          10'000,    "milliseconds without an answer after which an MPS daemon that had answered is restarted") \
  ROW(mps_fault_ms,            60'000,    "milliseconds that the MPS server of a daemon may refuse new clients after an error of a client, until the daemon is restarted") \
  ROW(mps_retry_first_ms,      1'000,     "milliseconds after the first failure of an MPS daemon until it is restarted; each further wait is twice the one before") \
  ROW(mps_retry_last_ms,       60'000,    "longest wait in milliseconds after failures of an MPS daemon") \
  ROW(mps_stable_ms,           60'000,    "milliseconds that an MPS daemon must answer until its earlier failures no longer count") \
  ROW(mps_quit_clients_s,      5,         "seconds that an MPS daemon which is to quit leaves to its clients") \
  ROW(mps_quit_ms,             8'000,     "milliseconds after which an MPS daemon that was asked to quit gets SIGTERM") \
  ROW(mps_terminate_ms,        3'000,     "milliseconds after SIGTERM after which an MPS daemon gets SIGKILL") \
  ROW(mps_kill_ms,             5'000,     "milliseconds between two SIGKILL to an MPS daemon; snug-mps itself ends this long after the first") \
  ROW(mps_state_ms,            10'000,    "milliseconds after which snug-mps writes the state of a daemon again, so that the agent sees that snug-mps lives") \
  ROW(mps_state_stale_ms,      30'000,    "milliseconds after which the state of an MPS daemon that was not written again counts as failed") \
  ROW(mps_withdraw_ms,         1'000,     "milliseconds after which an MPS daemon that is no longer asked for is ended, unless the folder by which the agent asks is removed meanwhile") \
  ROW(mps_keep_ms,             120'000,   "milliseconds that MPS daemons stay wanted after the folder by which the agent asks for them was removed; longer than mps_rewrite_ms") \
  ROW(max_mps_daemons,         64,        "MPS daemons of one node") \
  ROW(max_mps_servers,         16,        "MPS servers of one daemon whose states snug-mps asks for") \
  ROW(max_mps_namespaces,      128,       "namespaces of one MPS daemon; containers beyond get none, and do not start") \
  ROW(max_mps_entries,         4'096,     "files in the folder by which the agent asks for MPS daemons; with more, snug-mps is not ready, and what was wanted before still is") \
  ROW(max_mps_problems,        16,        "problems of files in this folder that snug-mps names in its log") \
  ROW(max_mps_state_bytes,     1'024,     "bytes of the first line of the state of an MPS daemon; its namespaces follow") \
  ROW(max_mps_output_bytes,    65'536,    "bytes of the answer of an MPS daemon that are kept") \
  ROW(max_mps_log_bytes,       1'048'576, "bytes of a log of an MPS daemon, which is then emptied")
// clang-format on

namespace snug::base::agent_limits {

#define SNUG_AGENT_LIMIT_CONSTANT(name, value, meaning) inline constexpr std::int64_t name = value;
SNUG_AGENT_LIMITS(SNUG_AGENT_LIMIT_CONSTANT)
#undef SNUG_AGENT_LIMIT_CONSTANT

}  // namespace snug::base::agent_limits
