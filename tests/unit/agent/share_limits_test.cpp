// What a container with shares gets, by the mode of its devices and the node's enforcer.
#include "snug/agent/share_limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "unit/agent/gpu_node.hpp"

namespace snug::agent::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using enum model::GpuMode;
using Limits = model::ShareLimits;
using Env = std::vector<std::pair<std::string, std::string>>;

model::ReservedDevice share(int index, const std::string& uuid, model::GpuMode mode,
                            std::int64_t memory = 3815, std::int32_t milli = 309) {
  return {.index = index, .uuid = uuid, .mode = mode, .memory = {memory}, .compute = {milli}};
}

ShareSettings settings(Limits limits) {
  return {.limits = limits, .allows_mps = true, .mps_root = "/run/m", .hami_core = "/opt/hami"};
}

std::vector<std::string> texts(const std::vector<MountView>& mounts) {
  std::vector<std::string> lines;
  for (const MountView& mount : mounts) {
    std::string line = mount.type + " " + mount.source + " " + mount.destination;
    for (const std::string& option : mount.options) line += "," + option;
    lines.push_back(line);
  }
  return lines;
}

const std::vector<std::string> kMpsMounts = {
    "bind /run/m/GPU-a/pipe /run/m/GPU-a/pipe,rbind,rw,nosuid,nodev",
    "bind /run/m/GPU-a/pipe /tmp/nvidia-mps,rbind,rw,nosuid,nodev",
    "bind /run/m/shm /dev/shm,rbind,rw,nosuid,nodev"};
const std::vector<std::string> kHamiMounts = {
    "bind /opt/hami/libvgpu.so /usr/local/vgpu/libvgpu.so,rbind,ro,nosuid,nodev",
    "bind /opt/hami/ld.so.preload /etc/ld.so.preload,rbind,ro,nosuid,nodev",
    "tmpfs tmpfs /tmp/vgpulock,rw,nosuid,nodev,noexec,mode=1777,size=16m"};
const Env kPipe = {{"CUDA_MPS_PIPE_DIRECTORY", "/run/m/GPU-a/pipe"}};

Env mps_env(const std::string& memory, const std::string& percent) {
  Env env = kPipe;
  env.emplace_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", memory);
  env.emplace_back("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", percent);
  return env;
}

Env hami_env(std::vector<std::string> memory, const std::string& percent) {
  Env env;
  for (std::size_t i = 0; i < memory.size(); ++i)
    env.emplace_back("CUDA_DEVICE_MEMORY_LIMIT_" + std::to_string(i), memory[i]);
  env.emplace_back("CUDA_DEVICE_SM_LIMIT", percent);
  env.emplace_back("CUDA_DEVICE_MEMORY_SHARED_CACHE", "/tmp/vgpulock/cache");
  env.emplace_back("GPU_CORE_UTILIZATION_POLICY", "FORCE");
  return env;
}

struct AdditionsRow {
  std::string_view name;
  Limits limits;
  std::vector<model::ReservedDevice> reserved;
  Env env;
  std::vector<std::string> mounts;
};

