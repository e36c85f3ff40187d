// Runs a RapidCheck property in as many cases as a GoogleTest test wants. RC_PARAMS wins: a given
// max_success, seed or reproduce is what is run. RapidCheck prints the seed.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <iostream>
#include <sstream>
#include <string>
#include <utility>

namespace snug {

template <typename Property>
void holds_in(int cases, Property&& property) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const rc::detail::Configuration& configuration = rc::detail::configuration();
  rc::detail::TestMetadata metadata;
  metadata.id = std::string(test.test_suite_name()) + "/" + test.name();
  metadata.description = test.name();
  rc::detail::TestParams params = configuration.testParams;
  // A test's parameter, a number, makes its cases others than those of its siblings.
  if (test.value_param() != nullptr) params.seed += std::stoull(test.value_param());
  if (params.maxSuccess == rc::detail::TestParams{}.maxSuccess) params.maxSuccess = cases;
  const rc::detail::TestResult result =
      configuration.reproduce.empty()
          ? rc::detail::checkTestable(std::forward<Property>(property), metadata, params)
          : rc::detail::checkTestable(std::forward<Property>(property), metadata);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  if (!result.template is<rc::detail::SuccessResult>()) FAIL() << text.str();
  std::cout << text.str() << "\n";
}

}  // namespace snug
