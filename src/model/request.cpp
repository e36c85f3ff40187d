#include "snug/model/request.hpp"

namespace snug {

std::string to_text(const GpuRequest& request) {
  if (request.containers.size() == 1) return request.containers.front().text;
  std::string text;
  for (const ContainerRequest& container : request.containers) {
    if (!text.empty()) text += "; ";
    text += container.container + ": " + container.text;
  }
  return text;
}

}  // namespace snug
