{{/* Prefix of the release's object names. */}}
{{- define "gpu-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that never change, so that they can stand in a selector. Takes (list $ "component"). */}}
{{- define "gpu-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* All labels. Takes (list $ "component"). */}}
{{- define "gpu-operator.labels" -}}
{{- $root := index . 0 -}}
{{ include "gpu-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end -}}

{{/* Where a pod goes. Takes a map with nodeSelector, tolerations and affinity. */}}
{{- define "gpu-operator.placement" -}}
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

{{/*
One operand, as the operator would make it: a DaemonSet and its ServiceAccount, steered by daemonsets.*.
Takes a dict: root, name (of the DaemonSet), operand (the values: image, version, env, resources), and optionally
runtimeClass (false: the operand runs before the NVIDIA runtime exists), limits, containers and volumes (YAML).
*/}}
{{- define "gpu-operator.operand" -}}
{{- $root := .root -}}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "gpu-operator.labels" (list $root .name) | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "gpu-operator.selectorLabels" (list $root .name) | nindent 6 }}
  updateStrategy:
    type: {{ $root.Values.daemonsets.updateStrategy }}
    {{- if eq $root.Values.daemonsets.updateStrategy "RollingUpdate" }}
    rollingUpdate:
      maxUnavailable: {{ $root.Values.daemonsets.rollingUpdate.maxUnavailable }}
    {{- end }}
  template:
    metadata:
      labels:
        {{- include "gpu-operator.labels" (list $root .name) | nindent 8 }}
    spec:
      serviceAccountName: {{ .name }}
      priorityClassName: {{ $root.Values.daemonsets.priorityClassName }}
      {{- if ne (toString .runtimeClass) "false" }}
      runtimeClassName: {{ $root.Values.operator.runtimeClass }}
      {{- end }}
      {{- include "gpu-operator.placement" $root.Values.daemonsets | nindent 6 }}
      containers:
        - name: {{ .name }}
          image: {{ .operand.image }}:{{ .operand.version | default $root.Chart.AppVersion }}
          securityContext:
            privileged: true
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
            {{- with .operand.env }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- with .limits }}
          resources:
            limits:
              {{- toYaml . | nindent 14 }}
          {{- else }}
          resources:
            {{- toYaml .operand.resources | nindent 12 }}
          {{- end }}
          volumeMounts:
            - name: run-nvidia
              mountPath: /run/nvidia
              mountPropagation: Bidirectional
            {{- with .mounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
        {{- with .containers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      volumes:
        - name: run-nvidia
          hostPath:
            path: /run/nvidia
            type: DirectoryOrCreate
        {{- with .volumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "gpu-operator.labels" (list $root .name) | nindent 4 }}
{{- end -}}
