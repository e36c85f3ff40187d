#include "snug/request/near_misses.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "request/annotation_keys.hpp"
#include "request/malformed.hpp"
#include "snug/base/limits.hpp"
#include "snug/model/model_patterns.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/request/other_systems.hpp"
#include "snug/request/pod_request_parser.hpp"

namespace snug::request {
namespace {

constexpr std::string_view kUseFraction = "the annotation gpu-fraction (0.25, or a whole number)";
constexpr std::string_view kUseMemory = "the annotation gpu-memory (4Gi, or a number of MiB)";
constexpr std::string_view kUseShare = "the annotation gpu-fraction (0.25) or gpu-memory (4Gi)";
constexpr std::string_view kUseContainerMemory = "the annotation gpu-memory.<container>";
constexpr std::string_view kUseCompute =
    "the annotation gpu-compute (percent) beside gpu-fraction or gpu-memory";
constexpr std::string_view kUseModel = "the annotation gpu-model (A100*)";
constexpr std::string_view kUseIsolation =
    "the annotation gpu-isolation (time-slicing, mps or mig)";

/// Keys of other systems besides the names of kResourceForms.
struct OtherKeyRow {
  std::string_view key;
  std::string_view system;
  std::string_view instead;
  bool is_beginning = false;  // whether `key` stands for all keys that begin with it
};
constexpr auto kOtherResources = std::to_array<OtherKeyRow>({
    {"volcano.sh/gpu-", "Volcano", kUseShare, true},
    {"koordinator.sh/gpu-memory", "Koordinator", kUseMemory},
    {"koordinator.sh/gpu", "Koordinator", kUseFraction, true},
    {"elasticgpu.io/gpu-", "Elastic GPU", kUseShare, true},
    {"elasticgpu.com/gpu-", "Elastic GPU", kUseShare, true},
    {"tke.cloud.tencent.com/qgpu-", "qGPU", kUseShare, true},
    {"k8s.amazonaws.com/vgpu", "the AWS virtual GPU plug-in", kUseShare},
    {"nvshare.com/gpu", "nvshare", kUseFraction},
});
constexpr auto kOtherAnnotations = std::to_array<OtherKeyRow>({
    {"nvidia.com/use-gputype", "HAMi", kUseModel},
    {"nvidia.com/nouse-gputype", "HAMi", kUseModel},
    {"nvidia.com/vgpu-mode", "HAMi", kUseIsolation},
    {kKaiContainerPrefix, "KAI Scheduler", kUseContainerMemory, true},
    {"kai.scheduler/container.", "KAI Scheduler", kUseContainerMemory, true},
    {"kai.scheduler/gpu-compute-sharing-mode", "KAI Scheduler", kUseIsolation},
});

/// Names that people expect after `gpu-`, too far from the right ones to be found as misspellings.
/// They count only in keys without a domain: with a domain, they have another meaning to somebody.
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

/// The system that reads a key, and what to write for Snug.
struct OtherSystem {
  std::string_view system;
  std::string_view instead;
};

std::optional<OtherSystem> find_row(std::span<const OtherKeyRow> rows, std::string_view key) {
  const auto row = std::ranges::find_if(rows, [&](const OtherKeyRow& each) {
    return each.is_beginning ? key.starts_with(each.key) : key == each.key;
  });
  if (row == rows.end()) return std::nullopt;
  return OtherSystem{row->system, row->instead};
}

std::optional<OtherSystem> find_other_annotation(std::string_view key) {
  return find_row(kOtherAnnotations, key);
}

std::optional<OtherSystem> find_other_resource(std::string_view name) {
  if (name.empty() || is_kubelet_gpu_resource(name)) return std::nullopt;
  for (const ResourceForm& form : kResourceForms) {
    if (name == form.count) return OtherSystem{form.system, kUseShare};
    if (name == form.memory) return OtherSystem{form.system, kUseMemory};
    if (name == form.percentage) return OtherSystem{form.system, kUseFraction};
    if (name == form.compute) return OtherSystem{form.system, kUseCompute};
  }
  return find_row(kOtherResources, name);
}

bool is_of_other_system(std::string_view key) {
  return find_other_annotation(key) || find_other_resource(key);
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

/// The domain of a key; empty: it has none.
std::string_view domain_of(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
}

/// The key without its domain and container, in lower case, with `-` for `_`.
std::string plain_name(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  if (slash != std::string_view::npos) key.remove_prefix(slash + 1);
  key = key.substr(0, key.find('.'));
  std::string name;
  for (const char c : key) name += c == '_' ? '-' : lower(c);
  return name;
}

/// The key that the author of `key` may have meant; empty: none is near, or base::kMaxComparedKeys
/// are already `compared`, to which a comparison adds one. A key with the domain of somebody else
/// is right as it is.
std::string_view nearest_key(std::string_view key, std::size_t& compared) {
  if (compared >= base::kMaxComparedKeys) return {};
  const std::string_view domain = domain_of(key);
  if (!domain.empty() && domain != "snug.dev" && domain != "nvidia.com") return {};
  const std::string name = plain_name(key);
  if (!name.starts_with("gp") || name.size() > kMaxComparedBytes) return {};
  constexpr std::string_view kPrefix = "gpu-";
  if (domain.empty() && name.starts_with(kPrefix)) {
    const auto other_name = std::ranges::find(
        kOtherNames, std::string_view(name).substr(kPrefix.size()), &OtherNameRow::name);
    if (other_name != kOtherNames.end()) return other_name->meant;
  }
  ++compared;
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

/// `kind`: of the key, a resource or an annotation.
std::string other_system(std::string_view kind, const model::StringMap::value_type& entry,
                         const OtherSystem& other) {
  return "the " + std::string(kind) + " " + shown(entry.first) + " (\"" + shown(entry.second) +
         "\") belongs to " + std::string(other.system) + ", and Snug does not read it; use " +
         std::string(other.instead);
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
  std::size_t compared = 0;
  for (const auto& [key, value] : annotations) {
    if (compared >= base::kMaxComparedKeys) return;
    if (is_request_key(key) || is_of_other_system(key)) continue;
    const std::string_view meant = nearest_key(key, compared);
    if (!meant.empty()) findings.add(misspelling(key, meant), false);
  }
}

void find_labels(const model::PodFacts& pod, Findings& findings) {
  for (auto label = pod.labels.lower_bound("gpu-");
       label != pod.labels.end() && label->first.starts_with("gpu-"); ++label) {
    if (!is_request_key(label->first) || pod.annotations.contains(label->first)) continue;
    findings.add(shown(label->first) + " (\"" + shown(label->second) +
                     "\") is a label of this pod, and Snug reads it only as an annotation, under "
                     "metadata.annotations",
                 false);
  }
}

void find_other_resources(const model::StringMap& resources, Findings& findings) {
  for (const auto& resource : resources) {
    if (const auto other = find_other_resource(resource.first))
      findings.add(other_system("resource", resource, *other), true);
  }
}

void find_other_annotations(const model::StringMap& annotations, Findings& findings) {
  for (const auto& annotation : annotations) {
    if (const auto other = find_other_annotation(annotation.first))
      findings.add(other_system("annotation", annotation, *other), true);
  }
}

/// A pattern that matches a model because it accepts more around the same text; empty: there is
/// none.
std::string wider_pattern(std::string_view pattern, std::span<const std::string> models) {
  const std::string open_end = std::string(pattern) + "*";
  for (const std::string& wider : {open_end, "*" + open_end}) {
    if (std::ranges::any_of(models, [&](const std::string& model) {
          return model::ModelMatcher(model).matches(wider);
        }))
      return wider;
  }
  return {};
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
  // The binding of a pod with a reservation may have some (codec/enforcer_annotations).
  if (!pod.annotations.contains("snug.dev/reservation"))
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
    const std::string wider = wider_pattern(patterns.front(), models);
    return "no GPU in the cluster matches gpu-model \"" + shown(patterns.front()) +
           (patterns.size() > 1 ? ",…" : "") + "\"; " +
           (wider.empty() ? "" : "\"" + shown(wider) + "\" would match; ") + "the models are " +
           names + (by_distance.size() > kShownModels ? " and others" : "");
  }
  return {};
}

bool is_stray_annotation(std::string_view key, std::size_t& compared) {
  if (key.starts_with("gpu-") || key.size() > base::kMaxStrayKeyBytes) return false;
  if (is_of_other_system(key)) return find_other_annotation(key).has_value();
  const std::size_t slash = key.rfind('/');
  const std::size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
  if (key.size() < begin + 3 || lower(key[begin]) != 'g' || lower(key[begin + 1]) != 'p')
    return false;
  return !nearest_key(key, compared).empty();
}

bool is_stray_resource(std::string_view name) { return find_other_resource(name).has_value(); }

}  // namespace snug::request
