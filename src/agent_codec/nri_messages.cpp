#include "snug/agent_codec/nri_messages.hpp"

#include <cstddef>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "snug/base/agent_limits.hpp"
#include "snug/base/text.hpp"

namespace snug::agent_codec {
namespace {

using protozero::pbf_writer;

/// One field of a message: a string, bytes or a message in `bytes`, or a number.
struct Field {
  std::uint32_t id = 0;
  bool is_number = false;
  std::string_view bytes;
  std::int64_t number = 0;
};

/// Calls on_field() with each field of `message`. Throws protozero's exceptions.
template <typename OnField>
void each_field(std::string_view message, OnField on_field) {
  protozero::pbf_reader reader{message.data(), message.size()};
  while (reader.next()) {
    Field field{.id = reader.tag()};
    switch (reader.wire_type()) {
      case protozero::pbf_wire_type::length_delimited: {
        const protozero::data_view bytes = reader.get_view();
        field.bytes = {bytes.data(), bytes.size()};
        break;
      }
      case protozero::pbf_wire_type::varint:
        field.is_number = true;
        field.number = static_cast<std::int64_t>(reader.get_uint64());
        break;
      default:
        reader.skip();
        continue;
    }
    on_field(field);
  }
}

/// As each_field(), without numbers.
template <typename OnField>
void each_text(std::string_view message, OnField on_field) {
  each_field(message, [&on_field](const Field& field) {
    if (!field.is_number) on_field(field.id, field.bytes);
  });
}

/// Reads a message with read(value). Protozero's exceptions end here.
template <typename Value, typename Read>
base::Result<Value> decode(std::string_view name, Read read) {
  try {
    Value value;
    read(value);
    return value;
  } catch (const protozero::exception& error) {
    return base::fail(base::ErrorCode::kInvalid, "NRI: the message " + std::string(name) +
                                                     " is not valid protobuf: " + error.what());
  }
}

/// An entry of a map, a KeyValue, or a CDIDevice, which has only a name: all have the same form.
std::pair<std::string, std::string> read_entry(std::string_view message) {
  std::pair<std::string, std::string> entry;
  each_text(message, [&entry](std::uint32_t id, std::string_view text) {
    if (id == 1) entry.first = text;
    if (id == 2) entry.second = text;
  });
  return entry;
}

void add_entry(model::StringMap& map, std::string_view message) {
  auto [key, value] = read_entry(message);
  map.insert_or_assign(std::move(key), std::move(value));
}

void read_sandbox(std::string_view message, agent::SandboxView& sandbox) {
  each_text(message, [&sandbox](std::uint32_t id, std::string_view text) {
    if (id == 1) sandbox.id = text;
    if (id == 2) sandbox.name = text;
    if (id == 3) sandbox.uid = text;
    if (id == 4) sandbox.name_space = text;
    if (id == 5) add_entry(sandbox.labels, text);
    if (id == 6) add_entry(sandbox.annotations, text);
  });
}

agent::MountView read_mount(std::string_view message) {
  agent::MountView mount;
  each_text(message, [&mount](std::uint32_t id, std::string_view text) {
    if (id == 1) mount.destination = text;
    if (id == 2) mount.type = text;
    if (id == 3) mount.source = text;
    if (id == 4) mount.options.emplace_back(text);
  });
  return mount;
}

agent::DeviceNodeView read_device(std::string_view message) {
  agent::DeviceNodeView device;
  each_field(message, [&device](const Field& field) {
    if (field.id == 1 && !field.is_number) device.path = field.bytes;
    if (field.id == 2 && !field.is_number) device.type = field.bytes;
    if (field.id == 3 && field.is_number) device.major = field.number;
    if (field.id == 4 && field.is_number) device.minor = field.number;
  });
  return device;
}

agent::ContainerState state_of(std::int64_t number) {
  using enum agent::ContainerState;
  switch (number) {
    case 1:
      return kCreated;
    case 2:
      return kPaused;
    case 3:
      return kRunning;
    case 4:
      return kStopped;
    default:
      return kUnknown;
  }
}

/// The field `linux` of a container.
void read_linux(std::string_view message, agent::ContainerView& container) {
  each_text(message, [&container](std::uint32_t id, std::string_view text) {
    if (id == 2) container.devices.push_back(read_device(text));
    if (id == 5) container.cgroup_path = text;
  });
}

void read_container(std::string_view message, agent::ContainerView& container) {
  each_field(message, [&container](const Field& field) {
    if (field.is_number) {
      if (field.id == 4) container.state = state_of(field.number);
      return;
    }
    if (field.id == 1) container.id = field.bytes;
    if (field.id == 2) container.sandbox_id = field.bytes;
    if (field.id == 3) container.name = field.bytes;
    if (field.id == 6) add_entry(container.annotations, field.bytes);
    if (field.id == 8) container.env.emplace_back(field.bytes);
    if (field.id == 9) container.mounts.push_back(read_mount(field.bytes));
    if (field.id == 11) read_linux(field.bytes, container);
    if (field.id == 20) container.cdi_devices.push_back(read_entry(field.bytes).first);
  });
}

void read_adjustment(std::string_view message, agent::Adjustment& adjustment) {
  each_text(message, [&adjustment](std::uint32_t id, std::string_view text) {
    if (id == 3) adjustment.mounts.push_back(read_mount(text));
    if (id == 4) adjustment.env.push_back(read_entry(text));
    if (id == 6) {
      each_text(text, [&adjustment](std::uint32_t linux_id, std::string_view device) {
        if (linux_id == 1) adjustment.devices.push_back(read_device(device));
      });
    }
    if (id == 8) adjustment.cdi_devices.push_back(read_entry(text).first);
  });
}

std::string written(std::string_view reason) {
  return base::clip_text(reason, base::agent_limits::max_nri_reason_bytes);
}

void write_device(pbf_writer&& message, const agent::DeviceNodeView& device) {
  message.add_string(1, device.path);
  message.add_string(2, device.type);
  message.add_int64(3, device.major);
  message.add_int64(4, device.minor);
}

void write_mount(pbf_writer&& message, const agent::MountView& mount) {
  message.add_string(1, mount.destination);
  message.add_string(2, mount.type);
  message.add_string(3, mount.source);
  for (const std::string& option : mount.options) message.add_string(4, option);
}

void write_entry(pbf_writer&& message, const std::pair<std::string, std::string>& entry) {
  message.add_string(1, entry.first);
  message.add_string(2, entry.second);
}

void write_adjustment(pbf_writer&& message, const agent::Adjustment& adjustment) {
  for (const auto& annotation : adjustment.annotations) {
    write_entry(pbf_writer{message, 2}, annotation);
  }
  for (const agent::MountView& mount : adjustment.mounts) {
    write_mount(pbf_writer{message, 3}, mount);
  }
  for (const auto& variable : adjustment.env) write_entry(pbf_writer{message, 4}, variable);
  if (!adjustment.devices.empty()) {
    pbf_writer linux_part{message, 6};
    for (const agent::DeviceNodeView& device : adjustment.devices) {
      write_device(pbf_writer{linux_part, 1}, device);
    }
  }
  for (const std::string& name : adjustment.cdi_devices) {
    pbf_writer{message, 8}.add_string(1, name);
  }
}

}  // namespace

base::Result<TtrpcRequest> decode_ttrpc_request(std::string_view bytes) {
  return decode<TtrpcRequest>("Request", [bytes](TtrpcRequest& request) {
    each_text(bytes, [&request](std::uint32_t id, std::string_view text) {
      if (id == 1) request.service = text;
      if (id == 2) request.method = text;
      if (id == 3) request.payload = text;
    });
  });
}

base::Result<TtrpcResponse> decode_ttrpc_response(std::string_view bytes) {
  return decode<TtrpcResponse>("Response", [bytes](TtrpcResponse& response) {
    const auto read_status = [&response](const Field& field) {
      if (field.id == 1 && field.is_number) response.code = field.number;
      if (field.id == 2 && !field.is_number) response.message = field.bytes;
    };
    each_text(bytes, [&](std::uint32_t id, std::string_view text) {
      if (id == 1) each_field(text, read_status);
      if (id == 2) response.payload = text;
    });
  });
}

std::string encode_ttrpc_request(const TtrpcRequest& request) {
  std::string bytes;
  pbf_writer message{bytes};
  message.add_string(1, request.service);
  message.add_string(2, request.method);
  message.add_bytes(3, request.payload.data(), request.payload.size());
  return bytes;
}

std::string encode_ttrpc_success(std::string_view payload) {
  std::string bytes;
  pbf_writer{bytes}.add_bytes(2, payload.data(), payload.size());
  return bytes;
}

std::string encode_ttrpc_error(TtrpcCode code, std::string_view message) {
  std::string bytes;
  pbf_writer response{bytes};
  pbf_writer status{response, 1};
  status.add_int32(1, static_cast<std::int32_t>(code));
  status.add_string(2, written(message));
  return bytes;
}

std::string encode_register_plugin(std::string_view name, std::string_view index) {
  std::string bytes;
  pbf_writer message{bytes};
  message.add_string(1, name.data(), name.size());
  message.add_string(2, index.data(), index.size());
  return bytes;
}

base::Result<NriConfigure> decode_configure(std::string_view bytes) {
  return decode<NriConfigure>("ConfigureRequest", [bytes](NriConfigure& configure) {
    each_text(bytes, [&configure](std::uint32_t id, std::string_view text) {
      if (id == 2) configure.runtime_name = text;
      if (id == 3) configure.runtime_version = text;
    });
  });
}

std::string encode_configured(const std::vector<NriEvent>& events) {
  std::uint32_t mask = 0;
  for (const NriEvent event : events) mask |= 1U << (static_cast<unsigned>(event) - 1);
  std::string bytes;
  pbf_writer{bytes}.add_int32(2, static_cast<std::int32_t>(mask));
  return bytes;
}

base::Result<NriSynchronize> decode_synchronize(std::string_view bytes) {
  return decode<NriSynchronize>("SynchronizeRequest", [bytes](NriSynchronize& part) {
    each_field(bytes, [&part](const Field& field) {
      if (field.id == 1 && !field.is_number) {
        read_sandbox(field.bytes, part.sandboxes.emplace_back());
      }
      if (field.id == 2 && !field.is_number) {
        read_container(field.bytes, part.containers.emplace_back());
      }
      if (field.id == 3 && field.is_number) part.more = field.number != 0;
    });
  });
}

std::string encode_synchronized(bool more) {
  std::string bytes;
  if (more) pbf_writer{bytes}.add_bool(2, true);
  return bytes;
}

base::Result<NriContainerEvent> decode_container_request(std::string_view bytes) {
  return decode<NriContainerEvent>("about a container", [bytes](NriContainerEvent& event) {
    each_text(bytes, [&event](std::uint32_t id, std::string_view text) {
      if (id == 1) read_sandbox(text, event.sandbox);
      if (id == 2) read_container(text, event.container);
    });
  });
}

base::Result<NriContainerEvent> decode_validation(std::string_view bytes) {
  return decode<NriContainerEvent>(
      "ValidateContainerAdjustmentRequest", [bytes](NriContainerEvent& event) {
        each_text(bytes, [&event](std::uint32_t id, std::string_view text) {
          if (id == 1) read_sandbox(text, event.sandbox);
          if (id == 2) read_container(text, event.container);
          if (id == 3) read_adjustment(text, event.adjustment);
        });
      });
}

base::Result<NriContainerEvent> decode_state_change(std::string_view bytes) {
  return decode<NriContainerEvent>("StateChangeEvent", [bytes](NriContainerEvent& event) {
    each_field(bytes, [&event](const Field& field) {
      if (field.id == 1 && field.is_number) event.event = field.number;
      if (field.id == 2 && !field.is_number) read_sandbox(field.bytes, event.sandbox);
      if (field.id == 3 && !field.is_number) read_container(field.bytes, event.container);
    });
  });
}

std::string encode_created(const agent::Adjustment& adjustment) {
  std::string bytes;
  if (adjustment == agent::Adjustment{}) return bytes;
  pbf_writer response{bytes};
  write_adjustment(pbf_writer{response, 1}, adjustment);
  return bytes;
}

std::string encode_validated(const std::optional<std::string>& refusal) {
  std::string bytes;
  if (!refusal) return bytes;
  pbf_writer response{bytes};
  response.add_bool(1, true);
  response.add_string(2, written(*refusal));
  return bytes;
}

}  // namespace snug::agent_codec
