{{/* A JSON list of what each DaemonSet of agents has: that without a name first, then the groups, which have what they do
not say themselves from the section agent. */}}
{{- define "snug.agents" -}}
{{- $agents := list }}
{{- range prepend (.Values.agent.groups | default list) dict }}
{{- $agent := omit $.Values.agent "enabled" "groups" }}
{{- range $key, $value := . }}{{ $_ := set $agent $key $value }}{{ end }}
{{- $agents = append $agents $agent }}
{{- end }}
{{- toJson $agents }}
{{- end }}

{{/* Of snug-agent and snug-mps, which are in one image. `image` and `version` as the context. */}}
{{- define "snug.agentImage" -}}
image: {{ printf "%s:%s" .image.repository (.image.tag | default .version) | toYaml }}
imagePullPolicy: {{ .image.pullPolicy }}
{{- end }}

{{/* What is not the program's default. */}}
{{- define "snug.agentArgs" -}}
- --host-root=/host
{{- if ne .driverRoot "/" }}
- {{ printf "--driver-root=%s" .driverRoot | toYaml }}
{{- end }}
{{- if ne (join "," .modes) "whole,time-slicing" }}
- --modes={{ join "," .modes }}
{{- end }}
{{- if ne .limits "none" }}
- --limits={{ .limits }}
{{- end }}
{{- if eq .limits "hami-core" }}
- {{ printf "--hami-core=%s" .hamiCore | toYaml }}
{{- end }}
{{- if .dynamicMig }}
- --dynamic-mig
{{- with .migIdleMinutes }}
- --mig-idle-minutes={{ int . }}
{{- end }}
{{- end }}
{{- if .publishUsage }}
- --publish-usage
{{- end }}
{{- if .stopViolators }}
- --stop-violators
{{- end }}
{{- range .exempt }}
- {{ printf "--exempt=%s" . | toYaml }}
{{- end }}
{{- range .extraArgs }}
- {{ toYaml . }}
{{- end }}
{{- end }}

{{/* Rows of snug.unused. The values of the agents and of MPS do not count where `enabled` is false: so one value switches
them off. */}}
{{- define "snug.unusedAgent" -}}
- applies: {{ not .Values.agent.enabled }}
  ending: without agent.enabled
  values: {mps.enabled: false, monitoring.agents: false}
{{- end }}

{{/* Values of agent and mps that contradict each other. */}}
{{- define "snug.checkAgent" -}}
{{- if .Values.agent.enabled }}
{{- $names := list }}
{{- $hasMps := false }}
{{- range include "snug.agents" . | fromJsonArray }}
{{- $where := .name | default "" | empty | ternary "agent" (printf "agent.groups, %s" .name) }}
{{- if has .name $names }}
{{- printf "%s: two groups have this name" $where | fail }}
{{- else if eq (.name | default "") "true" }}
{{- printf "%s: choose another name: the label snug.dev/agent=true is of nodes without a group" $where | fail }}
{{- else if hasKey (.nodeSelector | default dict) "snug.dev/agent" }}
{{- printf "%s: nodeSelector: the chart itself sets snug.dev/agent, to true or to the name of the group" $where | fail }}
{{- else if and (has "mps" .modes) (not $.Values.mps.enabled) }}
{{- printf "%s: modes: pods in the mode mps would wait for their daemons forever: set mps.enabled" $where | fail }}
{{- end }}
{{- $names = append $names .name }}
{{- $hasMps = or $hasMps (has "mps" .modes) }}
{{- include "snug.checkLimits" (dict "where" $where "agent" .) }}
{{- include "snug.checkFlags" (dict "where" $where "flags" .extraArgs "instead" (include "snug.agentInstead" $)) }}
{{- end }}
{{- include "snug.checkCompanion" (dict "agent" .Values.agent "name" "hamiCore" "of" "limits" "is" "hami-core") }}
{{- include "snug.checkCompanion" (dict "agent" .Values.agent "name" "migIdleMinutes" "of" "dynamicMig" "is" "true") }}
{{- include "snug.checkFlags" (dict "where" "mps" "flags" .Values.mps.extraArgs "instead" (include "snug.mpsInstead" .)) }}
{{- if and .Values.mps.enabled (not $hasMps) }}
{{- fail "mps.enabled has no effect: neither agent.modes nor a group of agent.groups has the mode mps" }}
{{- else if hasKey (.Values.mps.nodeSelector | default dict) "snug.dev/mps" }}
{{- fail "mps.nodeSelector: the chart itself sets snug.dev/mps, to true" }}
{{- end }}
{{- end }}
{{- end }}

