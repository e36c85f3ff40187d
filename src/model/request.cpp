#include "snug/model/request.hpp"

namespace snug::model {

std::string to_text(std::span<const RequestText> requests) {
  std::string text;
  for (const auto& [container, request] : requests) {
    if (!text.empty()) text += "; ";
    if (requests.size() > 1) text.append(container).append(": ");
    text += request;
  }
  return text;
}

std::string to_text(const GpuRequest& request) {
  std::vector<RequestText> texts;
  texts.reserve(request.containers.size());
  for (const ContainerRequest& container : request.containers) {
    texts.emplace_back(container.container, container.text);
  }
  return to_text(texts);
}

}  // namespace snug::model
