// The functions of the stand-in about the driver, GPUs, NVLinks and events.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "standin/nvml/state.hpp"

namespace standin {
namespace {

constexpr unsigned long long kMebi = 1024 * 1024;
constexpr unsigned long long kNoLimit = ~0ULL;
constexpr std::chrono::milliseconds kPollInterval{5};

struct Events {
  std::int64_t next = 0;  // the number of the first event that was not delivered
  std::set<std::string> uuids;
};

void fill_pci(const std::string& bus_id, abi::PciInfo& pci) {
  pci = {};
  std::sscanf(bus_id.c_str(), "%x:%x:%x", &pci.domain, &pci.bus, &pci.device);
  std::snprintf(pci.legacy_bus_id, sizeof pci.legacy_bus_id, "%04X:%02X:%02X.0",
                pci.domain & 0xFFFFU, pci.bus & 0xFFU, pci.device & 0xFFU);
  std::snprintf(pci.bus_id, sizeof pci.bus_id, "%08X:%02X:%02X.0", pci.domain, pci.bus & 0xFFU,
                pci.device & 0xFFU);
}

/// The bus id at the other end of the card's link: of another card, or of a switch. Empty: the link
/// is not active.
std::string remote_of(const Json& state, const Json& card, unsigned link, bool& is_switch) {
  const Json links = card.value("links", Json::object());
  for (const auto& [index, count] : links.items()) {
    if (link < count.get<unsigned>()) {
      is_switch = false;
      const std::size_t other = std::stoul(index);
      return other < state["cards"].size() ? state["cards"][other]["pci"].get<std::string>() : "";
    }
    link -= count.get<unsigned>();
  }
  is_switch = true;
  return link < card.value("switch_links", 0U) ? "00000000:C1:00.0" : "";
}

Status with_link(abi::Device device, unsigned link,
                 const std::function<Status(const std::string& remote, bool is_switch)>& body) {
  if (link >= 18) return Status::kInvalidArgument;
  Json state;
  const Status read = with_state(Access::kRead, [&](Json& all) {
    state = all;
    return Status::kSuccess;
  });
  if (read != Status::kSuccess) return read;
  return with_card(device, Access::kRead, [&](const Json& card, const Described&) {
    bool is_switch = false;
    const std::string remote = remote_of(state, card, link, is_switch);
    return body(remote, is_switch);
  });
}

/// The processes of one kind on the GPU or the MIG device.
Status list_processes(const char* function, std::string_view kind, abi::Device device,
                      unsigned& count, abi::Process* processes) {
  return with_card(device, Access::kRead, [&](const Json& card, const Described& described) {
    if (const Status status = refused(card, function); status != Status::kSuccess) return status;
    std::vector<abi::Process> found;
    for (const Json& process : card.value("processes", Json::array())) {
      const abi::Process one{number_at(process, "pid"), process.value("used_mib", 0ULL) * kMebi,
                             process.value("gpu_instance", abi::kNoInstance),
                             process.value("compute_instance", abi::kNoInstance)};
      const bool here = described.gpu_instance < 0 ||
                        one.gpu_instance == static_cast<unsigned>(described.gpu_instance);
      if (here && process.value("kind", "compute") == kind) found.push_back(one);
    }
    const bool fits = found.size() <= count;
    count = static_cast<unsigned>(found.size());
    if (!fits) return Status::kInsufficientSize;
    std::ranges::copy(found, processes);
    return Status::kSuccess;
  });
}

Status take_event(Events& events, abi::EventData& data) {
  return with_state(Access::kRead, [&](const Json& state) {
    for (const Json& event : state.value("events", Json::array())) {
      if (event["number"].get<std::int64_t>() < events.next) continue;
      events.next = event["number"].get<std::int64_t>() + 1;
      const std::string uuid = text_at(event, "uuid");
      if (!events.uuids.contains(uuid)) continue;
      data = {static_cast<abi::Device>(handle_of({uuid})), abi::kXidEvent, number_at(event, "xid"),
              abi::kNoInstance, abi::kNoInstance};
      return Status::kSuccess;
    }
    return Status::kTimeout;
  });
}

Status wait_for_event(Events& events, abi::EventData& data, unsigned timeout_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    const Status status = take_event(events, data);
    if (status != Status::kTimeout || std::chrono::steady_clock::now() >= deadline) return status;
    std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace
}  // namespace standin

// The library's own names, checked against the table of nvml_abi.hpp below.
using namespace standin;          // NOLINT(google-build-using-namespace)
using namespace snug::nvml::abi;  // NOLINT(google-build-using-namespace)

extern "C" {

Status nvmlInit_v2() { return initialise(); }
Status nvmlInitWithFlags(unsigned) { return initialise(); }
Status nvmlShutdown() { return shut_down(); }

const char* nvmlErrorString(Status status) {
  switch (status) {
    case Status::kSuccess:
      return "Success";
    case Status::kDriverNotLoaded:
      return "Driver Not Loaded";
    case Status::kGpuIsLost:
      return "GPU is lost";
    case Status::kInsufficientResources:
      return "Insufficient Resources";
    case Status::kInUse:
      return "In use by another client";
    default:
      return "Unknown Error";
  }
}

Status nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return with_state(Access::kRead, [&](const Json& state) {
    return copy_text(state["driver"].get<std::string>(), out, size);
  });
}

Status nvmlDeviceGetCount_v2(unsigned* count) {
  const auto gpus = known_gpus();
  if (!gpus) return Status::kUninitialized;
  *count = static_cast<unsigned>(gpus->size());
  return with_state(Access::kRead, [](const Json&) { return Status::kSuccess; });
}

Status nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  const auto gpus = known_gpus();
  if (!gpus) return Status::kUninitialized;
  if (index >= gpus->size()) return Status::kInvalidArgument;
  *device = static_cast<Device>(handle_of({(*gpus)[index]}));
  return with_card(*device, Access::kRead,
                   [](const Json&, const Described&) { return Status::kSuccess; });
}

Status nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  return with_state(Access::kRead, [&](const Json& state) {
    for (const Json& card : state["cards"]) {
      if (card["uuid"] == uuid) {
        *device = static_cast<Device>(handle_of({uuid}));
        return Status::kSuccess;
      }
    }
    return Status::kNotFound;
  });
}

