// What the fuzz targets share. Each target defines take_input(); target.cpp calls it with the
// inputs of libFuzzer.
#pragma once

#include <string_view>

namespace snug::fuzz {

/// Reads one input and checks what must hold for every input.
void take_input(std::string_view input);

/// Ends the process with `what` if `condition` is false; libFuzzer then keeps the input.
void require(bool condition, std::string_view what);

}  // namespace snug::fuzz
