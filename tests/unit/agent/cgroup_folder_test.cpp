#include "snug/agent/cgroup_folder.hpp"

#include <gtest/gtest.h>

namespace snug::agent::cgroup_folder_test {
namespace {

struct Row {
  std::string_view path;
  std::optional<std::string> folder;
};

TEST(CgroupFolderTest, IsFoundInBothFormsOfThePath) {
  const Row rows[] = {
      {"/kubepods/burstable/podu-1/c1", "/kubepods/burstable/podu-1/c1"},
      {"/c1", "/c1"},
      {"kubepods-burstable-podu_1.slice:cri-containerd:c1",
       "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu_1.slice/"
       "cri-containerd-c1.scope"},
      {"kubepods.slice:crio:c1", "/kubepods.slice/crio-c1.scope"},
      {"kubepods.slice::c1", "/kubepods.slice/c1.scope"},
      {"-.slice:crio:c1", "/crio-c1.scope"},
      {"", std::nullopt},
      {"/", std::nullopt},
      {"kubepods/c1", std::nullopt},
      {"/kubepods/../c1", std::nullopt},
      {"/kubepods/./c1", std::nullopt},
      {"/kubepods//c1", std::nullopt},
      {"/kubepods/", std::nullopt},
      {"/a:b", std::nullopt},
      {"kubepods.slice:crio", std::nullopt},
      {"kubepods.slice:crio:", std::nullopt},
      {"kubepods.slice:crio:c:1", std::nullopt},
      {"kubepods.slice:crio:../c1", std::nullopt},
      {"kubepods.slice:a/b:c1", std::nullopt},
      {"kubepods.slice:..:c1", std::nullopt},
      {"kubepods:crio:c1", std::nullopt},
      {".slice:crio:c1", std::nullopt},
      {"-a.slice:crio:c1", std::nullopt},
      {"a--b.slice:crio:c1", std::nullopt},
      {"a-.slice:crio:c1", std::nullopt},
      {"../a.slice:crio:c1", std::nullopt},
      {":crio:c1", std::nullopt},
  };
  for (const Row& row : rows) EXPECT_EQ(cgroup_folder(row.path), row.folder) << row.path;
  EXPECT_EQ(cgroup_folder(std::string_view("/a\0b", 4)), std::nullopt);
}

}  // namespace
}  // namespace snug::agent::cgroup_folder_test
