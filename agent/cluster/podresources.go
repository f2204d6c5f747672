package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	kubelet "k8s.io/kubelet/pkg/apis/podresources/v1"

	"fairlane/agent/pods/podsock"
)

// Limits of a request to the kubelet.
const (
	podResourcesTimeout = 5 * time.Second
	maxPodResources     = 16 << 20 // bytes
)

// attachPodResources attaches the devices that the kubelet's device plugins gave to pods of this node, where no CNI plugin
// and no claim did: pods that use the host's network, and networks without the plugin in their chain.
func (c *Cluster) attachPodResources(ctx context.Context, table Table, pods []*corev1.Pod) {
	if c.o.PodResources == "" {
		return
	}
	list, err := podResources(ctx, c.o.PodResources)
	if err != nil {
		if ctx.Err() == nil {
			c.log.Warn("devices of pods not read from the kubelet", "error", err.Error())
		}
		return
	}
	uids := map[string]string{}
	for _, p := range pods {
		if !ended(p) {
			uids[p.Namespace+"/"+p.Name] = string(p.UID)
		}
	}
	for _, p := range list {
		uid, ok := uids[p.GetNamespace()+"/"+p.GetName()]
		if !ok {
			continue // not in the cluster yet, or any more
		}
		pod := podsock.Pod{Namespace: p.GetNamespace(), Name: p.GetName(), UID: uid}
		for _, a := range devicesOf(p, pod) {
			c.attach(ctx, table, a, podsock.SourcePodResources)
		}
	}
}

// podResources lists the pods of a kubelet with their devices.
func podResources(ctx context.Context, socket string) ([]*kubelet.PodResources, error) {
	ctx, cancel := context.WithTimeout(ctx, podResourcesTimeout)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxPodResources)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", socket, err)
	}
	defer func() { _ = connection.Close() }()
	answer, err := kubelet.NewPodResourcesListerClient(connection).List(ctx, &kubelet.ListPodResourcesRequest{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", socket, err)
	}
	return answer.GetPodResources(), nil
}

// devicesOf returns the attachments for the network devices of a pod: those whose id is a PCI address or an auxiliary
// device. Other resources have no such ids.
func devicesOf(p *kubelet.PodResources, pod podsock.Pod) []podsock.Attachment {
	var out []podsock.Attachment
	for _, container := range p.GetContainers() {
		for _, resource := range container.GetDevices() {
			for _, id := range resource.GetDeviceIds() {
				if !podsock.IsPCI(id) && !podsock.IsAuxiliary(id) {
					continue
				}
				out = append(out, podsock.Attachment{
					Key: podsock.Key{Network: networkOf(resource.GetResourceName()), ContainerID: pod.UID, Interface: position(len(out))},
					Pod: pod, Device: id,
				})
			}
		}
	}
	return out
}

// networkOf turns the name of a resource, such as "nvidia.com/vf", into the name of a network.
func networkOf(resource string) string { return strings.ReplaceAll(resource, "/", ".") }
