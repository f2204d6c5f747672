package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"

	"fairlane/agent/pods/podsock"
	"fairlane/kube/v1alpha1"
)

// addresses are the attributes of a device in a ResourceSlice that hold its PCI address: the standard one of Kubernetes,
// and that of DraNet before it. Only the driver of the node can write them.
var addresses = []resourcev1.QualifiedName{"resource.kubernetes.io/pciBusID", "dra.net/pciAddress"}

// addressesOf returns the attributes that hold a device's address.
func addressesOf(attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute) map[resourcev1.QualifiedName]resourcev1.DeviceAttribute {
	out := map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}
	for _, name := range addresses {
		if a, ok := attributes[name]; ok {
			out[name] = a
		}
	}
	return out
}

// addressOf returns the PCI address of a device of this node's slices; empty if none says it.
func addressOf(slices []*resourcev1.ResourceSlice, driver, pool, device string) string {
	for _, s := range slices {
		if s.Spec.Driver != driver || s.Spec.Pool.Name != pool {
			continue
		}
		for i := range s.Spec.Devices {
			if s.Spec.Devices[i].Name != device {
				continue
			}
			for _, name := range addresses {
				if a := s.Spec.Devices[i].Attributes[name].StringValue; a != nil && podsock.IsPCI(strings.ToLower(*a)) {
					return strings.ToLower(*a)
				}
			}
		}
	}
	return ""
}

// claimNames returns the names of a pod's claims, which are in its namespace.
func claimNames(p *corev1.Pod) []string {
	var out []string
	for i := range p.Spec.ResourceClaims {
		if n := p.Spec.ResourceClaims[i].ResourceClaimName; n != nil {
			out = append(out, *n)
		}
	}
	for i := range p.Status.ResourceClaimStatuses { // claims made from templates
		if n := p.Status.ResourceClaimStatuses[i].ResourceClaimName; n != nil {
			out = append(out, *n)
		}
	}
	return out
}

// attachClaims attaches the devices of the claims that pods of this node hold. A claim that no event announces, because
// its driver completes it after the pod's last event, is found by a later round.
func (c *Cluster) attachClaims(ctx context.Context, table Table, pods []*corev1.Pod) {
	devices := all[*resourcev1.ResourceSlice](c.sources.slices)
	for _, p := range pods {
		if ended(p) {
			continue
		}
		for _, name := range claimNames(p) {
			var claim resourcev1.ResourceClaim
			err := c.claims.Get().Namespace(p.Namespace).Resource("resourceclaims").Name(name).Do(ctx).Into(&claim)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				c.log.Warn("claim not read", "namespace", p.Namespace, "claim", name, "error", err.Error())
				continue
			}
			for _, a := range attachmentsOf(p, &claim, devices) {
				c.attach(ctx, table, a, podsock.SourceClaim)
			}
		}
	}
}

// attach adds an attachment that is not in the table as it is. A device that another source reported is in the table without
// the class that a DeviceClass assigned to it. A pod that runs already cannot be refused: what fails is tried again in the next
// round, and the record says so.
func (c *Cluster) attach(ctx context.Context, table Table, a podsock.Attachment, source podsock.Source) {
	for _, r := range table.List(ctx, false) {
		mine := r.Key == a.Key
		same := mine || a.Device != "" && r.Device == a.Device
		news := a.Assigned != "" && a.Assigned != r.Assigned || mine && (a.SharedDevice != r.SharedDevice || a.ClaimedBps != r.ClaimedBps)
		if r.Pod.UID == a.Pod.UID && same && !news {
			return
		}
	}
	a.FailPolicy = podsock.Open
	if _, err := table.Add(ctx, a, source); err != nil && ctx.Err() == nil {
		c.log.Warn("device of a pod not attached", "pod", a.Pod.Namespace+"/"+a.Pod.Name, "device", a.Device, "source", source, "error", err.Error())
	}
}

// attachmentsOf returns the attachments that a claim gives to a pod: one for each of its devices with a PCI address. A claim
// that is not reserved for the pod gives none. A device that several claims share has an attachment without a device of its own:
// its settings would act on all of them.
func attachmentsOf(p *corev1.Pod, claim *resourcev1.ResourceClaim, devices []*resourcev1.ResourceSlice) []podsock.Attachment {
	reserved := slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool {
		return r.APIGroup == "" && r.Resource == "pods" && r.UID == p.UID
	})
	if !reserved || claim.Status.Allocation == nil || claim.Namespace != p.Namespace {
		return nil
	}
	var out []podsock.Attachment
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		address := addressOf(devices, result.Driver, result.Pool, result.Device)
		if address == "" || result.AdminAccess != nil && *result.AdminAccess {
			continue // not a device of this node's network, or access for monitoring only
		}
		a := podsock.Attachment{
			Key: podsock.Key{Network: claim.Name, ContainerID: string(p.UID), Interface: interfaceOf(claim, result, i)},
			Pod: podsock.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}, Device: address,
			Assigned: classOf(claim.Status.Allocation.Devices.Config, result.Request), ClaimedBps: bandwidthOf(result.ConsumedCapacity),
		}
		if result.ShareID != nil {
			a.Device, a.SharedDevice, a.Interface = "", address, position(i)
		}
		out = append(out, a)
	}
	return out
}

// bandwidth is the name of the capacity that is a rate in bit/s, within the domain of any driver, as in the documentation of
// Kubernetes.
const bandwidth = "bandwidth"

// maxClaimed bounds a rate, as the manager does.
const maxClaimed = 1_000_000_000_000_000

// bandwidthOf returns the rate among the capacities that a request consumes of its device, in bit/s; 0 without one. Only the
// scheduler writes them.
func bandwidthOf(consumed map[resourcev1.QualifiedName]resource.Quantity) int64 {
	most := int64(0)
	for name, q := range consumed {
		if _, id, found := strings.Cut(string(name), "/"); (found && id == bandwidth) || string(name) == bandwidth {
			most = max(most, min(q.Value(), maxClaimed))
		}
	}
	return most
}

// interfaceOf returns the name of a device in its pod, or its position in the claim before the driver says it.
func interfaceOf(claim *resourcev1.ResourceClaim, result *resourcev1.DeviceRequestAllocationResult, i int) string {
	for k := range claim.Status.Devices {
		d := &claim.Status.Devices[k]
		if d.Driver == result.Driver && d.Pool == result.Pool && d.Device == result.Device && d.NetworkData != nil {
			if name := d.NetworkData.InterfaceName; name != "" && len(name) <= 15 {
				return name
			}
		}
	}
	return position(i)
}

// position names a device of a claim by its position in the results.
func position(i int) string { return fmt.Sprintf("device%d", i) }

// classOf returns the class that the administrator's DeviceClass gives to a request; empty: that of the binding.
// Configuration of the claim is ignored, because the author of a pod writes it.
func classOf(config []resourcev1.DeviceAllocationConfiguration, request string) string {
	for i := range config {
		c := &config[i]
		if c.Source != resourcev1.AllocationConfigSourceClass || c.Opaque == nil || c.Opaque.Driver != v1alpha1.Group {
			continue
		}
		main, _, _ := strings.Cut(request, "/") // a subrequest is named REQUEST/SUBREQUEST
		if len(c.Requests) > 0 && !slices.Contains(c.Requests, request) && !slices.Contains(c.Requests, main) {
			continue
		}
		var parameters struct {
			Class string `json:"class"`
		}
		if json.Unmarshal(c.Opaque.Parameters.Raw, &parameters) == nil {
			return parameters.Class
		}
	}
	return ""
}
