// The gauges of single GPUs as text. They are written here and not by the library: for 16,000 GPUs
// the library takes 0.32 s of processor time for a scrape instead of 0.03 s, and 40 MB more memory.
#pragma once

#include <span>
#include <string>

#include "snug/usage/gpu_usage.hpp"

namespace snug::obs {

/// Appends the six gauges of each GPU in Prometheus' text format.
void append_gpu_series(std::string& text, std::span<const usage::GpuUsage> gpus);

}  // namespace snug::obs
