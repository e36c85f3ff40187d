#include "snug/agent_codec/cdi_writer.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "unit/agent/gpu_node.hpp"

namespace snug::agent::testing {
namespace {

using Json = nlohmann::json;

CdiSpec small_spec() {
  return {.device = "u-1_main",
          .nodes = {{"/dev/nvidia0", "/run/nvidia/driver/dev/nvidia0", 195, 0}},
          .mounts = {{"/usr/lib64/libcuda.so.580.95.05", "/usr/local/nvidia/lib64/libcuda.so.1"}},
          .env = {{"A", "b=c"}}};
}

TEST(CdiWriterTest, WritesOneDeviceWithItsEditsInAFixedOrder) {
  const auto text = agent_codec::write_cdi_spec(small_spec());
  ASSERT_TRUE(text);
  EXPECT_EQ(*text,
            R"({"cdiVersion":"0.6.0","kind":"snug.dev/gpu","devices":[{"name":"u-1_main",)"
            R"("containerEdits":{"env":["A=b=c"],"deviceNodes":[{"path":"/dev/nvidia0",)"
            R"("hostPath":"/run/nvidia/driver/dev/nvidia0","type":"c","major":195,"minor":0,)"
            R"("permissions":"rw"}],"mounts":[{"hostPath":"/usr/lib64/libcuda.so.580.95.05",)"
            R"("containerPath":"/usr/local/nvidia/lib64/libcuda.so.1",)"
            R"("options":["ro","nosuid","nodev","rbind","rprivate"]}]}}]})");
}

void expect_keys(const Json& object, const std::set<std::string>& allowed) {
  ASSERT_TRUE(object.is_object());
  for (const auto& [key, value] : object.items()) EXPECT_TRUE(allowed.contains(key)) << key;
}

/// What the CDI library requires of a specification of version 0.6.0 (its specs-go/config.go and
/// pkg/cdi: strict keys, a device, paths, types, permissions, names of variables).
void expect_valid(const Json& spec) {
  expect_keys(spec, {"cdiVersion", "kind", "annotations", "devices", "containerEdits"});
  EXPECT_EQ(spec.at("cdiVersion"), "0.6.0");
  ASSERT_EQ(spec.at("devices").size(), 1U);
  const Json& device = spec["devices"][0];
  expect_keys(device, {"name", "annotations", "containerEdits"});
  EXPECT_FALSE(device.at("name").get<std::string>().empty());
  const Json& edits = device.at("containerEdits");
  EXPECT_FALSE(edits.empty());
  expect_keys(edits, {"env", "deviceNodes", "hooks", "mounts"});
  for (const Json& node : edits.value("deviceNodes", Json::array())) {
    expect_keys(node, {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions",
                       "uid", "gid"});
    EXPECT_TRUE(node.at("path").get<std::string>().starts_with('/'));
    EXPECT_TRUE(node.at("type") == "c" || node.at("type") == "b");
    EXPECT_EQ(node.at("permissions").get<std::string>().find_first_not_of("rwm"),
              std::string::npos);
    EXPECT_GT(node.at("major").get<std::int64_t>(), 0);  // 0: the library looks at the host
  }
  for (const Json& mount : edits.value("mounts", Json::array())) {
    expect_keys(mount, {"hostPath", "containerPath", "options", "type"});
    EXPECT_FALSE(mount.at("hostPath").get<std::string>().empty());
    EXPECT_FALSE(mount.at("containerPath").get<std::string>().empty());
  }
  for (const Json& variable : edits.value("env", Json::array())) {
    const std::size_t equals = variable.get<std::string>().find('=');
    EXPECT_TRUE(equals != std::string::npos && equals > 0) << variable;
  }
}

TEST(CdiWriterTest, EachDecisionMakesAValidSpecification) {
  for (const auto& devices : {std::vector{whole(0, "GPU-a")}, std::vector{slice("1g.5gb", 0)},
                              std::vector{whole(0, "GPU-a"), whole(1, "GPU-b")}}) {
    Case c;
    c.reserve(devices);
    const auto decision = c.decide();
    ASSERT_TRUE(decision) << decision.error().sentence;
    const auto text = agent_codec::write_cdi_spec(*decision->spec);
    ASSERT_TRUE(text);
    expect_valid(Json::parse(*text));
    EXPECT_EQ(decision->spec->file_name(), "snug.dev-gpu_u-1_main.json");
  }
}

TEST(CdiWriterTest, OddNamesOfFilesStayValidJson) {
  CdiSpec spec = small_spec();
  spec.mounts[0].host_path = "/a\"\\\n\xff";
  const auto text = agent_codec::write_cdi_spec(spec);
  ASSERT_TRUE(text);
  expect_valid(Json::parse(*text));
}

TEST(CdiWriterTest, ASpecificationThatIsTooLongIsRefused) {
  CdiSpec spec = small_spec();
  spec.mounts.assign(5'000, {std::string(100, 'a'), "/b"});
  const auto text = agent_codec::write_cdi_spec(spec);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, base::ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace snug::agent::testing
