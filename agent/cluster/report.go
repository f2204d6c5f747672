package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"fairlane/agent/pods/podsock"
	"fairlane/kube/v1alpha1"
)

const attachmentResource = "fabricattachments"

// fieldManager owns the fields that the agent writes. The controller writes the rates of the status under its own name.
const fieldManager = "fairlane-agent"

// Reporter writes the FabricAttachments of a node: one for each record of a pod. It writes an object only when it changed, or
// when another program deleted it while its pod exists.
type Reporter struct {
	objects rest.Interface
	node    string
	sent    map[string]reported // by namespace and name
}

// reported is what was last written of an object.
type reported struct{ spec, status [sha256.Size]byte }

// NewReporter returns the reporter of a node, with the node's own account. It sends nothing before Report.
func NewReporter(config *rest.Config, node string) (*Reporter, error) {
	objects, err := clientOf(config, v1alpha1.GroupVersion)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return newReporter(objects, node), nil
}

func newReporter(objects rest.Interface, node string) *Reporter {
	return &Reporter{objects: objects, node: node, sent: map[string]reported{}}
}

// Report writes what changed since the last report, and deletes the objects of attachments that are not among the records. existing are
// the node's objects, as a watch has them, and pods are those of the node. The next report repeats what failed. The error has a line for
// each such object.
func (r *Reporter) Report(ctx context.Context, records []podsock.Record, existing []*v1alpha1.FabricAttachment, pods []*corev1.Pod) error {
	var failed []error
	present := map[string]bool{}
	for _, a := range existing {
		key := a.Namespace + "/" + a.Name
		present[key] = true
		if _, ok := r.sent[key]; !ok {
			r.sent[key] = reported{} // of an earlier run: unlike any hash, so that it is written once
		}
	}
	wanted := map[string]bool{}
	for _, record := range records {
		if record.Pod.Name == "" || record.Pod.UID == "" {
			continue // attached by hand: the cluster knows no such pod
		}
		o := objectOf(&record, r.node)
		key := o.Namespace + "/" + o.Name
		wanted[key] = true
		// Deleted, or so new that no event announced it, which writing it again does not change. Without its pod, Kubernetes would
		// delete it again.
		if !present[key] && slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return string(p.UID) == record.Pod.UID }) {
			delete(r.sent, key)
		}
		if err := r.write(ctx, key, o); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", key, err))
		}
	}
	for key := range r.sent {
		if wanted[key] {
			continue
		}
		namespace, name, _ := strings.Cut(key, "/")
		err := r.objects.Delete().Namespace(namespace).Resource(attachmentResource).Name(name).Do(ctx).Error()
		if err != nil && !apierrors.IsNotFound(err) {
			failed = append(failed, fmt.Errorf("%s: %w", key, err))
			continue
		}
		delete(r.sent, key)
	}
	return errors.Join(failed...)
}

// write applies an object where it differs from what was last written.
func (r *Reporter) write(ctx context.Context, key string, o *v1alpha1.FabricAttachment) error {
	status := v1alpha1.FabricAttachment{TypeMeta: o.TypeMeta, ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}, Status: o.Status}
	now := reported{hashOf(o.Spec), hashOf(status.Status)}
	last := r.sent[key]
	if now.spec != last.spec {
		spec := *o
		spec.Status = v1alpha1.FabricAttachmentStatus{}
		if err := r.apply(ctx, &spec, ""); err != nil {
			return err
		}
		last = reported{spec: now.spec}
		r.sent[key] = last
	}
	if now.status != last.status {
		if err := r.apply(ctx, &status, "status"); err != nil {
			return err
		}
		r.sent[key] = now
	}
	return nil
}

// apply writes an object, or its status, by server-side apply.
func (r *Reporter) apply(ctx context.Context, o *v1alpha1.FabricAttachment, subresource string) error {
	body, err := applied(o, subresource)
	if err != nil {
		return err
	}
	request := r.objects.Patch(types.ApplyPatchType).Namespace(o.Namespace).Resource(attachmentResource).Name(o.Name)
	if subresource != "" {
		request = request.SubResource(subresource)
	}
	return request.VersionedParams(&metav1.PatchOptions{FieldManager: fieldManager, Force: new(true)}, metav1.ParameterCodec).Body(body).Do(ctx).Error()
}