Status nvmlDeviceGetName(Device device, char* out, unsigned size) {
  return with_card(device, Access::kRead, [&](const Json& card, const Described&) {
    return copy_text(card["model"].get<std::string>(), out, size);
  });
}

Status nvmlDeviceGetMinorNumber(Device device, unsigned* minor) {
  return with_card(device, Access::kRead, [&](const Json& card, const Described&) {
    *minor = number_at(card, "minor");
    return Status::kSuccess;
  });
}

Status nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  return with_card(device, Access::kRead, [&](const Json& card, const Described&) {
    fill_pci(text_at(card, "pci"), *pci);
    return Status::kSuccess;
  });
}

Status nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  return with_card(device, Access::kRead, [&](const Json& card, const Described&) {
    const unsigned long long total =
        static_cast<unsigned long long>(number_at(card, "memory_mib")) * kMebi;
    const unsigned long long used = card.value("used_mib", 0ULL) * kMebi;
    *memory = {total, total - used, used};
    return Status::kSuccess;
  });
}

Status nvmlDeviceGetMemoryInfo_v2(Device device, Memory2* memory) {
  if (const Status absent = present(__func__); absent != Status::kSuccess) return absent;
  if (memory->version != struct_version<Memory2>(2)) return Status::kArgumentVersionMismatch;
  Memory plain{};
  const Status status = nvmlDeviceGetMemoryInfo(device, &plain);
  if (status == Status::kSuccess)
    *memory = {memory->version, plain.total, 0, plain.free, plain.used};
  return status;
}

Status nvmlDeviceGetUtilizationRates(Device device, Utilization* utilization) {
  return with_card(device, Access::kRead, [&](const Json& card, const Described&) {
    if (card.value("mig", false)) return Status::kNotSupported;
    *utilization = {card.value("utilization", 0U), card.value("memory_utilization", 0U)};
    return Status::kSuccess;
  });
}