{{/* `name`, which has an effect only where the value `of` is `is`: in its group, or, from the section agent, in the
agents that have it from there. */}}
{{- define "snug.checkCompanion" -}}
{{- $isUsed := get .agent .of | toString | eq .is }}
{{- range .agent.groups }}
{{- $has := hasKey . $.of | ternary (get . $.of) (get $.agent $.of) | toString | eq $.is }}
{{- if and (get . $.name) (not $has) }}
{{- printf "agent.groups, %s: %s has no effect without %s: %s" .name $.name $.of $.is | fail }}
{{- end }}
{{- $isUsed = or $isUsed (and $has (not (hasKey . $.name))) }}
{{- end }}
{{- if and (get .agent .name) (not $isUsed) }}
{{- printf "agent.%s has no effect without %s: %s" .name .of .is | fail }}
{{- end }}
{{- end }}

{{/* Enforcers that do not suit the modes. The program itself refuses these, too, but for `driver`. */}}
{{- define "snug.checkLimits" -}}
{{- $modes := .agent.modes }}
{{- $isHami := eq .agent.limits "hami-core" }}
{{- if and (eq .agent.limits "mps") (not (has "mps" $modes)) }}
{{- printf "%s: limits: mps needs mps in modes" .where | fail }}
{{- else if and (eq .agent.limits "driver") (not (or (has "mps" $modes) (has "time-slicing" $modes))) }}
{{- printf "%s: limits: driver has no effect on whole GPUs: it needs time-slicing or mps in modes" .where | fail }}
{{- else if and $isHami (or (has "mps" $modes) (not (has "time-slicing" $modes))) }}
{{- printf "%s: limits: hami-core needs time-slicing in modes, without mps, which it does not limit" .where | fail }}
{{- else if and $isHami (not .agent.hamiCore) }}
{{- printf "%s: limits: hami-core needs its folder in hamiCore" .where | fail }}
{{- end }}
{{- end }}

{{/* What to do instead of giving a flag of the agent that the chart itself sets, or that its pod settles. */}}
{{- define "snug.agentInstead" -}}
cdi-folder: leave it out
driver-root: set driverRoot
dynamic-mig: set dynamicMig
exempt: set exempt
hami-core: set hamiCore
host-root: leave it out
kubeconfig: leave it out
lease-namespace: leave it out
limits: set limits
listen: leave it out
mig-idle-minutes: set migIdleMinutes
modes: set modes
mps-root: leave it out
node-name: leave it out
nri-socket: leave it out
probe: leave it out
publish-usage: set publishUsage
stop-violators: set stopViolators
{{- end }}

{{- define "snug.mpsInstead" -}}
driver-root: set driverRoot
listen: leave it out
root: leave it out
shared-memory-mib: set sharedMemoryMib
{{- end }}

{{- define "snug.checkFlags" -}}
{{- $instead := fromYaml .instead }}
{{- range .flags }}
{{- $flag := regexFind "^--[-a-z0-9]+" . }}
{{- with get $instead (trimPrefix "--" $flag) }}
{{- printf "%s: extraArgs: the chart itself decides about %s: %s" $.where $flag . | fail }}
{{- end }}
{{- end }}
{{- end }}
