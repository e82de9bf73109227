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
    {{- include "simulated.labels" (list $root .name) | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "simulated.selectorLabels" (list $root .name) | nindent 6 }}
  updateStrategy:
    type: {{ $root.Values.daemonsets.updateStrategy }}
    {{- if eq $root.Values.daemonsets.updateStrategy "RollingUpdate" }}
    rollingUpdate:
      maxUnavailable: {{ $root.Values.daemonsets.rollingUpdate.maxUnavailable }}
    {{- end }}
  template:
    metadata:
      labels:
        {{- include "simulated.labels" (list $root .name) | nindent 8 }}
    spec:
      serviceAccountName: {{ .name }}
      priorityClassName: {{ $root.Values.daemonsets.priorityClassName }}
      {{- if ne (toString .runtimeClass) "false" }}
      runtimeClassName: {{ $root.Values.operator.runtimeClass }}
      {{- end }}
      {{- include "simulated.placement" $root.Values.daemonsets | nindent 6 }}
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
    {{- include "simulated.labels" (list $root .name) | nindent 4 }}
{{- end -}}
