{{/* Values that contradict each other. What a single value may be: values.schema.json. */}}
{{- define "snug.check" -}}
{{- $dedicated := eq .Values.shape "dedicated" }}
{{- $monitoring := .Values.monitoring }}
{{- if ne .Release.Namespace "snug" }}
{{- fail "Snug runs in the namespace snug, where all of its parts look for each other: add --namespace snug" }}
{{- else if and $dedicated (eq .Values.scheduler.name "default-scheduler") }}
{{- fail "scheduler.name: default-scheduler is the cluster's own scheduler: choose another name, or the shape shared" }}
{{- else if and (include "snug.webhook" .) (not .Values.admission.tolerations) }}
{{- fail "admission.tolerations: the webhook adds at least one toleration" }}
{{- else if and (has "Warn" .Values.admission.deviceNames) (has "Deny" .Values.admission.deviceNames) }}
{{- fail "admission.deviceNames: Warn and Deny cannot stand together: choose [Warn, Audit], [Audit], [Deny] or [Deny, Audit]" }}
{{- else if and (not $dedicated) (not .Values.nodes) }}
{{- fail "nodes: name the control-plane nodes, which the shape shared needs" }}
{{- else if ne (not .Values.mirror.smallestGpuMib) (not .Values.mirror.largestGpuMib) }}
{{- fail "mirror: set both mirror.smallestGpuMib and mirror.largestGpuMib, or neither" }}
{{- else if gt (int .Values.mirror.smallestGpuMib) (int .Values.mirror.largestGpuMib) }}
{{- fail "mirror.smallestGpuMib must be at most mirror.largestGpuMib" }}
{{- else if and .Values.admission.managedResourcesOnly (not $dedicated) (not (include "snug.mirrors" .)) }}
{{- fail "admission.managedResourcesOnly would refuse every pod with GPU annotations: set mirror.smallestGpuMib and mirror.largestGpuMib too" }}
{{- else if and (eq .Values.adminAuth "token") (not .Values.adminTokenSecret) }}
{{- fail "adminAuth: token needs a token: name its Secret in adminTokenSecret" }}
{{- else if and $monitoring.serviceMonitor $monitoring.podMonitor }}
{{- fail "monitoring.serviceMonitor and monitoring.podMonitor scrape the same ports, and every series would be there twice: choose one" }}
{{- else if and (or $monitoring.serviceMonitor $monitoring.podMonitor) (not $dedicated) }}
{{- fail "monitoring.serviceMonitor and monitoring.podMonitor find nothing in the shape shared, whose admin ports are on the hosts' loopback" }}
{{- else if and $monitoring.podMonitor (eq .Values.adminAuth "kubernetes") (not $monitoring.tokenSecret) }}
{{- fail "monitoring.podMonitor: a PodMonitor cannot send Prometheus' own token: name a Secret with a token in monitoring.tokenSecret, or use serviceMonitor" }}
{{- end }}
{{- include "snug.checkUnused" . }}
{{- include "snug.checkPolicy" .Values.policy }}
{{- include "snug.checkExtraArgs" . }}
{{- include "snug.checkAgent" . }}
{{- end }}

{{/* When a value has no effect. Each row: where it applies, how the message ends, and the values with their defaults. */}}
{{- define "snug.unused" -}}
{{- $dedicated := eq .Values.shape "dedicated" }}
{{- $monitoring := .Values.monitoring }}
{{- $scraped := or $monitoring.serviceMonitor $monitoring.podMonitor }}
- applies: {{ $dedicated }}
  ending: "in the shape dedicated: set nodeSelector"
  values: {nodes: []}
- applies: {{ $dedicated }}
  ending: in the shape dedicated, whose scheduler asks Snug about all of its pods
  values:
    admission.managedResourcesOnly: false
    admission.managedResources: [snug.dev/gpu-milli, snug.dev/gpu-memory-mib, nvidia.com/gpu, nvidia.com/gpu.shared]
- applies: {{ not $dedicated }}
  ending: "in the shape shared: set nodes"
  values: {nodeSelector: {}, tolerations: []}
- applies: {{ not $dedicated }}
  ending: "in the shape shared, which has the cluster's own scheduler: change that one, and set kubernetesMinor if it is not of the cluster's version"
  values:
    scheduler.name: snug
    scheduler.weight: 0
    scheduler.image.repository: registry.k8s.io/kube-scheduler
    scheduler.image.tag: ''
    scheduler.resources: {requests: {cpu: 200m, memory: 256Mi}, limits: {memory: 4Gi}}
- applies: {{ not $dedicated }}
  ending: in the shape shared, where each of nodes has one Snug, of the class system-node-critical and on the host's network
  values:
    replicas: 2
    priorityClassName: system-cluster-critical
    networkPolicy.enabled: true
    networkPolicy.monitoringNamespaces: [monitoring]
