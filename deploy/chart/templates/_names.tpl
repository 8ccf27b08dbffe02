{{- define "sluice.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ include "sluice.version" . | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* The image's tag as a label may have it, which is shorter and has no + or @. */}}
{{- define "sluice.version" -}}
{{- regexReplaceAll "[^0-9A-Za-z._-]" (.Values.image.tag | default .Chart.AppVersion) "-" | trunc 63 | trimAll "._-" -}}
{{- end }}

{{- define "sluice.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end }}

{{/* How many pods may run. */}}
{{- define "sluice.most" -}}
{{- ternary .Values.autoscaling.maxReplicas .Values.replicaCount .Values.autoscaling.enabled | int -}}
{{- end }}

{{/* A memory quantity of Kubernetes in bytes. Exponents and milli-bytes are refused as mistakes. */}}
{{- define "sluice.bytes" -}}
{{- $quantity := toString . -}}
{{- if not (regexMatch "^[1-9][0-9]*(Ki|Mi|Gi|Ti|k|M|G|T)?$" $quantity) }}{{ fail (printf "resources.limits.memory: %q; allowed: a whole number with Ki, Mi, Gi, Ti, k, M, G, T or nothing" $quantity) }}{{ end -}}
{{- $factors := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- mul (regexFind "^[0-9]+" $quantity | int64) (get $factors (regexFind "[A-Za-z]*$" $quantity)) -}}
{{- end }}

{{/* Refuses values that would install something that cannot work, all of them before anything is made. */}}
{{- define "sluice.check" -}}
{{- if not .Values.upstream.url }}{{ fail "upstream.url is required: the service's base address, ending in /api/v1" }}{{ end -}}
{{- if eq (empty .Values.upstream.existingSecret) (empty .Values.accounts.existingSecret) }}{{ fail "upstream.existingSecret is required, the Secret with the service's key, or accounts.existingSecret in its place" }}{{ end -}}
{{- $sources := without (list .Values.teams.existingSecret .Values.teams.existingConfigMap .Values.teams.inline) "" -}}
{{- if ne (len $sources) 1 }}{{ fail "teams: one of existingSecret, existingConfigMap and inline is required" }}{{ end -}}
{{- $most := include "sluice.most" . | int -}}
{{- if and (gt $most 1) (not .Values.redis.existingSecret) }}{{ fail "replicaCount: more than 1 needs redis.existingSecret, or each pod would have limits and tasks of its own" }}{{ end -}}
{{- with .Values.autoscaling }}{{ if .enabled -}}
{{- if gt (int .minReplicas) (int .maxReplicas) }}{{ fail "autoscaling.minReplicas: more than maxReplicas" }}{{ end -}}
{{- if not (or .cpuPercent .requestsInFlight) }}{{ fail "autoscaling: cpuPercent or requestsInFlight is required" }}{{ end -}}
{{- end }}{{ end -}}
{{- if and (gt $most 1) .Values.state.existingClaim }}{{ fail "state.existingClaim: a copy of the directory is of one pod alone; with more than 1 replica leave it empty" }}{{ end -}}
{{- if .Values.reconcile.schedule }}
{{- if not .Values.redis.existingSecret }}{{ fail "reconcile.schedule: needs redis.existingSecret, where the job reads the ledger" }}{{ end -}}
{{- if and (not .Values.reconcile.existingClaim) (not .Values.reconcile.fetch) }}{{ fail "reconcile: existingClaim or fetch is required: the bill's place, or the container that fetches it" }}{{ end -}}
{{- end -}}
{{- if not (dig "limits" "memory" "" .Values.resources) }}{{ fail "resources.limits.memory is required: Go's own limit is made from it" }}{{ end -}}
{{- end }}
