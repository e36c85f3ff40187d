#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "snug/mig/card_catalog.hpp"

namespace snug::card_names_test {
namespace {

std::string found(std::string_view model, std::int64_t memory = 0) {
  const mig::MigCard* card = mig::find_mig_card(model, {memory});
  return card == nullptr ? "" : card->name;
}

TEST(MigCardNamesTest, ProductsAreKnownByTheirWords) {
  struct Row {
    std::string_view model;
    std::string_view card;
  };
  const std::vector<Row> rows = {
      {"NVIDIA-A30", "A30"},
      {"NVIDIA-A100-SXM4-40GB", "A100-40GB"},
      {"NVIDIA-A100-PCIE-40GB", "A100-40GB"},
      {"NVIDIA-A100-40GB-PCIe", "A100-40GB"},
      {"A100-SXM4-40GB", "A100-40GB"},
      {"nvidia a100-sxm4-40gb", "A100-40GB"},
      {"NVIDIA-A100-SXM4-40GB-SHARED", "A100-40GB"},
      {"NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "A100-40GB"},
      {"NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED", "A100-40GB"},
      {"NVIDIA-A800-SXM4-40GB", "A100-40GB"},
      {"NVIDIA A800 40GB Active", "A100-40GB"},
      {"NVIDIA-A100-SXM4-80GB", "A100-80GB"},
      {"NVIDIA-A100-80GB-PCIe", "A100-80GB"},
      {"A100 80GB PCIe", "A100-80GB"},
      {"NVIDIA-A800-SXM4-80GB", "A100-80GB"},
      {"NVIDIA-A800-80GB-PCIe", "A100-80GB"},
      {"NVIDIA-H100-80GB-HBM3", "H100-80GB"},
      {"NVIDIA-H100-PCIe", "H100-80GB"},
      {"NVIDIA-H800", "H100-80GB"},
      {"NVIDIA-H800-PCIe", "H100-80GB"},
      {"NVIDIA-H100-NVL", "H100-94GB"},
      {"NVIDIA-H800-NVL", "H100-94GB"},
      {"NVIDIA-GH200-480GB", "H100-96GB"},
      {"NVIDIA-GH200-120GB", "H100-96GB"},
      {"NVIDIA GH200 120GB", "H100-96GB"},
      {"NVIDIA-H20", "H100-96GB"},
      {"NVIDIA-PG506-232", "H100-96GB"},
      {"NVIDIA-H200", "H200-141GB"},
      {"NVIDIA-H200-NVL", "H200-141GB"},
      {"NVIDIA-GH200-144G-HBM3e", "GH200-144GB"},
      {"NVIDIA-B200", "B200"},
      {"NVIDIA-GB200", "GB200"},
      {"NVIDIA-B300-SXM6-AC", "B300"},
      {"NVIDIA-GB300", "GB300"},
      {"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "RTX-PRO-6000"},
      {"NVIDIA-RTX-PRO-6000-Blackwell-Workstation-Edition", "RTX-PRO-6000"},
      {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "RTX-PRO-6000"},
      {"NVIDIA-RTX-PRO-5000-Blackwell", "RTX-PRO-5000"},
      {"NVIDIA-RTX-PRO-4500-Blackwell", "RTX-PRO-4500"},
  };
  for (const Row& row : rows) EXPECT_EQ(found(row.model), row.card) << row.model;
}

TEST(MigCardNamesTest, EachCardIsFoundByItsOwnName) {
  for (const mig::MigCard& card : mig::mig_cards()) EXPECT_EQ(found(card.name), card.name);
}

TEST(MigCardNamesTest, OtherProductsHaveNoTable) {
  for (const std::string_view model : {"Tesla-T4",
                                       "NVIDIA-T4",
                                       "Tesla-V100-SXM2-32GB",
                                       "NVIDIA-L40S",
                                       "NVIDIA-L4",
                                       "NVIDIA-A10",
                                       "NVIDIA-A16",
                                       "NVIDIA-A40",
                                       "NVIDIA-RTX-6000-Ada-Generation",
                                       "NVIDIA-RTX-A6000",
                                       "NVIDIA-RTX-PRO-4000-Blackwell",
                                       "NVIDIA-RTX-PRO-5000-72GB-Blackwell",
                                       "NVIDIA-RTX-PRO-5000-Blackwell-Generation-Laptop-GPU",
                                       "NVIDIA-A100-SXM-64GB",
                                       "NVIDIA-H100-SXM5-64GB",
                                       "NVIDIA-H20-3e",
                                       "NVIDIA-A100X",
                                       "GRID-A100-10C",
                                       "AMD-MI300X",
                                       "6000",
                                       "40GB",
                                       "NVIDIA",
                                       "-",
                                       ""}) {
    for (const std::int64_t memory : {0, 40960, 81920, 98304}) {
      EXPECT_EQ(found(model, memory), "") << model;
    }
  }
}

TEST(MigCardNamesTest, MemoryTellsCardsOfOneNameApart) {
  struct Row {
    std::string_view model;
    std::int64_t memory;
    std::string_view card;
  };
  const std::vector<Row> rows = {
      {"A100", 40960, "A100-40GB"},
      {"A100", 40536, "A100-40GB"},
      {"A100", 81920, "A100-80GB"},
      {"NVIDIA-A100-PCIe", 81251, "A100-80GB"},
      {"A100", 0, ""},
      {"A100", -1, ""},
      {"A100", 1000, ""},
      {"A100", 61440, ""},
      {"A100", 65536, ""},
      {"A100", 1'000'000'000, ""},
      {"NVIDIA-H100", 81559, "H100-80GB"},
      {"NVIDIA-H100", 95830, "H100-94GB"},
      {"NVIDIA-H100", 97871, "H100-96GB"},
      {"NVIDIA-H100", 0, ""},
      {"GH200", 97871, "H100-96GB"},
      {"GH200", 147456, "GH200-144GB"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(found(row.model, row.memory), row.card) << row.model << ' ' << row.memory;
  }
}

TEST(MigCardNamesTest, ANameAndAMemoryThatContradictEachOtherAreNoCard) {
  struct Row {
    std::string_view model;
    std::int64_t memory;
    std::string_view card;
  };
  const std::vector<Row> rows = {
      // As drivers report it.
      {"NVIDIA-A30", 24576, "A30"},
      {"NVIDIA-A30", 24258, "A30"},
      {"NVIDIA-A100-SXM4-40GB", 40536, "A100-40GB"},
      {"NVIDIA-A100-SXM4-80GB", 81251, "A100-80GB"},
      {"NVIDIA-H100-80GB-HBM3", 81559, "H100-80GB"},
      {"NVIDIA-H100-NVL", 95830, "H100-94GB"},
      {"NVIDIA-H20", 97871, "H100-96GB"},
      {"NVIDIA-GH200-120GB", 97871, "H100-96GB"},
      {"NVIDIA-GH200-480GB", 97871, "H100-96GB"},
      {"NVIDIA-GH200-144G-HBM3e", 147456, "GH200-144GB"},
      {"NVIDIA-H200", 143771, "H200-141GB"},
      {"NVIDIA-B200", 183359, "B200"},
      {"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", 97887, "RTX-PRO-6000"},
      // Not even roughly.
      {"NVIDIA-A100-SXM4-40GB", 81920, ""},
      {"NVIDIA-A100-SXM4-80GB", 40960, ""},
      {"NVIDIA-A100-SXM4-40GB", 4864, ""},
      {"NVIDIA-A100-SXM4-40GB", 1000, ""},
      {"NVIDIA-A30", 40960, ""},
      {"NVIDIA-H20", 144384, ""},
      {"NVIDIA-GH200-120GB", 122880, ""},
      {"NVIDIA-GH200-120GB", 147456, ""},
      {"NVIDIA-GH200-144G-HBM3e", 97871, ""},
      {"NVIDIA-B200", 1'000'000'000, ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(found(row.model, row.memory), row.card) << row.model << ' ' << row.memory;
  }
}

TEST(MigCardNamesTest, CandidatesAreNamed) {
  const auto names = [](std::string_view model) {
    std::vector<std::string> all;
    for (const mig::MigCard* card : mig::mig_cards_named(model)) all.push_back(card->name);
    return all;
  };
  EXPECT_EQ(names("A100"), (std::vector<std::string>{"A100-40GB", "A100-80GB"}));
  EXPECT_EQ(names("h100"), (std::vector<std::string>{"H100-80GB", "H100-94GB", "H100-96GB"}));
  EXPECT_EQ(names("A30"), (std::vector<std::string>{"A30"}));
  EXPECT_TRUE(names("T4").empty());
}

TEST(MigCardNamesTest, CardsWhoseNamesBeginSo) {
  const auto names = [](std::string_view model) {
    std::string all;
    for (const mig::MigCard* card : mig::mig_cards_with_prefix(model)) all += card->name + ' ';
    return all;
  };
  const std::string all_rtx = "RTX-PRO-6000 RTX-PRO-5000 RTX-PRO-4500 ";
  for (const std::string_view model : {"RTX PRO", "rtx-pro", "NVIDIA RTX", "RTX PRO Blackwell"}) {
    EXPECT_EQ(names(model), all_rtx) << model;
  }
  EXPECT_EQ(names("RTX PRO 48GB"), "RTX-PRO-5000 ");
  for (const std::string_view model : {"RTX 6000", "PRO 6000", "RTX PRO 7000", "RTX PRO 6000",
                                       "A100", "40GB", "NVIDIA", "T4", ""}) {
    EXPECT_EQ(names(model), "") << model;
  }
}

TEST(MigCardNamesTest, HostileNamesAreNoCards) {
  std::string words;
  for (int i = 0; i < 100'000; ++i) words += "a100 ";
  EXPECT_EQ(found(words), "");
  EXPECT_EQ(found(std::string(1'000'000, '-')), "");
  EXPECT_EQ(found(std::string(100, '-')), "");
  EXPECT_EQ(found("A100-40GB" + std::string(120, ' ')), "");
  for (const std::string_view model :
       {std::string_view("A100\0-40GB", 10), std::string_view("A100-40GB\xff"),
        std::string_view("\xc3\x84"
                         "100-40GB"),
        std::string_view("A100\n40GB"), std::string_view("A100-40G B"),
        std::string_view("-MIG-1g.5gb"), std::string_view("-SHARED")}) {
    EXPECT_EQ(found(model), "") << model;
  }
}

}  // namespace
}  // namespace snug::card_names_test