- applies: {{ and (not $dedicated) (not .Values.admission.managedResourcesOnly) }}
  ending: without admission.managedResourcesOnly
  values:
    admission.managedResources: [snug.dev/gpu-milli, snug.dev/gpu-memory-mib, nvidia.com/gpu, nvidia.com/gpu.shared]
- applies: {{ and $dedicated (not .Values.networkPolicy.enabled) }}
  ending: without networkPolicy.enabled
  values: {networkPolicy.monitoringNamespaces: [monitoring]}
- applies: {{ not (or (include "snug.policies" .) (include "snug.webhook" .)) }}
  ending: without admission.policies or admission.webhook
  values: {admission.tolerations: [nvidia.com/gpu, snug.dev/only], admission.runtimeClassName: ''}
- applies: {{ ne .Values.adminAuth "token" }}
  ending: "without adminAuth: token"
  values: {adminTokenSecret: ''}
- applies: {{ ne .Values.adminAuth "kubernetes" }}
  ending: "without adminAuth: kubernetes"
  values: {adminTenants: false, monitoring.tokenSecret: ''}
- applies: {{ not .Values.adminTls.secret }}
  ending: without adminTls.secret
  values: {adminTls.ca: ca.crt, adminTls.serverName: snug.snug.svc}
- applies: {{ not $scraped }}
  ending: without monitoring.serviceMonitor or monitoring.podMonitor
  values: {adminTls.ca: ca.crt, adminTls.serverName: snug.snug.svc, monitoring.tokenSecret: ''}
- applies: {{ not (or $scraped $monitoring.prometheusRule $monitoring.agents) }}
  ending: "without one of the objects of the Prometheus operator: set monitoring.serviceMonitor, podMonitor, prometheusRule or agents"
  values: {monitoring.labels: {}}
{{ include "snug.unusedAgent" . }}
{{- end }}

{{- define "snug.checkUnused" -}}
{{- range include "snug.unused" . | fromYamlArray }}
{{- if .applies }}
{{- $names := list }}
{{- range $name, $default := .values }}
{{- $path := splitList "." $name }}
{{- $section := $.Values }}
{{- range initial $path }}{{ $section = get $section . }}{{ end }}
{{- if and (hasKey $section (last $path)) (ne (get $section (last $path) | toJson) (toJson $default)) }}
{{- $names = append $names $name }}
{{- end }}
{{- end }}
{{- if $names }}
{{- printf "%s %s no effect %s" (join ", " $names) (len $names | eq 1 | ternary "has" "have") .ending | fail }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Every profile that a policy names must be one of its profiles. */}}
{{- define "snug.checkPolicy" -}}
{{- if . }}
{{- $profiles := .profiles }}
{{- $named := list .default }}
{{- range .rules }}{{ $named = append $named .profile }}{{ end }}
{{- range .podChoice }}{{ $named = concat $named .profiles }}{{ end }}
{{- range $named }}
{{- if not (hasKey $profiles .) }}
{{- printf "policy names the profile %s, which is not in policy.profiles" (quote .) | fail }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* What to do instead of giving a flag that the chart itself sets. */}}
{{- define "snug.instead" -}}
admin-auth: set adminAuth
admin-listen: leave it out
admin-tenants: set adminTenants
admin-tls-cert: set adminTls.secret
admin-tls-key: set adminTls.secret
admin-token-file: set adminTokenSecret
answer: set answer
client-ca: leave it out; the shape shared takes it from the Secret snug-extender-tls
kubernetes-minor: set kubernetesMinor
largest-gpu-mib: set mirror.largestGpuMib
listen: leave it out
pod-runtime-class: set admission.runtimeClassName
pod-tolerations: set admission.tolerations
policy: set policy
scheduler-lease: leave it out
scheduler-names: set scheduler.name
smallest-gpu-mib: set mirror.smallestGpuMib
tls-cert: leave it out; the shape shared takes it from the Secret snug-extender-tls
tls-key: leave it out; the shape shared takes it from the Secret snug-extender-tls
webhook-listen: set admission.webhook
{{- end }}

{{- define "snug.checkExtraArgs" -}}
{{- $instead := include "snug.instead" . | fromYaml }}
{{- $allowed := list "--api-timeout" "--client-names" "--gpu-metrics" "--limits" "--log-format" "--log-level" }}
{{- range .Values.extraArgs }}
{{- $flag := regexFind "^--[-a-z0-9]+" . }}
{{- with get $instead (trimPrefix "--" $flag) }}
{{- printf "extraArgs: the chart itself decides about %s: %s" $flag . | fail }}
{{- end }}
{{- if not (has $flag $allowed) }}
{{- printf "extraArgs: %s cannot be given here; the flags that can are %s" $flag (join ", " $allowed) | fail }}
{{- end }}
{{- end }}
{{- end }}
