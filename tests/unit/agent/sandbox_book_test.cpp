#include "snug/agent_service/sandbox_book.hpp"

#include <gtest/gtest.h>

namespace snug::sandbox_book_test {
namespace {

using agent_service::SandboxBook;

model::Reservation of_pod(const std::string& uid) { return {.uid = uid, .node = "n1"}; }

TEST(SandboxBookTest, ASandboxHoldsItsReservationUntilItStops) {
  SandboxBook book;
  EXPECT_FALSE(book.is_complete());
  book.sandbox_runs("s1", of_pod("a"));
  EXPECT_EQ(book.held(), std::vector{of_pod("a")});
  book.sandboxes_listed({{"s2", of_pod("b")}});
  EXPECT_TRUE(book.is_complete());
  EXPECT_EQ(book.held(), std::vector{of_pod("b")});
  book.sandbox_stopped("s2");
  EXPECT_TRUE(book.held().empty());
}

TEST(SandboxBookTest, TheGenerationChangesOnlyWithWhatIsHeld) {
  SandboxBook book;
  std::uint64_t last = book.generation();
  const auto changed = [&] { return std::exchange(last, book.generation()) != book.generation(); };
  book.sandbox_stopped("s1");
  EXPECT_FALSE(changed());
  book.sandbox_runs("s1", of_pod("a"));
  EXPECT_TRUE(changed());
  book.sandbox_runs("s1", of_pod("a"));
  EXPECT_FALSE(changed());
  book.sandbox_stopped("s1");
  EXPECT_TRUE(changed());
  book.sandboxes_listed({});
  EXPECT_TRUE(changed());
}

}  // namespace
}  // namespace snug::sandbox_book_test