// applied returns the body of an apply: only the part of the object that is written, since an empty one would own fields.
func applied(o *v1alpha1.FabricAttachment, subresource string) ([]byte, error) {
	body := map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "FabricAttachment"}
	meta := map[string]any{"name": o.Name, "namespace": o.Namespace}
	if subresource == "status" {
		body["status"] = o.Status
	} else {
		meta["labels"], meta["ownerReferences"] = o.Labels, o.OwnerReferences
		body["spec"] = o.Spec
	}
	body["metadata"] = meta
	return json.Marshal(body)
}

func hashOf(v any) [sha256.Size]byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // types of this module: every value can be encoded
	}
	return sha256.Sum256(text)
}

// objectOf returns the object of a record.
func objectOf(r *podsock.Record, node string) *v1alpha1.FabricAttachment {
	o := &v1alpha1.FabricAttachment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.Pod.Namespace, Name: nameOf(r), Labels: map[string]string{v1alpha1.NodeLabel: node},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: r.Pod.Name, UID: types.UID(r.Pod.UID)}},
		},
		Spec: v1alpha1.FabricAttachmentSpec{
			Pod: v1alpha1.AttachedPod{Name: r.Pod.Name, UID: types.UID(r.Pod.UID)}, Node: node,
			Network: r.Network, Interface: r.Interface, ContainerID: short(r.ContainerID), Source: v1alpha1.Source(r.Source), Binding: r.Binding, Class: r.Class,
			Device: v1alpha1.AttachedDevice{ID: deviceID(r), RDMA: r.Found.RDMA, Netdev: r.Found.NetDev, PF: r.Found.PF, GUID: r.Found.GUID, Port: r.Found.Port},
		},
		Status: v1alpha1.FabricAttachmentStatus{
			Applied: classValues(r.Applied, r.Levers.ShareOf1000), ReadBack: classValues(r.ReadBack, nil), Drift: r.Drift, Reason: clip(reasonOf(r), 1024),
		},
	}
	if r.ClaimedBps > 0 {
		o.Spec.ClaimedBps = &r.ClaimedBps
	}
	if r.Found.VF != nil {
		o.Spec.Device.VF = new(int32(*r.Found.VF))
	}
	return o
}

// reasonOf returns why the class of a record is not in force, or not all of it.
func reasonOf(r *podsock.Record) string {
	return strings.Join(slices.DeleteFunc([]string{r.Reason, r.Missing}, func(s string) bool { return s == "" }), "; ")
}

// deviceID returns the id of a device. A network without devices of its own has none, and is named by its network.
func deviceID(r *podsock.Record) string {
	return cmp.Or(r.Device, r.SharedDevice, "shared")
}

// nameOf returns the name of the object of a record: the pod and the interface for people, and a hash that makes it unique.
func nameOf(r *podsock.Record) string {
	sum := sha256.Sum256([]byte(r.Key.String()))
	pod := strings.TrimRight(clip(r.Pod.Name, 200), ".-")
	return fmt.Sprintf("%s-%s", pod, hex.EncodeToString(sum[:5]))
}

func classValues(s podsock.Settings, share *uint16) *v1alpha1.DeviceClass {
	if s == (podsock.Settings{}) {
		return nil
	}
	out := &v1alpha1.DeviceClass{}
	if s.MaxMbps != nil {
		out.MaxMbps = new(int64(*s.MaxMbps))
	}
	if share != nil && s.ShareMbps != nil {
		out.ShareOf1000 = new(int32(*share))
	}
	if s.TOS != nil {
		out.TOS = new(int32(*s.TOS))
	}
	return out
}

// clip shortens a text to a number of bytes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

func short(id string) string { return clip(id, 128) }
