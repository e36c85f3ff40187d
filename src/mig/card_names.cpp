#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>

#include "snug/mig/catalog.hpp"
#include "snug/model/glob.hpp"

namespace snug {
namespace {

/// Lists of words, with one space between.
struct Naming {
  std::string_view card;
  std::string_view must;  // said by the product's name
  std::string_view may;   // said beside them; any other word makes it another product
};

// NVML's product names, as device lists have them (mig-parted, NVIDIA's open kernel modules); H20
// and PG506 are in mig-parted's group of the 96 GB cards, and a GH200 with 96 GB is called by its
// CPU's 120 or 480 GB.
constexpr auto kNamings = std::to_array<Naming>({
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
constexpr std::string_view kSaidOfAny = "nvidia tensor core gpu";

using Words = std::vector<std::string_view>;

/// Bytes that are none of the separators belong to words, so that odd ones make an unknown word.
Words words_of(std::string_view text) {
  constexpr std::string_view kSeparators = " -_";
  Words words;
  while (true) {
    const std::size_t from = text.find_first_not_of(kSeparators);
    if (from == std::string_view::npos) return words;
    text.remove_prefix(from);
    words.push_back(text.substr(0, text.find_first_of(kSeparators)));
    text.remove_prefix(words.back().size());
  }
}

/// `144G` is `144GB`.
bool same_word(std::string_view said, std::string_view known) {
  return said == known || (said.ends_with('g') && known.size() == said.size() + 1 &&
                           known.ends_with("gb") && known.starts_with(said));
}

/// A naming, with its lists split into words.
struct Product {
  const MigCard* card = nullptr;
  Words must;
  Words known;  // all that may be said: `must`, `may`, and what is said of any card
};

/// In the order of mig_cards().
const std::vector<Product>& products() {
  static const std::vector<Product> all = [] {
    std::vector<Product> made;
    for (const MigCard& card : mig_cards()) {
      for (const Naming& naming : kNamings) {
        if (naming.card != card.name) continue;
        Product product{.card = &card, .must = words_of(naming.must), .known = {}};
        for (const std::string_view list : {naming.must, naming.may, kSaidOfAny}) {
          std::ranges::copy(words_of(list), std::back_inserter(product.known));
        }
        made.push_back(std::move(product));
      }
    }
    return made;
  }();
  return all;
}

bool among(const Words& said, std::string_view known) {
  return std::ranges::any_of(said, [&](std::string_view word) { return same_word(word, known); });
}

/// Whether every word of `said` may stand in the product's name.
bool may_say(const Product& product, const Words& said) {
  return std::ranges::all_of(said, [&](std::string_view word) {
    return std::ranges::any_of(product.known,
                               [&](std::string_view known) { return same_word(word, known); });
  });
}

bool is_called(const Product& product, const Words& said) {
  return std::ranges::all_of(product.must,
                             [&](std::string_view word) { return among(said, word); }) &&
         may_say(product, said);
}

/// Whether `said` has the first of the words that it must, and none of the rest, of which there are
/// some: `rtx 6000` is another product than the RTX PRO 6000.
bool begins(const Product& product, const Words& said) {
  const auto is_said = [&](std::string_view word) { return among(said, word); };
  const auto missing = std::ranges::find_if_not(product.must, is_said);
  return missing != product.must.begin() && missing != product.must.end() &&
         std::none_of(missing, product.must.end(), is_said) && may_say(product, said);
}

/// Those with a name of which `holds` is true.
template <typename Holds>
std::vector<const MigCard*> cards_where(std::string_view model, Holds holds) {
  std::vector<const MigCard*> cards;
  const std::string_view bare = bare_model(model);
  if (bare.size() > kMostModelBytes) return cards;
  std::string lower(bare);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const Words said = words_of(lower);
  for (const Product& product : products()) {
    const bool found = !cards.empty() && cards.back() == product.card;
    if (!found && holds(product, said)) cards.push_back(product.card);
  }
  return cards;
}

std::int64_t distance(const MigCard& card, MebiBytes memory) {
  return std::abs(card.memory.value - memory.value);
}

/// Whether a card may report so much: drivers report up to 2 % less than its nominal memory.
bool may_have(const MigCard& card, MebiBytes memory) {
  return distance(card, memory) <= card.memory.value / 16;
}

}  // namespace

std::vector<const MigCard*> mig_cards_called(std::string_view model) {
  return cards_where(model, is_called);
}

std::vector<const MigCard*> mig_cards_beginning(std::string_view model) {
  return cards_where(model, begins);
}

const MigCard* find_mig_card(std::string_view model, MebiBytes memory) {
  const std::vector<const MigCard*> cards = mig_cards_called(model);
  if (cards.empty()) return nullptr;
  if (memory.value == 0) return cards.size() == 1 ? cards.front() : nullptr;
  const MigCard* nearest = *std::ranges::min_element(
      cards, {}, [&](const MigCard* card) { return distance(*card, memory); });
  return may_have(*nearest, memory) ? nearest : nullptr;
}

}  // namespace snug
