#include <charconv>
#include <nlohmann/json.hpp>

#include "snug/codec/yaml.hpp"

namespace snug::codec {
namespace {

using OrderedJson = nlohmann::ordered_json;

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view without_sign(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text;
}

/// Whether the whole text matches `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
bool looks_like_number(std::string_view text) {
  text = without_sign(text);
  const auto exponent_at = text.find_first_of("eE");
  if (exponent_at != std::string_view::npos) {
    if (!all_digits(without_sign(text.substr(exponent_at + 1)))) return false;
    text = text.substr(0, exponent_at);
  }
  const auto point = text.find('.');
  if (point == std::string_view::npos) return all_digits(text);
  const auto whole = text.substr(0, point);
  const auto part = text.substr(point + 1);
  if (whole.empty()) return all_digits(part);
  return all_digits(whole) && (part.empty() || all_digits(part));
}

template <typename Number>
bool parse_all(std::string_view text, Number& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && end == text.data() + text.size();
}

OrderedJson number_or_text(std::string_view text) {
  std::int64_t integer = 0;
  if (text.starts_with("0x") && parse_all(text.substr(2), integer, 16) && integer >= 0) {
    return integer;
  }
  if (text.starts_with("0o") && parse_all(text.substr(2), integer, 8) && integer >= 0) {
    return integer;
  }
  if (!looks_like_number(text)) return std::string(text);
  const auto unsigned_text = text.starts_with('+') ? text.substr(1) : text;
  if (parse_all(unsigned_text, integer, 10)) return integer;
  double real = 0;
  const auto [end, error] =
      std::from_chars(unsigned_text.data(), unsigned_text.data() + unsigned_text.size(), real);
  if (error != std::errc{} || end != unsigned_text.data() + unsigned_text.size()) {
    return std::string(text);
  }
  return real;
}

OrderedJson to_value(const YamlNode& node) {
  switch (node.type) {
    case YamlNode::Type::kNull:
      return nullptr;
    case YamlNode::Type::kScalar:
      if (node.quoted) return node.text;
      if (node.text == "true" || node.text == "True" || node.text == "TRUE") return true;
      if (node.text == "false" || node.text == "False" || node.text == "FALSE") return false;
      return number_or_text(node.text);
    case YamlNode::Type::kSequence: {
      OrderedJson array = OrderedJson::array();
      for (const YamlNode& item : node.items) array.push_back(to_value(item));
      return array;
    }
    case YamlNode::Type::kMap: {
      // Appends without a search for the key: parse_yaml() has refused duplicate keys.
      OrderedJson object = OrderedJson::object();
      auto& entries = object.get_ref<OrderedJson::object_t&>();
      for (const auto& [key, value] : node.entries) {
        entries.push_back({key.text, to_value(value)});
      }
      return object;
    }
  }
  return nullptr;
}

}  // namespace

std::string to_json(const YamlNode& node) {
  return to_value(node).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace snug::codec
