#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>

#include "snug/mig/card_catalog.hpp"
#include "snug/model/model_patterns.hpp"

namespace snug::mig {
namespace {

/// The words in the product names of one card. In each list, single spaces separate the words.
struct ProductNaming {
  std::string_view card;
  std::string_view required;  // words that a product name must have
  std::string_view allowed;   // words that it may have; any other word means another product
};

// Product names as NVML reports them, from the device lists of mig-parted and of NVIDIA's open
// kernel modules. mig-parted lists H20 and PG506 with the cards of 96 GB. The product name of a
// GH200 with 96 GB contains the memory of its CPU: 120 or 480 GB.
constexpr auto kProductNamings = std::to_array<ProductNaming>({
    {"A30", "a30", "24gb pcie"},
    {"A100-40GB", "a100", "40gb pcie sxm sxm4"},
    {"A100-40GB", "a800", "40gb pcie sxm sxm4 active"},
    {"A100-80GB", "a100", "80gb pcie sxm sxm4"},
    {"A100-80GB", "a800", "80gb pcie sxm sxm4"},
    {"H100-80GB", "h100", "80gb pcie sxm sxm5 hbm2e hbm3"},
    {"H100-80GB", "h800", "80gb pcie sxm sxm5 hbm2e hbm3"},
    {"H100-94GB", "h100", "94gb nvl hbm3"},
    {"H100-94GB", "h800 nvl", "94gb hbm3"},
    {"H100-96GB", "h100", "96gb sxm sxm5 hbm3"},
    {"H100-96GB", "gh200", "96gb 120gb 480gb hbm3"},
    {"H100-96GB", "h20", "96gb hbm3"},
    {"H100-96GB", "pg506", "96gb 232"},
    {"H200-141GB", "h200", "141gb nvl sxm sxm5 hbm3e"},
    {"GH200-144GB", "gh200", "144gb hbm3e"},
    {"B200", "b200", "180gb sxm sxm6 hbm3e"},
    {"GB200", "gb200", "186gb 189gb hbm3e"},
    {"B300", "b300", "269gb sxm sxm6 ac hbm3e"},
    {"GB300", "gb300", "278gb hbm3e"},
    {"RTX-PRO-6000", "rtx pro 6000", "blackwell server workstation max q edition 96gb"},
    {"RTX-PRO-5000", "rtx pro 5000", "blackwell 48gb"},
    {"RTX-PRO-4500", "rtx pro 4500", "blackwell server edition 32gb"},
});
constexpr std::string_view kAllowedForAll = "nvidia tensor core gpu";

using Words = std::vector<std::string_view>;

/// Splits `text` at spaces, hyphens and underscores. All other bytes are parts of words.
Words words_of(std::string_view text) {
  constexpr std::string_view kSeparators = " -_";
  Words words;
  while (true) {
    const std::size_t word_begin = text.find_first_not_of(kSeparators);
    if (word_begin == std::string_view::npos) return words;
    text.remove_prefix(word_begin);
    words.push_back(text.substr(0, text.find_first_of(kSeparators)));
    text.remove_prefix(words.back().size());
  }
}

/// Whether the words are equal. `144g` counts as equal to `144gb`.
bool same_word(std::string_view word, std::string_view known_word) {
  return word == known_word || (word.ends_with('g') && known_word.size() == word.size() + 1 &&
                                known_word.ends_with("gb") && known_word.starts_with(word));
}

/// A ProductNaming with its lists split into words.
struct Product {
  const MigCard* card = nullptr;
  Words required;
  Words known_words;  // the required and all allowed words
};

/// The product namings of all cards, in the order of mig_cards().
const std::vector<Product>& products() {
  static const std::vector<Product> all_products = [] {
    std::vector<Product> card_products;
    for (const MigCard& card : mig_cards()) {
      for (const ProductNaming& naming : kProductNamings) {
        if (naming.card != card.name) continue;
        Product product{.card = &card, .required = words_of(naming.required), .known_words = {}};
        for (const std::string_view word_list : {naming.required, naming.allowed, kAllowedForAll}) {
          std::ranges::copy(words_of(word_list), std::back_inserter(product.known_words));
        }
        card_products.push_back(std::move(product));
      }
    }
    return card_products;
  }();
  return all_products;
}

bool has_word(const Words& name_words, std::string_view known_word) {
  return std::ranges::any_of(name_words,
                             [&](std::string_view word) { return same_word(word, known_word); });
}

/// Whether every word of `name_words` is in `known_words` of the product.
bool knows_all(const Product& product, const Words& name_words) {
  return std::ranges::all_of(name_words, [&](std::string_view word) {
    return std::ranges::any_of(product.known_words, [&](std::string_view known_word) {
      return same_word(word, known_word);
    });
  });
}

bool is_name_of(const Product& product, const Words& name_words) {
  return std::ranges::all_of(product.required,
                             [&](std::string_view word) { return has_word(name_words, word); }) &&
         knows_all(product, name_words);
}

/// Whether `name_words` is an incomplete name of the product: it has the first or the first few of
/// the required words, and none of the others. `rtx pro` is an incomplete name of RTX PRO 6000.
/// `rtx 6000` is not, because it has `6000` without `pro`.
bool starts_name_of(const Product& product, const Words& name_words) {
  const auto is_in_name = [&](std::string_view word) { return has_word(name_words, word); };
  const auto missing = std::ranges::find_if_not(product.required, is_in_name);
  return missing != product.required.begin() && missing != product.required.end() &&
         std::none_of(missing, product.required.end(), is_in_name) &&
         knows_all(product, name_words);
}

/// The cards that have a product for which matches(product, words of `model`) is true.
template <typename Matches>
std::vector<const MigCard*> find_cards(std::string_view model, Matches matches) {
  std::vector<const MigCard*> cards;
  const std::string_view bare = model::strip_sharing_suffix(model);
  if (bare.size() > base::kMaxModelBytes) return cards;
  std::string lower(bare);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const Words name_words = words_of(lower);
  for (const Product& product : products()) {
    const bool is_listed = !cards.empty() && cards.back() == product.card;
    if (!is_listed && matches(product, name_words)) cards.push_back(product.card);
  }
  return cards;
}

std::int64_t memory_difference(const MigCard& card, base::MebiBytes memory) {
  return std::abs(card.memory.value - memory.value);
}

/// Whether a driver may report `memory` for the card. Drivers report up to 2 % less than nominal;
/// this function accepts any difference of up to a sixteenth.
bool can_report(const MigCard& card, base::MebiBytes memory) {
  return memory_difference(card, memory) <= card.memory.value / 16;
}

}  // namespace

std::vector<const MigCard*> mig_cards_named(std::string_view model) {
  return find_cards(model, is_name_of);
}

std::vector<const MigCard*> mig_cards_with_prefix(std::string_view model) {
  return find_cards(model, starts_name_of);
}

const MigCard* find_mig_card(std::string_view model, base::MebiBytes memory) {
  const std::vector<const MigCard*> cards = mig_cards_named(model);
  if (cards.empty()) return nullptr;
  if (memory.value == 0) return cards.size() == 1 ? cards.front() : nullptr;
  const MigCard* nearest = *std::ranges::min_element(
      cards, {}, [&](const MigCard* card) { return memory_difference(*card, memory); });
  return can_report(*nearest, memory) ? nearest : nullptr;
}

}  // namespace snug::mig
