{{/* A value as an environment variable has it. Numbers come as floating point, and 67108864 must not become 6.7108864e+07. */}}
{{- define "sluice.word" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end -}}
{{- end }}

{{/* A setting's value. YAML 1.1, which helm reads, makes a boolean of a bare off; these settings have the word, and no boolean. */}}
{{- define "sluice.setting" -}}
{{- if and (has .name (list "CONSOLE_LISTEN")) (kindIs "bool" .value) (not .value) }}off{{ else }}{{ include "sluice.word" .value }}{{ end -}}
{{- end }}

{{/* The container's environment: what the chart decides, then what the operator set, then Go's and OpenTelemetry's. */}}
{{- define "sluice.env" -}}
{{- $own := dict
  "UPSTREAM_URL" .Values.upstream.url
  "TEAMS_FILE" "/etc/sluice/teams/teams.yaml"
  "LISTEN" ":8080"
  "ADMIN_LISTEN" ":8081"
  "REPLICAS" (include "sluice.most" .)
  "SHUTDOWN_DELAY" (printf "%ds" (int .Values.shutdown.delaySeconds))
  "SHUTDOWN_GRACE" (printf "%ds" (int .Values.shutdown.longestStreamSeconds)) -}}
{{- if .Values.accounts.existingSecret }}{{ $_ := set $own "ACCOUNTS_FILE" "/etc/sluice/accounts/accounts.yaml" }}
{{- else }}{{ $_ := set $own "UPSTREAM_KEY_FILE" "/etc/sluice/upstream/key" }}{{ end -}}
{{- if .Values.redis.existingSecret }}{{ $_ := set $own "REDIS_URL_FILE" "/etc/sluice/redis/url" }}{{ $_ := set $own "STATE_DIR" "/var/lib/sluice" }}
{{- else if .Values.state.existingClaim }}{{ $_ := set $own "DIRECTORY_FILE" "/var/lib/sluice/directory.json" }}{{ end -}}
{{- if .Values.tls.existingSecret }}{{ $_ := set $own "TLS_CERT_FILE" "/etc/sluice/tls/tls.crt" }}{{ $_ := set $own "TLS_KEY_FILE" "/etc/sluice/tls/tls.key" }}{{ end -}}
{{- range $name, $value := $own }}
- name: SLUICE_{{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: SLUICE_{{ $name }}
  value: {{ include "sluice.setting" (dict "name" $name "value" $value) | quote }}
{{- end }}
{{- if .Values.mirror.existingSecret }}
- name: AWS_SHARED_CREDENTIALS_FILE
  value: /etc/sluice/mirror/credentials
{{- end }}
{{- include "sluice.env.authorities" . }}
{{- /* The runtime collects before the kernel kills; the tenth is for stacks, sockets and the binary. */}}
- name: GOMEMLIMIT
  value: {{ div (mul (include "sluice.bytes" .Values.resources.limits.memory | int64) 9) 10 | quote }}
{{- range $name, $value := .Values.otel }}
- name: OTEL_{{ $name }}
  value: {{ include "sluice.word" $value | quote }}
{{- end }}
{{- end }}

{{/* Go reads this directory beside the image's file of public authorities. */}}
{{- define "sluice.env.authorities" -}}
{{- if .Values.authorities.existingConfigMap }}
- name: SSL_CERT_DIR
  value: /etc/sluice/authorities
{{- end }}
{{- end }}

{{- define "sluice.mount.authorities" -}}
{{- if .Values.authorities.existingConfigMap }}
- name: authorities
  mountPath: /etc/sluice/authorities
  readOnly: true
{{- end }}
{{- end }}

{{/* Secrets are readable to the pod's group alone. These have what it takes to read the ledger. */}}
{{- define "sluice.volumes.ledger" -}}
- name: teams
  {{- if .Values.teams.existingSecret }}
  secret:
    secretName: {{ .Values.teams.existingSecret }}
    defaultMode: 0440
  {{- else }}
  configMap:
    name: {{ .Values.teams.existingConfigMap | default (printf "%s-teams" (include "sluice.fullname" .)) }}
    defaultMode: 0440
  {{- end }}
{{- if .Values.redis.existingSecret }}
- name: redis
  secret:
    secretName: {{ .Values.redis.existingSecret }}
    defaultMode: 0440
    items:
      - key: {{ .Values.redis.secretKey }}
        path: url
{{- end }}
{{- if .Values.authorities.existingConfigMap }}
- name: authorities
  configMap:
    name: {{ .Values.authorities.existingConfigMap }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{- define "sluice.volumes" -}}
{{ include "sluice.volumes.ledger" . }}
{{- if .Values.accounts.existingSecret }}
- name: accounts
  secret:
    secretName: {{ .Values.accounts.existingSecret }}
    defaultMode: 0440
{{- else }}
- name: upstream
  secret:
    secretName: {{ .Values.upstream.existingSecret }}
    defaultMode: 0440
    items:
      - key: {{ .Values.upstream.secretKey }}
        path: key
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: tls
  secret:
    secretName: {{ .Values.tls.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- if .Values.mirror.existingSecret }}
- name: mirror
  secret:
    secretName: {{ .Values.mirror.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- if .Values.files.existingSecret }}
- name: files
  secret:
    secretName: {{ .Values.files.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- if .Values.state.existingClaim }}
- name: state
  persistentVolumeClaim:
    claimName: {{ .Values.state.existingClaim }}
{{- else if .Values.redis.existingSecret }}
- name: state
  emptyDir: {}
{{- end }}
{{- end }}
