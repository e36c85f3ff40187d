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
{{- else if gt (int .Values.mirror.smallestGpuMib) (int .Values.mirror.largestGpuMib) }}
{{- fail "mirror.smallestGpuMib must be at most mirror.largestGpuMib" }}
{{- else if and .Values.admission.managedResourcesOnly (not $dedicated) (not (include "snug.mirrors" .)) }}
{{- fail "admission.managedResourcesOnly would refuse every pod with GPU annotations: set mirror.smallestGpuMib and mirror.largestGpuMib too" }}
{{- else if and (eq .Values.adminAuth "token") (not .Values.adminTokenSecret) }}
{{- fail "adminAuth: token needs a token: name its Secret in adminTokenSecret" }}
{{- else if and .Values.adminTokenSecret (ne .Values.adminAuth "token") }}
{{- fail "adminTokenSecret has no effect without adminAuth: token" }}
{{- else if and .Values.adminTenants (ne .Values.adminAuth "kubernetes") }}
{{- fail "adminTenants has no effect without adminAuth: kubernetes" }}
{{- else if and $monitoring.tokenSecret (ne .Values.adminAuth "kubernetes") }}
{{- fail "monitoring.tokenSecret has no effect without adminAuth: kubernetes" }}
{{- else if and $monitoring.serviceMonitor $monitoring.podMonitor }}
{{- fail "monitoring.serviceMonitor and monitoring.podMonitor scrape the same ports, and every series would be there twice: choose one" }}
{{- else if and (or $monitoring.serviceMonitor $monitoring.podMonitor) (not $dedicated) }}
{{- fail "monitoring.serviceMonitor and monitoring.podMonitor find nothing in the shape shared, whose admin ports are on the hosts' loopback" }}
{{- else if and $monitoring.podMonitor (eq .Values.adminAuth "kubernetes") (not $monitoring.tokenSecret) }}
{{- fail "monitoring.podMonitor: a PodMonitor cannot send Prometheus' own token: name a Secret with a token in monitoring.tokenSecret, or use serviceMonitor" }}
{{- else if and $dedicated .Values.nodes }}
{{- fail "nodes has no effect in the shape dedicated: set nodeSelector" }}
{{- else if and (not $dedicated) (or .Values.nodeSelector .Values.tolerations) }}
{{- fail "nodeSelector and tolerations have no effect in the shape shared: set nodes" }}
{{- else if and (not $dedicated) (or (ne .Values.scheduler.name "snug") .Values.scheduler.weight .Values.scheduler.image.tag) }}
{{- fail "scheduler has no effect in the shape shared, which has the cluster's own scheduler: change that one, and set kubernetesMinor if it is not of the cluster's version" }}
{{- end }}
{{- include "snug.checkPolicy" .Values.policy }}
{{- include "snug.checkExtraArgs" . }}
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
