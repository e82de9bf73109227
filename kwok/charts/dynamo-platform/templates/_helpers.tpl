{{/* Prefix of the operator's objects: the release's name and that of its chart upstream. */}}
{{- define "dynamo-platform.operator" -}}
{{- printf "%s-dynamo-operator" .Release.Name -}}
{{- end -}}

{{/* Annotations of a hook's own ServiceAccount and roles, which come before it. Takes the hook's events. */}}
{{- define "dynamo-platform.hookAccount" -}}
helm.sh/hook: {{ . }}
helm.sh/hook-weight: "-5"
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
