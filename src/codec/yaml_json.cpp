#include <charconv>
#include <nlohmann/json.hpp>

#include "snug/codec/yaml.hpp"

namespace snug::codec {
namespace {

using OrderedJson = nlohmann::ordered_json;

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view without_sign(std::string_view scalar_text) {
  if (scalar_text.starts_with('-') || scalar_text.starts_with('+')) scalar_text.remove_prefix(1);
  return scalar_text;
}

/// Whether the whole text matches `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
bool looks_like_number(std::string_view scalar_text) {
  scalar_text = without_sign(scalar_text);
  const auto exponent_at = scalar_text.find_first_of("eE");
  if (exponent_at != std::string_view::npos) {
    if (!all_digits(without_sign(scalar_text.substr(exponent_at + 1)))) return false;
    scalar_text = scalar_text.substr(0, exponent_at);
  }
  const auto point = scalar_text.find('.');
  if (point == std::string_view::npos) return all_digits(scalar_text);
  const auto integer_digits = scalar_text.substr(0, point);
  const auto fraction_digits = scalar_text.substr(point + 1);
  if (integer_digits.empty()) return all_digits(fraction_digits);
  return all_digits(integer_digits) && (fraction_digits.empty() || all_digits(fraction_digits));
}

template <typename Number>
bool parse_all(std::string_view scalar_text, Number& number, int base) {
  const auto [end, error] =
      std::from_chars(scalar_text.data(), scalar_text.data() + scalar_text.size(), number, base);
  return error == std::errc{} && end == scalar_text.data() + scalar_text.size();
}

OrderedJson number_or_text(std::string_view scalar_text) {
  std::int64_t integer = 0;
  if (scalar_text.starts_with("0x") && parse_all(scalar_text.substr(2), integer, 16) &&
      integer >= 0) {
    return integer;
  }
  if (scalar_text.starts_with("0o") && parse_all(scalar_text.substr(2), integer, 8) &&
      integer >= 0) {
    return integer;
  }
  if (!looks_like_number(scalar_text)) return std::string(scalar_text);
  const auto unsigned_text = scalar_text.starts_with('+') ? scalar_text.substr(1) : scalar_text;
  if (parse_all(unsigned_text, integer, 10)) return integer;
  double real = 0;
  const auto [end, error] =
      std::from_chars(unsigned_text.data(), unsigned_text.data() + unsigned_text.size(), real);
  if (error != std::errc{} || end != unsigned_text.data() + unsigned_text.size()) {
    return std::string(scalar_text);
  }
  return real;
}

OrderedJson to_value(const YamlNode& yaml_node) {
  switch (yaml_node.type) {
    case YamlNode::Type::kNull:
      return nullptr;
    case YamlNode::Type::kScalar:
      if (yaml_node.quoted) return yaml_node.text;
      if (yaml_node.text == "true" || yaml_node.text == "True" || yaml_node.text == "TRUE")
        return true;
      if (yaml_node.text == "false" || yaml_node.text == "False" || yaml_node.text == "FALSE")
        return false;
      return number_or_text(yaml_node.text);
    case YamlNode::Type::kSequence: {
      OrderedJson array = OrderedJson::array();
      for (const YamlNode& item : yaml_node.items) array.push_back(to_value(item));
      return array;
    }
    case YamlNode::Type::kMap: {
      // Appends without a search for the key: parse_yaml() has refused duplicate keys.
      OrderedJson object = OrderedJson::object();
      auto& entries = object.get_ref<OrderedJson::object_t&>();
      for (const auto& [key, value] : yaml_node.entries) {
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