Status nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, Process* processes) {
  return list_processes(__func__, "compute", device, *count, processes);
}

Status nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned* count,
                                                Process* processes) {
  return list_processes(__func__, "graphics", device, *count, processes);
}

Status nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, unsigned* count,
                                                  Process* processes) {
  return list_processes(__func__, "mps", device, *count, processes);
}

Status nvmlDeviceSetMemoryLimits_v1(Device device, MemoryLimits* limits) {
  return with_card(device, Access::kWrite, [&](Json& card, const Described& described) {
    if (limits == nullptr || limits->cgroup == nullptr) return Status::kInvalidArgument;
    if (described.gpu_instance >= 0) return Status::kNotSupported;
    const unsigned long long total =
        static_cast<unsigned long long>(number_at(card, "memory_mib")) * kMebi;
    const bool is_unlimited = limits->soft == 0 && limits->hard == kNoLimit;
    if (limits->soft > limits->hard || (limits->hard > total && !is_unlimited))
      return Status::kInvalidArgument;
    if (!std::filesystem::is_directory(limits->cgroup)) return Status::kOperatingSystem;
    Json& all = card["limits"];
    if (is_unlimited) {
      if (all.is_object()) all.erase(limits->cgroup);
    } else {
      all[limits->cgroup] = {{"soft_mib", limits->soft / kMebi},
                             {"hard_mib", limits->hard / kMebi}};
    }
    return Status::kSuccess;
  });
}

Status nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  return with_card(device, Access::kRead, [&](const Json& card, const Described&) {
    for (int i = 0; i < count; ++i) {
      const bool known = values[i].field == kRecoveryActionField && card.contains("recovery");
      values[i].status = known ? Status::kSuccess : Status::kNotSupported;
      values[i].value_type = kUnsignedIntValue;
      if (known) values[i].value.as_unsigned = number_at(card, "recovery");
    }
    return Status::kSuccess;
  });
}

Status nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned* active) {
  return with_link(device, link, [&](const std::string& remote, bool) {
    *active = remote.empty() ? 0 : kLinkActive;
    return Status::kSuccess;
  });
}

Status nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, PciInfo* pci) {
  return with_link(device, link, [&](const std::string& remote, bool) {
    if (remote.empty()) return Status::kInvalidArgument;
    fill_pci(remote, *pci);
    return Status::kSuccess;
  });
}

Status nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned link, unsigned* type) {
  return with_link(device, link, [&](const std::string& remote, bool is_switch) {
    if (remote.empty()) return Status::kInvalidArgument;
    *type = is_switch ? kRemoteIsSwitch : kRemoteIsGpu;
    return Status::kSuccess;
  });
}

Status nvmlEventSetCreate(EventSet* set) {
  return with_state(Access::kRead, [&](const Json& state) {
    *set =
        reinterpret_cast<EventSet>(new Events{.next = state.value("next_event", std::int64_t{0})});
    return Status::kSuccess;
  });
}

Status nvmlEventSetFree(EventSet set) {
  delete reinterpret_cast<Events*>(set);
  return Status::kSuccess;
}

Status nvmlDeviceGetSupportedEventTypes(Device device, unsigned long long* types) {
  *types = kXidEvent;
  return with_card(device, Access::kRead,
                   [](const Json&, const Described&) { return Status::kSuccess; });
}

Status nvmlDeviceRegisterEvents(Device device, unsigned long long types, EventSet set) {
  if ((types & ~kXidEvent) != 0) return Status::kNotSupported;
  return with_card(device, Access::kRead, [&](const Json& card, const Described&) {
    reinterpret_cast<Events*>(set)->uuids.insert(text_at(card, "uuid"));
    return Status::kSuccess;
  });
}

Status nvmlEventSetWait_v2(EventSet set, EventData* data, unsigned timeout_ms) {
  return wait_for_event(*reinterpret_cast<Events*>(set), *data, timeout_ms);
}

}  // extern "C"
