#include "snug/request/near_misses.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "request/annotation_keys.hpp"
#include "request/malformed.hpp"
#include "snug/base/limits.hpp"
#include "snug/model/model_patterns.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/request/pod_request_parser.hpp"

namespace snug::request {
namespace {

/// Keys of other systems, from their own documentation and code.
struct OtherSystemRow {
  std::string_view key;  // the whole key; a final `*` stands for any end
  bool resource = false;
  std::string_view system;
  std::string_view instead;
};
constexpr std::string_view kUseFraction = "the annotation gpu-fraction (0.25, or a whole number)";
constexpr std::string_view kUseMemory = "the annotation gpu-memory (4Gi, or a number of MiB)";
constexpr std::string_view kUseShare = "the annotation gpu-fraction (0.25) or gpu-memory (4Gi)";
constexpr std::string_view kUseCompute =
    "the annotation gpu-compute (percent) beside gpu-fraction or gpu-memory";
constexpr std::string_view kUseModel = "the annotation gpu-model (A100*)";
constexpr std::string_view kUseIsolation =
    "the annotation gpu-isolation (time-slicing, mps or mig)";
constexpr auto kOtherSystems = std::to_array<OtherSystemRow>({
    {"nvidia.com/gpumem", true, "HAMi", kUseMemory},
    {"nvidia.com/gpumem-percentage", true, "HAMi", kUseFraction},
    {"nvidia.com/gpucores", true, "HAMi", kUseCompute},
    {"nvidia.com/vgpu-memory", true, "vgpu-manager", kUseMemory},
    {"nvidia.com/vgpu-cores", true, "vgpu-manager", kUseCompute},
    {"nvidia.com/vgpu-number", true, "vgpu-manager", kUseShare},
    {"aliyun.com/gpu-mem", true, "gpushare", kUseMemory},
    {"volcano.sh/vgpu-memory*", true, "Volcano", kUseMemory},
    {"volcano.sh/vgpu-cores", true, "Volcano", kUseCompute},
    {"volcano.sh/vgpu-number", true, "Volcano", kUseShare},
    {"volcano.sh/gpu-*", true, "Volcano", kUseShare},
    {"koordinator.sh/gpu-core", true, "Koordinator", kUseCompute},
    {"koordinator.sh/gpu-memory", true, "Koordinator", kUseMemory},
    {"koordinator.sh/gpu*", true, "Koordinator", kUseFraction},
    {"elasticgpu.io/gpu-*", true, "Elastic GPU", kUseShare},
    {"elasticgpu.com/gpu-*", true, "Elastic GPU", kUseShare},
    {"tke.cloud.tencent.com/qgpu-*", true, "qGPU", kUseShare},
    {"k8s.amazonaws.com/vgpu", true, "the AWS virtual GPU plug-in", kUseShare},
    {"nvshare.com/gpu", true, "nvshare", kUseFraction},
    {"nvidia.com/use-gputype", false, "HAMi", kUseModel},
    {"nvidia.com/nouse-gputype", false, "HAMi", kUseModel},
    {"nvidia.com/vgpu-mode", false, "HAMi", kUseIsolation},
    {"nvidia.com/container.*", false, "KAI Scheduler", "the annotation gpu-memory.<container>"},
    {"kai.scheduler/container.*", false, "KAI Scheduler", "the annotation gpu-memory.<container>"},
    {"kai.scheduler/gpu-compute-sharing-mode", false, "KAI Scheduler", kUseIsolation},
});

/// Names that people expect after `gpu-`, too far from the right ones to be found as misspellings.
struct OtherNameRow {
  std::string_view name;
  std::string_view meant;
};
constexpr auto kOtherNames = std::to_array<OtherNameRow>({{"mem", "gpu-memory"},
                                                          {"share", "gpu-fraction"},
                                                          {"portion", "gpu-fraction"},
                                                          {"percent", "gpu-compute"},
                                                          {"cores", "gpu-compute"},
                                                          {"num", "gpu-count"},
                                                          {"number", "gpu-count"},
                                                          {"type", "gpu-model"},
                                                          {"product", "gpu-model"},
                                                          {"profile", "gpu-mig-profile"},
                                                          {"mig", "gpu-mig-profile"}});

/// Not a limit: a longer name resembles no key, since the longest key has 15 bytes.
constexpr std::size_t kMaxComparedBytes = 64;

/// A short key has many neighbours that mean something else.
constexpr std::size_t most_edits(std::string_view known_key) {
  constexpr std::size_t kShortKey = 9;
  return known_key.size() <= kShortKey ? 1 : 2;
}

const OtherSystemRow* find_other_system(std::string_view key, bool resource) {
  const auto matches = [&](const OtherSystemRow& row) {
    if (row.resource != resource) return false;
    return row.key.ends_with('*') ? key.starts_with(row.key.substr(0, row.key.size() - 1))
                                  : key == row.key;
  };
  const auto row = std::ranges::find_if(kOtherSystems, matches);
  return row == kOtherSystems.end() ? nullptr : &*row;
}

bool is_of_other_system(std::string_view key) {
  return find_other_system(key, false) != nullptr || find_other_system(key, true) != nullptr;
}

/// The number of bytes to insert, delete, replace or swap with the next one, to make `a` into `b`.
/// Texts above kMaxComparedBytes are cut.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxComparedBytes);
  b = b.substr(0, kMaxComparedBytes);
  using Row = std::array<std::size_t, kMaxComparedBytes + 1>;
  Row before{};
  Row previous{};
  Row current{};
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      current[j] = std::min(
          {previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    before = previous;
    previous = current;
  }
  return previous[b.size()];
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// The key without its domain and container, in lower case, with `-` for `_`.
std::string plain_name(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  if (slash != std::string_view::npos) key.remove_prefix(slash + 1);
  key = key.substr(0, key.find('.'));
  std::string name;
  for (const char c : key) name += c == '_' ? '-' : lower(c);
  return name;
}

/// The key that the author of `key` may have meant; empty: none is near.
std::string_view nearest_key(std::string_view key) {
  const std::string name = plain_name(key);
  if (!name.starts_with("gp") || name.size() > kMaxComparedBytes) return {};
  constexpr std::string_view kPrefix = "gpu-";
  if (name.starts_with(kPrefix)) {
    const auto other_name = std::ranges::find(
        kOtherNames, std::string_view(name).substr(kPrefix.size()), &OtherNameRow::name);
    if (other_name != kOtherNames.end()) return other_name->meant;
  }
  std::string_view nearest;
  std::size_t fewest_edits = kMaxComparedBytes;
  for (const std::string_view known : request_keys()) {
    const std::size_t edits = edit_distance(name, known);
    if (edits > most_edits(known) || edits >= fewest_edits) continue;
    fewest_edits = edits;
    nearest = known;
  }
  return nearest;
}

std::string misspelling(std::string_view key, std::string_view meant) {
  return "Snug does not read the annotation " + shown(key) + "; if the pod needs a GPU, use " +
         std::string(meant);
}

std::string other_system(const OtherSystemRow& row, std::string_view key, std::string_view value) {
  return std::string(row.resource ? "the resource " : "the annotation ") + shown(key) + " (\"" +
         shown(value) + "\") is one of " + std::string(row.system) +
         ", which Snug does not read; expected " + std::string(row.instead);
}

/// Collects at most base::kMaxNearMisses.
class Findings {
 public:
  void add(std::string sentence, bool of_other_system) {
    if (found_.size() < base::kMaxNearMisses)
      found_.push_back({std::move(sentence), of_other_system});
  }
  std::vector<NearMiss> take() { return std::move(found_); }

 private:
  std::vector<NearMiss> found_;
};

void find_misspellings(const model::StringMap& annotations, Findings& findings) {
  for (const auto& [key, value] : annotations) {
    if (is_request_key(key) || is_of_other_system(key)) continue;
    const std::string_view meant = nearest_key(key);
    if (!meant.empty()) findings.add(misspelling(key, meant), false);
  }
}

void find_labels(const model::PodFacts& pod, Findings& findings) {
  for (auto label = pod.labels.lower_bound("gpu-");
       label != pod.labels.end() && label->first.starts_with("gpu-"); ++label) {
    if (!is_request_key(label->first) || pod.annotations.contains(label->first)) continue;
    findings.add("the pod has the label " + shown(label->first) + " (\"" + shown(label->second) +
                     "\"), and Snug reads labels only in the rules of a policy; expected it as an "
                     "annotation, under metadata.annotations",
                 false);
  }
}

void find_other_resources(const model::StringMap& resources, Findings& findings) {
  for (const auto& [name, value] : resources) {
    const OtherSystemRow* row = find_other_system(name, true);
    if (row != nullptr) findings.add(other_system(*row, name, value), true);
  }
}

void find_other_annotations(const model::StringMap& annotations, Findings& findings) {
  for (const auto& [key, value] : annotations) {
    const OtherSystemRow* row = find_other_system(key, false);
    if (row != nullptr) findings.add(other_system(*row, key, value), true);
  }
}

}  // namespace

std::vector<NearMiss> near_misses(const model::PodFacts& pod) {
  Findings findings;
  find_misspellings(pod.annotations, findings);
  find_misspellings(pod.stray_keys, findings);
  find_labels(pod, findings);
  for (const model::ContainerFacts& container : pod.containers)
    find_other_resources(container.gpu_resources, findings);
  find_other_resources(pod.stray_keys, findings);
  find_other_annotations(pod.stray_keys, findings);
  return findings.take();
}

std::string unmatched_models(const model::GpuRequest& request,
                             std::span<const std::string> models) {
  if (models.empty()) return {};
  for (const model::ContainerRequest& container : request.containers) {
    const std::vector<std::string>& patterns = container.models.included;
    const bool is_matched = patterns.empty() || std::ranges::any_of(models, [&](const auto& name) {
                              return model::ModelMatcher(name).matches_any(patterns);
                            });
    if (is_matched) continue;
    std::string plain;  // the first pattern without wildcards
    for (const char c : patterns.front()) {
      if (c != '*' && c != '?') plain += lower(c);
    }
    std::vector<std::pair<std::size_t, std::string_view>> by_distance;
    for (const std::string& name : models) {
      std::string lower_name(name);
      std::ranges::transform(lower_name, lower_name.begin(), lower);
      by_distance.emplace_back(edit_distance(plain, lower_name), name);
    }
    std::ranges::sort(by_distance);
    const auto last = std::ranges::unique(by_distance).begin();
    by_distance.erase(last, by_distance.end());
    constexpr std::size_t kShownModels = 5;
    std::string names;
    for (std::size_t i = 0; i < std::min(kShownModels, by_distance.size()); ++i)
      names.append(names.empty() ? "" : ", ").append(shown(by_distance[i].second));
    return "no GPU of the cluster is of a model that gpu-model (\"" + shown(patterns.front()) +
           (patterns.size() > 1 ? ",…" : "") + "\") names; the models here are " + names +
           (by_distance.size() > kShownModels ? " and others" : "");
  }
  return {};
}

bool is_stray_annotation(std::string_view key) {
  if (key.starts_with("gpu-") || key.size() > base::kMaxStrayKeyBytes) return false;
  if (is_of_other_system(key)) return find_other_system(key, false) != nullptr;
  const std::size_t slash = key.rfind('/');
  const std::size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
  if (key.size() < begin + 3 || lower(key[begin]) != 'g' || lower(key[begin + 1]) != 'p')
    return false;
  return !nearest_key(key).empty();
}

bool is_stray_resource(std::string_view name) { return find_other_system(name, true) != nullptr; }

}  // namespace snug::request
