{{/* The minor version of the scheduler that asks Snug. "v1.33.5-gke.100" is a usual form of the cluster's version. */}}
{{- define "snug.minor" -}}
{{- $own := .Values.scheduler.image.tag | default "" -}}
{{- $version := regexFind "^v?1[.][0-9]+" $own | default (regexFind "^v1[.][0-9]+" .Capabilities.KubeVersion.Version) -}}
{{- .Values.kubernetesMinor | default (regexFind "[0-9]+$" $version) -}}
{{- end }}

{{- define "snug.schedulerTag" -}}
{{- $version := .Capabilities.KubeVersion.Version -}}
{{- .Values.scheduler.image.tag | default (regexFind "^v[0-9]+[.][0-9]+[.][0-9]+" $version)
  | required (printf "the cluster's version %s has no patch: set scheduler.image.tag, or give helm template the whole version with --kube-version" $version) -}}
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
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | toYaml }}
{{- end }}

{{/* A list of names. toYaml quotes those that YAML reads as other types, such as "no" and "1e3". */}}
{{- define "snug.names" -}}
[{{ range $i, $name := . }}{{ if $i }}, {{ end }}{{ toYaml $name }}{{ end }}]
{{- end }}

{{/* The nodes on which Snug's pods may run in the dedicated shape. */}}
{{- define "snug.nodes" -}}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "snug.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}

{{/* A CEL list of texts, with three in a line. */}}
{{- define "snug.tolerations" -}}
[{{ range $i, $key := .Values.admission.tolerations }}{{ if $i }},{{ if mod $i 3 }} {{ else }}
        {{ end }}{{ end }}'{{ $key }}'{{ end }}]
{{- end }}

{{/* What admission-policy.yaml searches for. The operator's key, if it has none of the other words, is found by its first
10 letters, which cost least (see there). */}}
{{- define "snug.searchedWords" -}}
{{- $key := .Values.admission.tolerateMissingPlugins -}}
['snug.dev', 'gpu-', 'cdi.k8s.io', 'noderesour'{{ if not (contains "noderesour" $key) }}, '{{ trunc 10 $key }}'{{ end }}]
{{- end }}

{{/* "true" or nothing. */}}
{{- define "snug.adminHasTls" -}}
{{- if or (ne .Values.adminAuth "none") .Values.adminTls.secret }}true{{ end -}}
{{- end }}

{{/* What probes say of the admin port, if it has TLS. */}}
{{- define "snug.adminScheme" -}}
{{- if include "snug.adminHasTls" . }}, scheme: HTTPS{{ end -}}
{{- end }}

{{- define "snug.adminArgs" -}}
{{- if ne .Values.adminAuth "none" }}
- --admin-auth={{ .Values.adminAuth }}
{{- end }}
{{- if .Values.adminTokenSecret }}
- --admin-token-file=/etc/snug-admin-token/token
{{- end }}
{{- if .Values.adminTenants }}
- --admin-tenants=true
{{- end }}
{{- if .Values.adminTls.secret }}
- --admin-tls-cert=/etc/snug-admin-tls/tls.crt
- --admin-tls-key=/etc/snug-admin-tls/tls.key
{{- end }}
{{- end }}

{{- define "snug.adminMounts" -}}
{{- if .Values.adminTokenSecret }}
- {name: admin-token, mountPath: /etc/snug-admin-token, readOnly: true}
{{- end }}
{{- if .Values.adminTls.secret }}
- {name: admin-tls, mountPath: /etc/snug-admin-tls, readOnly: true}
{{- end }}
{{- end }}

{{- define "snug.adminVolumes" -}}
{{- with .Values.adminTokenSecret }}
- name: admin-token
  secret: {secretName: {{ toYaml . }}, defaultMode: 0440, items: [{key: token, path: token}]}
{{- end }}
{{- with .Values.adminTls.secret }}
- name: admin-tls
  secret:
    secretName: {{ toYaml . }}
    defaultMode: 0440
    items:
    - {key: tls.crt, path: tls.crt}
    - {key: tls.key, path: tls.key}
{{- end }}
{{- end }}

{{/* The labels of an object of the Prometheus operator. */}}
{{- define "snug.monitoringLabels" -}}
{{- merge (deepCopy (.Values.monitoring.labels | default dict)) (dict "app.kubernetes.io/name" "snug") | toYaml -}}
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
- --answer={{ .Values.answer }}
- --kubernetes-minor={{ include "snug.minor" . }}
{{- if include "snug.webhook" . }}
- --webhook-listen=0.0.0.0:8443
{{- range .Values.admission.tolerations }}
- --pod-tolerations={{ . }}
{{- end }}
{{- with .Values.admission.runtimeClassName }}
- --pod-runtime-class={{ . }}
{{- end }}
{{- end }}
{{- include "snug.adminArgs" . }}
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
