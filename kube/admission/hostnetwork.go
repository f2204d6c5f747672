package admission

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// verbsFolder is where the kernel's character devices for RDMA are.
const verbsFolder = "/dev/infiniband"

// hostDevice returns by what a pod reaches the RDMA devices of its host, empty if by nothing: a resource, a mounted device
// folder, or a privileged container.
func (p *Pods) hostDevice(pod *corev1.PodSpec) string {
	for _, v := range pod.Volumes {
		if v.HostPath != nil && opensVerbs(v.HostPath.Path) {
			return "the volume " + v.Name
		}
	}
	for _, all := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for _, c := range all {
			if s := c.SecurityContext; s != nil && s.Privileged != nil && *s.Privileged {
				return "the privileged container " + c.Name
			}
			for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
				for name := range list {
					if p.isRDMA(string(name)) {
						return "the resource " + string(name)
					}
				}
			}
		}
	}
	return ""
}

func (p *Pods) isRDMA(resource string) bool {
	for _, pattern := range p.Resources {
		if ok, err := path.Match(pattern, resource); err == nil && ok {
			return true
		}
	}
	return false
}

// opensVerbs reports whether a host path holds the character devices or is one of them.
func opensVerbs(host string) bool {
	host = path.Clean(host)
	return host == "/" || host == "/dev" || host == verbsFolder || strings.HasPrefix(host, verbsFolder+"/")
}
