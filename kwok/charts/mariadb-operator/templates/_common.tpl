{{/* Copied from kwok/charts/_common/_common.tpl by `make generate`: change it there. */}}

{{/* Prefix of the release's object names. That of kube-prometheus-stack is short, as the original's is: its operator puts words in front. */}}
{{- define "simulated.fullname" -}}
{{- $most := ternary 26 63 (eq .Chart.Name "kube-prometheus-stack") -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc $most | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc $most | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc $most | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that never change, so that they can stand in a selector. Takes (list $ "component"). */}}
{{- define "simulated.selectorLabels" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* All labels. Takes (list $ "component"). */}}
{{- define "simulated.labels" -}}
{{- $root := index . 0 -}}
{{ include "simulated.selectorLabels" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Where a pod goes. Takes a map with nodeSelector, tolerations and affinity. */}}
{{- define "simulated.placement" -}}
{{- with .nodeSelector -}}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{ end -}}
{{- with .tolerations -}}
tolerations:
  {{- toYaml . | nindent 2 }}
{{ end -}}
{{- with .affinity -}}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* The name of an image. Takes (list IMAGE TAG): IMAGE is a name, or a map as in most charts; TAG is for one that has none. */}}
{{- define "simulated.image" -}}
{{- $of := index . 0 -}}
{{- $name := $of -}}
{{- $tag := index . 1 -}}
{{- if kindIs "map" $of -}}
{{- $name = $of.repository -}}
{{- with $of.registry -}}{{- $name = printf "%s/%s" . $name -}}{{- end -}}
{{- $tag = $of.tag | default $tag -}}
{{- with $of.digest -}}{{- $name = printf "%s@%s" $name . -}}{{- $tag = "" -}}{{- end -}}
{{- end -}}
{{- with $tag -}}{{- $name = printf "%s:%v" $name . -}}{{- end -}}
{{- $name -}}
{{- end -}}
