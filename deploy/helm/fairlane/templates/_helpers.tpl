{{/* Labels of a component's objects, by its name. */}}
{{- define "fairlane.labels" -}}
app.kubernetes.io/name: {{ . }}
app.kubernetes.io/part-of: fairlane
{{- end -}}

{{/* An image: dict with root and image. A digest wins over a tag. */}}
{{- define "fairlane.image" -}}
{{- $registry := required "image.registry: found none, want the registry to which your site pushes the images, such as registry.example/fairlane (docs/kubernetes.md, Images)" .root.Values.image.registry -}}
{{- $registry }}/{{ .image.repository }}{{ if .image.digest }}@{{ .image.digest }}{{ else }}:{{ .image.tag | default .root.Chart.AppVersion }}{{ end -}}
{{- end -}}

{{/* Where pods may run, and from where images are pulled: dict with root and of, the component. */}}
{{- define "fairlane.placement" -}}
{{- with .of.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .of.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Replicas on different nodes where possible, by a component's name. */}}
{{- define "fairlane.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {app.kubernetes.io/name: {{ . }}}
{{- end -}}

{{/* Pods that need nothing of their node. */}}
{{- define "fairlane.unprivileged" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "fairlane.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* What the agent may do on its host. */}}
{{- define "fairlane.agent.rights" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
  add: [NET_ADMIN] # DCB and devlink netlink, rates of virtual functions, counters by RDMA netlink
{{- end -}}

{{- define "fairlane.agent.mounts" -}}
- {name: config, mountPath: /etc/fairlane-agent/agent.yaml, subPath: agent.yaml, readOnly: true}
{{- if .gnmi.enabled }}
- {name: tls, mountPath: /etc/fairlane-agent/tls, readOnly: true}
{{- end }}
- {name: sys, mountPath: /sys, mountPropagation: HostToContainer} # with debugfs and configfs, where the host has them
- {name: state, mountPath: /var/lib/fairlane-agent}
- {name: run, mountPath: /run/fairlane-agent}
- {name: netns, mountPath: /run/netns, readOnly: true, mountPropagation: HostToContainer}
- {name: pod-resources, mountPath: /var/lib/kubelet/pod-resources, readOnly: true}
{{- if .cni.rdmaState }}
- {name: rdma-cni, mountPath: /var/lib/cni/rdma, readOnly: true}
{{- end }}
{{- end -}}
