{{/* The original calls its objects after the chart, whatever the release is called. */}}
{{- define "slurm-operator.name" -}}
{{- default .Chart.Name .Values.fullnameOverride -}}
{{- end -}}