TEST(ShareLimitsTest, TheModeAndTheEnforcerDecideWhatAContainerGets) {
  const auto mps = share(0, "GPU-a", kMps);
  const auto sliced = share(0, "GPU-a", kTimeSlicing);
  const std::vector<AdditionsRow> rows = {
      {"mps, without limits", Limits::kNone, {mps}, kPipe, kMpsMounts},
      {"mps, limited by the driver", Limits::kDriver, {mps}, kPipe, kMpsMounts},
      {"mps, where HAMi-core limits others", Limits::kHamiCore, {mps}, kPipe, kMpsMounts},
      {"mps", Limits::kMps, {mps}, mps_env("0=3815M", "30"), kMpsMounts},
      {"mps, by index", Limits::kMps, {share(0, "", kMps)}, mps_env("0=3815M", "30"), kMpsMounts},
      {"mps, a tiny share",
       Limits::kMps,
       {share(0, "GPU-a", kMps, 1, 9)},
       mps_env("0=1M", "1"),
       kMpsMounts},
      {"mps, a whole GPU as a share",
       Limits::kMps,
       {share(0, "GPU-a", kMps, 40960, 1000)},
       mps_env("0=40960M", "100"),
       kMpsMounts},
      {"time-slicing without limits", Limits::kNone, {sliced}, {}, {}},
      {"time-slicing beside mps", Limits::kMps, {sliced}, {}, {}},
      {"time-slicing and the driver", Limits::kDriver, {sliced}, {}, {}},
      {"time-slicing and HAMi-core",
       Limits::kHamiCore,
       {sliced},
       hami_env({"3815m"}, "30"),
       kHamiMounts},
      {"two, in the order of their indices now, the least compute",
       Limits::kHamiCore,
       {share(0, "GPU-b", kTimeSlicing, 2000, 250), share(1, "GPU-a", kTimeSlicing, 1000, 500)},
       hami_env({"1000m", "2000m"}, "25"),
       kHamiMounts},
      {"whole", Limits::kHamiCore, {whole(0, "GPU-a")}, {}, {}},
      {"a slice", Limits::kHamiCore, {slice("1g.5gb", 0)}, {}, {}},
      {"a GPU that is not there", Limits::kMps, {share(0, "GPU-x", kMps)}, {}, {}},
  };
  for (const AdditionsRow& row : rows) {
    SCOPED_TRACE(row.name);
    const auto additions = share_additions(row.reserved, three_gpus(), settings(row.limits), {});
    ASSERT_TRUE(additions) << additions.error();
    EXPECT_EQ(additions->env, row.env);
    EXPECT_EQ(texts(additions->mounts), row.mounts);
  }
}

TEST(ShareLimitsTest, AContainerUsesOneMpsDaemonAtMost) {
  const auto mps = share(0, "GPU-a", kMps);
  const std::vector<model::ReservedDevice> sets[] = {{mps, share(1, "GPU-b", kMps)},
                                                     {mps, share(1, "GPU-b", kTimeSlicing)}};
  for (const auto& set : sets) {
    const auto additions = share_additions(set, three_gpus(), settings(Limits::kMps), {});
    ASSERT_FALSE(additions);
    EXPECT_THAT(additions.error(), HasSubstr("the MPS daemon of one GPU only"));
  }
  ShareSettings without = settings(Limits::kNone);
  without.allows_mps = false;
  EXPECT_THAT(share_additions(std::vector{mps}, three_gpus(), without, {}).error(),
              HasSubstr("--modes of snug-agent on this node does not have mps"));
}

const std::string kOwnNamespace = "0123456789ab";

/// A ready daemon of GPU-a with the protocol 3.
MpsDaemons with_namespaces(std::map<std::string, std::string, std::less<>> namespaces) {
  return {.states = {{"GPU-a", {mps::DaemonPhase::kReady, {}, std::move(namespaces)}}},
          .problem = {}};
}

TEST(ShareLimitsTest, WithNamespacesTheContainerSeesItsOwnAlone) {
  const std::vector mps = {share(0, "GPU-a", kMps, 100, 500)};
  const MpsDaemons daemons = with_namespaces({{kOwnNamespace, ""}, {"ffffffffffff", ""}});
  const auto additions =
      share_additions(mps, three_gpus(), settings(Limits::kMps), {kOwnNamespace, &daemons});
  ASSERT_TRUE(additions) << additions.error();
  const std::string folder = "/run/m/GPU-a/pipe/snug/0123456789ab";
  const std::string bind = "bind " + folder + " ";
  const std::string options = ",rbind,rw,nosuid,nodev";
  EXPECT_THAT(texts(additions->mounts),
              ElementsAre(bind + folder + options, bind + "/tmp/nvidia-mps" + options,
                          kMpsMounts.back(), bind + "/run/nvidia-mps" + options));
  Env env = mps_env("0=100M", "50");
  env.front().second = folder;
  EXPECT_EQ(additions->env, env) << "the limits of the namespace and the variables hold";
}

TEST(ShareLimitsTest, TheLimitsOfANamespaceAreThoseOfTheVariables) {
  const auto reserved = share(0, "GPU-a", kMps, 3815, 305);
  EXPECT_EQ(namespace_limits(reserved, Limits::kMps), (mps::NamespaceLimits{{3815}, 30}));
  EXPECT_EQ(namespace_limits(share(0, "GPU-a", kMps, 0, 0), Limits::kMps),
            (mps::NamespaceLimits{{1}, 1}));
  for (const Limits enforcer : {Limits::kNone, Limits::kDriver, Limits::kHamiCore})
    EXPECT_EQ(namespace_limits(reserved, enforcer), std::nullopt);
}

