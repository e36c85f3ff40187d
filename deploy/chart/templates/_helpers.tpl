{{/* The minor version of the scheduler that asks Snug: "30+" and "v1.33.5-gke.100" are usual forms of the cluster's. */}}
{{- define "snug.minor" -}}
{{- .Values.kubernetesMinor | default (regexFind "^[0-9]+" .Capabilities.KubeVersion.Minor) -}}
{{- end }}

{{- define "snug.schedulerTag" -}}
{{- .Values.scheduler.image.tag | default (regexFind "^v[0-9]+[.][0-9]+[.][0-9]+" .Capabilities.KubeVersion.Version) -}}
{{- end }}

{{/* "true" or nothing. The API server decides what it serves, so kubernetesMinor does not count. */}}
{{- define "snug.policies" -}}
{{- $cluster := regexFind "^[0-9]+" .Capabilities.KubeVersion.Minor | int -}}
{{- if ternary (ge $cluster 36) .Values.admission.policies (kindIs "string" .Values.admission.policies) }}true{{ end -}}
{{- end }}

{{- define "snug.webhook" -}}
{{- $auto := not (include "snug.policies" .) -}}
{{- if ternary $auto .Values.admission.webhook (kindIs "string" .Values.admission.webhook) }}true{{ end -}}
{{- end }}

{{/* "true" while nodes show shares. */}}
{{- define "snug.mirrors" -}}
{{- if gt (int .Values.mirror.smallestGpuMib) 0 }}true{{ end -}}
{{- end }}

{{- define "snug.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* A CEL list of texts, with three in a line. */}}
{{- define "snug.tolerations" -}}
[{{ range $i, $key := .Values.admission.tolerations }}{{ if $i }},{{ if mod $i 3 }} {{ else }}
        {{ end }}{{ end }}'{{ $key }}'{{ end }}]
{{- end }}

{{/* What probes and Prometheus say of the admin port, if it has TLS. */}}
{{- define "snug.adminScheme" -}}
{{- if ne .Values.adminAuth "none" }}, scheme: HTTPS{{ end -}}
{{- end }}

{{- define "snug.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* What neither program needs: it opens no port below 1024, writes no file and starts no other program. */}}
{{- define "snug.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "snug.extenderArgs" -}}
- --policy=/etc/snug/policy.yaml
- --answer=auto
- --kubernetes-minor={{ include "snug.minor" . }}
{{- if include "snug.webhook" . }}
- --webhook-listen=0.0.0.0:8443
{{- if not .Values.admission.tolerations }}
{{- fail "the webhook adds at least one toleration: admission.tolerations" }}
{{- end }}
{{- range .Values.admission.tolerations }}
- --pod-tolerations={{ . }}
{{- end }}
{{- with .Values.admission.runtimeClassName }}
- --pod-runtime-class={{ . }}
{{- end }}
{{- end }}
{{- if ne .Values.adminAuth "none" }}
- --admin-auth={{ .Values.adminAuth }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ toJson . }}
{{- end }}
{{- end }}

{{- define "snug.extenderEnv" -}}
- name: POD_UID
  valueFrom: {fieldRef: {fieldPath: metadata.uid}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- end }}

{{/* Of what `helm uninstall` makes when all else is deleted, and deletes again if it succeeds. */}}
{{- define "snug.removal" -}}
annotations:
  helm.sh/hook: post-delete
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
