#include "adapters/obs/gpu_series.hpp"

#include <charconv>
#include <cstddef>
#include <string_view>
#include <vector>

namespace snug::obs {
namespace {

constexpr std::int64_t kBytesPerMebibyte = std::int64_t{1024} * 1024;

void append_number(std::string& text, std::int64_t number) {
  char digits[24];
  text.append(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
}

/// Appends a number of thousandths as a decimal: 250 as 0.25.
void append_thousandths(std::string& text, std::int64_t thousandths) {
  char digits[32];
  const double value = static_cast<double>(thousandths) / 1000;
  text.append(digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr);
}

/// Appends `name="value"`, with the value's backslashes, quotes and line feeds escaped.
void append_label(std::string& text, std::string_view name, std::string_view value) {
  text += name;
  text += "=\"";
  for (const char character : value) {
    if (character == '\\' || character == '"') text += '\\';
    if (character == '\n') {
      text += "\\n";
    } else {
      text += character;
    }
  }
  text += '"';
}

/// The labels that all gauges of the GPU have, without braces.
std::string labels_of(const usage::GpuUsage& gpu) {
  std::string labels;
  append_label(labels, "node", gpu.node);
  append_label(labels, ",gpu", std::to_string(gpu.index));
  append_label(labels, ",model", gpu.model);
  return labels;
}

class GpuSeriesWriter {
 public:
  GpuSeriesWriter(std::string& text, std::span<const usage::GpuUsage> gpus)
      : text_(text), gpus_(gpus) {
    labels_.reserve(gpus.size());
    for (const usage::GpuUsage& gpu : gpus) labels_.push_back(labels_of(gpu));
  }

  /// Writes one gauge of all GPUs. `append_value` appends the rest of the line, after the common
  /// labels: `} VALUE`, which may begin with further labels.
  template <typename AppendValue>
  void write(std::string_view name, std::string_view help, const AppendValue& append_value) {
    text_.append("# HELP ").append(name).append(" ").append(help);
    text_.append("\n# TYPE ").append(name).append(" gauge\n");
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      text_.append(name).append("{").append(labels_[i]);
      append_value(gpus_[i]);
      text_ += '\n';
    }
  }

 private:
  std::string& text_;
  std::span<const usage::GpuUsage> gpus_;
  std::vector<std::string> labels_;  // by GPU
};

}  // namespace

void append_gpu_series(std::string& text, std::span<const usage::GpuUsage> gpus) {
  if (gpus.empty()) return;
  GpuSeriesWriter writer(text, gpus);
  const auto write_number = [&](std::string_view name, std::string_view help, const auto& number) {
    writer.write(name, help, [&](const usage::GpuUsage& gpu) {
      text += "} ";
      append_number(text, number(gpu));
    });
  };
  writer.write("snug_gpu_info", "1; its labels are the GPU's uuid, its mode and why it is closed",
               [&](const usage::GpuUsage& gpu) {
                 const bool is_open = gpu.closure == model::GpuClosure::kOpen;
                 append_label(text, ",uuid", gpu.uuid);
                 append_label(text, ",mode", model::to_string(gpu.mode));
                 append_label(text, ",closed", is_open ? "" : model::kGpuClosureNames[gpu.closure]);
                 text += "} 1";
               });
  write_number("snug_gpu_open", "1: the GPU accepts new pods; 0: it is closed",
               [](const usage::GpuUsage& gpu) {
                 return std::int64_t{gpu.closure == model::GpuClosure::kOpen};
               });
  write_number("snug_gpu_memory_capacity_bytes", "Memory of the GPU",
               [](const usage::GpuUsage& gpu) { return gpu.memory.value * kBytesPerMebibyte; });
  write_number(
      "snug_gpu_memory_reserved_bytes", "Memory that pods hold of the GPU",
      [](const usage::GpuUsage& gpu) { return gpu.memory_held.value * kBytesPerMebibyte; });
  writer.write("snug_gpu_compute_reserved_ratio", "Part of the GPU's compute that pods hold",
               [&](const usage::GpuUsage& gpu) {
                 text += "} ";
                 append_thousandths(text, gpu.compute_held.value);
               });
  write_number("snug_gpu_pods", "Pods that hold the GPU or a part of it",
               [](const usage::GpuUsage& gpu) { return gpu.pods; });
}

}  // namespace snug::obs