struct DaemonRow {
  std::string problem;  // a part of it; empty: none
  MpsDaemons daemons;
  std::vector<model::ReservedDevice> reserved;
};

TEST(ShareLimitsTest, AContainerWaitsForTheDaemonOfItsOwnGpu) {
  const auto of = [](mps::DaemonPhase phase, const std::string& reason = {}) {
    return MpsDaemons{.states = {{"GPU-a", {phase, reason}}}};
  };
  const std::vector mps = {share(0, "GPU-a", kMps)};
  const std::vector<DaemonRow> rows = {
      {"", of(mps::DaemonPhase::kReady), mps},
      {"is starting", of(mps::DaemonPhase::kStarting), mps},
      {"\"GPU-a\" failed: no memory", of(mps::DaemonPhase::kFailed, "no memory"), mps},
      {"has not been started; if this lasts, snug-mps does not run", {}, mps},
      {"has not been started", of(mps::DaemonPhase::kReady), {share(1, "GPU-b", kMps)}},
      {"is unknown: no folder", {.states = {}, .problem = "no folder"}, mps},
      {"", of(mps::DaemonPhase::kFailed), {share(0, "GPU-a", kTimeSlicing)}},
      {"", with_namespaces({{kOwnNamespace, ""}, {"ffffffffffff", "no room"}}), mps},
      {"makes a namespace for the container", with_namespaces({{"ffffffffffff", ""}}), mps},
      {"cannot make a namespace for the container: no room",
       with_namespaces({{kOwnNamespace, "no room"}}), mps},
      {"", {.states = {}, .problem = "no folder"}, {whole(0, "GPU-a")}},
  };
  for (const DaemonRow& row : rows) {
    const std::string problem =
        daemon_problem(row.reserved, three_gpus(), {kOwnNamespace, &row.daemons});
    EXPECT_THAT(problem, HasSubstr(row.problem));
    EXPECT_EQ(problem.empty(), row.problem.empty()) << problem;
  }
}

TEST(ShareLimitsTest, TheDriverLimitsSharesByTheUuidOfTheirGpu) {
  const std::vector reserved = {share(1, "GPU-b", kTimeSlicing, 10),
                                share(0, "", kMps, 20),
                                share(0, "GPU-a", kTimeSlicing, 30),
                                whole(1, "GPU-b"),
                                slice("1g.5gb", 0),
                                share(0, "GPU-x", kMps)};
  EXPECT_THAT(memory_limits(reserved, three_gpus()),
              ElementsAre(MemoryLimit{"GPU-a", {50}}, MemoryLimit{"GPU-b", {10}}));
}

/// A container with a share in the mode mps of a node whose enforcer is MPS.
struct MpsCase : Case {
  ShareSettings shares = settings(Limits::kMps);
  MpsDaemons daemons{.states = {{"GPU-a", {mps::DaemonPhase::kReady, {}}}}};

  MpsCase() { reserve({share(0, "GPU-a", kMps)}); }
  [[nodiscard]] NodeInput node() const {
    return {"n1", devices, files, exemptions, &shares, &daemons};
  }
  [[nodiscard]] auto decide() const { return decide_container(input(), node()); }
  [[nodiscard]] auto validate(const Adjustment& all) const {
    return validate_container(input(), all, node());
  }
};

TEST(ShareLimitsTest, TheAdjustmentHasTheAdditionsWhateverTheAuthorSets) {
  MpsCase c;
  c.container.env.emplace_back("CUDA_MPS_PIPE_DIRECTORY=/mine");
  c.container.env.emplace_back("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100");
  c.container.mounts = {{.source = "/shm", .destination = "/dev/shm"},
                        {.source = "/mine", .destination = "/tmp"}};
  const auto decision = c.decide();
  ASSERT_TRUE(decision) << decision.error().sentence;
  EXPECT_EQ(texts(decision->adjustment.mounts), kMpsMounts);
  EXPECT_THAT(decision->adjustment.env, ::testing::IsSupersetOf(mps_env("0=3815M", "30")));
  EXPECT_TRUE(c.validate(decision->adjustment));
}

TEST(ShareLimitsTest, AnotherMountInTheSamePlaceIsRefused) {
  for (const char* place :
       {"/dev//shm", "/dev/x/../shm", "/dev/shm//x", "/dev/shm/cache", "/tmp/nvidia-mps/log"}) {
    MpsCase c;
    c.container.mounts = {{.source = "/mine", .destination = place}};
    const auto decision = c.decide();
    ASSERT_FALSE(decision) << place;
    EXPECT_THAT(decision.error().sentence, HasSubstr(std::string("its mount at \"") + place));
    EXPECT_FALSE(decision.error().retry);
  }
  for (const char* place : {"/dev/shm2", "/dev", "/tmp/nvidia-mps2"}) {
    MpsCase c;
    c.container.mounts = {{.source = "/mine", .destination = place}};
    EXPECT_TRUE(c.decide()) << place;
  }
}

TEST(ShareLimitsTest, AMountInTheSamePlaceIsReplacedAlsoIfItIsWrittenWithASlashAtItsEnd) {
  for (const char* place : {"/dev/shm", "/dev/shm/", "/dev/shm//"}) {
    MpsCase c;
    c.container.mounts = {{.source = "/mine", .destination = place}};
    const auto decision = c.decide();
    ASSERT_TRUE(decision) << place << decision.error().sentence;
    EXPECT_EQ(decision->adjustment.mounts.back().destination, place);
    EXPECT_EQ(decision->adjustment.mounts.back().source, "/run/m/shm");
    EXPECT_TRUE(c.validate(decision->adjustment)) << place;
    Adjustment other = decision->adjustment;
    other.mounts.back().destination = "/dev/./shm";
    EXPECT_FALSE(c.validate(other)) << place;
  }
  MpsCase twice;
  twice.container.mounts = {{.source = "/mine", .destination = "/dev/shm/"},
                            {.source = "/other", .destination = "/dev/shm"}};
  EXPECT_FALSE(twice.decide()) << "one of them would stay";
}

TEST(ShareLimitsTest, AContainerIsRefusedUntilItsDaemonIsReady) {
  MpsCase c;
  c.daemons.states.clear();
  const auto refused = c.decide();
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().retry);
  EXPECT_THAT(refused.error().sentence,
              AllOf(HasSubstr("container \"main\" of the pod ml/train"), HasSubstr("snug-mps")));
  c.reserve({share(0, "GPU-a", kMps), share(1, "GPU-b", kMps)});
  EXPECT_FALSE(c.decide().error().retry) << "the pod must change";
}

TEST(ShareLimitsTest, OtherPlugInsMayNotChangeTheAdditions) {
  const std::function<void(Adjustment&)> changes[] = {
      [](Adjustment& a) { a.mounts.pop_back(); },
      [](Adjustment& a) { a.mounts[0].source = "/elsewhere"; },
      [](Adjustment& a) { a.mounts[1].options[1] = "ro"; },
      [](Adjustment& a) { a.mounts.push_back({.source = "/x", .destination = "/dev/shm/x"}); },
      [](Adjustment& a) { a.env.emplace_back("-CUDA_MPS_PIPE_DIRECTORY", ""); },
      [](Adjustment& a) { a.env.emplace_back("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "100"); },
      [](Adjustment& a) { a.env.pop_back(); },
  };
  const MpsCase c;
  const Adjustment mine = c.decide()->adjustment;
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    Adjustment all = mine;
    changes[i](all);
    const auto verdict = c.validate(all);
    ASSERT_FALSE(verdict) << i;
    EXPECT_THAT(verdict.error().sentence, HasSubstr("which limits its share of a GPU")) << i;
  }
  Adjustment all = mine;
  all.mounts.push_back({.source = "/x", .destination = "/data"});
  all.env.emplace_back("OTHER", "x");
  EXPECT_TRUE(c.validate(all));
}

TEST(ShareLimitsTest, OnlyReservedContainersHaveLimitsAtTheStart) {
  MpsCase c;
  EXPECT_THAT(*limits_at_start(c.input(), c.node()), ElementsAre(MemoryLimit{"GPU-a", {3815}}));
  c.reservation.reset();
  EXPECT_THAT(*limits_at_start(c.input(), c.node()), IsEmpty());
  c.pod.reset();
  c.container.env = {"NVIDIA_VISIBLE_DEVICES=all"};
  EXPECT_FALSE(limits_at_start(c.input(), c.node())) << "its role is not known";
}

}  // namespace
}  // namespace snug::agent::testing
