package controller

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlane/kube/v1alpha1"
)

// freshFor is how long a measurement counts as current.
const freshFor = 10 * time.Minute

func (p *pass) stale() bool {
	return p.shares.MeasuredAt.IsZero() || p.Now().Sub(p.shares.MeasuredAt) > freshFor
}

// portShare is how a tenant does on one port.
type portShare struct {
	entitled, delivered *int64
	cause               string // why the port is below its entitlement; empty if it is not
}

// reportAttachments writes the figures of attachments whose port has some, and records events of pods.
func (p *pass) reportAttachments(ctx context.Context) error {
	if !p.reached {
		return nil // without an answer the last figures stay, and the binding's condition says why
	}
	pods := map[types.UID]*podShare{}
	links, planned := p.linksByPort(), p.planned()
	var writes []figures
	for _, c := range p.claims {
		alias := aliases(p.tenants[c.binding.Spec.Tenant].tenant.Ports)
		for _, a := range c.attachments {
			port := alias.id(a.Spec.Device.Port)
			s := p.portShare(c.binding.Spec.Tenant, links[port])
			pod := pods[a.Spec.Pod.UID]
			if pod == nil {
				pod = &podShare{attachment: a}
				pods[a.Spec.Pod.UID] = pod
			}
			pod.add(s)
			if f := figuresOf(a, s, planned[tenantPort{c.binding.Spec.Tenant, port}]); f.changed() {
				writes = append(writes, f)
			}
		}
	}
	err := p.writeFigures(ctx, writes)
	for uid := range p.memory.pods {
		if pods[uid] == nil {
			delete(p.memory.pods, uid)
		}
	}
	for uid, pod := range pods {
		p.recordPod(uid, pod)
	}
	return err
}

// tenantPort is a tenant on a port.
type tenantPort struct{ tenant, port string }

// planned returns what the plan in force has for tenants on ports.
func (p *pass) planned() map[tenantPort]*v1alpha1.DeviceClass {
	out := map[tenantPort]*v1alpha1.DeviceClass{}
	for _, pl := range p.plan.Placements {
		class := &v1alpha1.DeviceClass{SL: pl.SL, ShareOf1000: pl.Share}
		if pl.DSCP != nil && pl.Share == nil {
			class.ShareOf1000 = new(int32(0))
		}
		out[tenantPort{pl.Tenant, pl.Port}] = class
	}
	return out
}

// linksByPort returns the measured links by the ports at their ends; none from an old measurement.
func (p *pass) linksByPort() map[string][]*LinkShare {
	links := map[string][]*LinkShare{}
	if p.stale() {
		return links
	}
	for i := range p.shares.Links {
		l := &p.shares.Links[i]
		links[l.Port], links[l.Peer] = append(links[l.Port], l), append(links[l.Peer], l)
	}
	return links
}

// portShare returns how a tenant does on the links of a port: in the direction in which it receives the least of its entitlement.
func (p *pass) portShare(tenant string, links []*LinkShare) portShare {
	var worst portShare
	var least float64
	for _, l := range links {
		for _, t := range l.Tenants {
			if t.Tenant != tenant {
				continue
			}
			s := portShare{entitled: &t.EntitledBps, delivered: t.DeliveredBps}
			fraction := 1.0
			if t.DeliveredBps != nil && t.EntitledBps > 0 {
				fraction = float64(*t.DeliveredBps) / float64(t.EntitledBps)
			}
			if fraction < 1-p.shares.Tolerance {
				s.cause = cause(l, tenant, t.Contention, p.shares.Tolerance)
			}
			if worst.entitled == nil || fraction < least {
				worst, least = s, fraction
			}
		}
	}
	return worst
}

// cause returns why a tenant is below its entitlement on a link; empty when it does not request more. It names no tenant:
// a namespace must not learn which others there are.
func cause(l *LinkShare, tenant, contention string, tolerance float64) string {
	switch contention {
	case "path-down":
		return causePathDown
	case "contending":
	default:
		return ""
	}
	for _, t := range l.Tenants {
		if t.Tenant != tenant && t.DeliveredBps != nil && float64(*t.DeliveredBps) > float64(t.right())*(1+tolerance) {
			return causeExceeded
		}
	}
	return causeWithinRights
}

// right returns what the tenant may have on the link now.
func (t *LinkTenant) right() int64 {
	if t.EntitledNowBps != nil {
		return max(*t.EntitledNowBps, t.EntitledBps)
	}
	return t.EntitledBps
}

// podShare sums up the ports of one pod.
type podShare struct {
	attachment   *v1alpha1.FabricAttachment
	ports, below int
	cause        string
}

func (s *podShare) add(port portShare) {
	s.ports++
	if port.cause != "" {
		s.below++
	}
	s.cause = max(s.cause, port.cause) // one sentence for the pod, whatever the order of its ports
}

// recordPod records an event when a pod's ports fall below their entitlement, when their number or the cause changes, and when
// all are back.
func (p *pass) recordPod(uid types.UID, s *podShare) {
	v, kind := saidPodHeld(s.ports), corev1.EventTypeNormal
	if s.below > 0 {
		v, kind = saidPodBelow(s.below, s.ports, s.cause), corev1.EventTypeWarning
	}
	last, known := p.memory.pods[uid]
	if s.below == 0 && !known || last == v.text {
		return
	}
	if s.below == 0 {
		delete(p.memory.pods, uid)
	} else {
		p.memory.pods[uid] = v.text
	}
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Namespace, pod.Name, pod.UID = s.attachment.Namespace, s.attachment.Spec.Pod.Name, uid
	p.Events.Eventf(pod, nil, kind, v.reason, "MeasureShares", "%s", v.text)
}

// portAliases maps the forms of a port's name to its id.
type portAliases map[string]string

func aliases(ports []Port) portAliases {
	m := portAliases{}
	for _, p := range ports {
		m[strings.ToLower(p.ID)] = p.ID
		if host, number, ok := strings.Cut(p.Name, "/P"); ok {
			m[strings.ToLower(host+":"+number)] = p.ID
		}
	}
	return m
}

// id returns the id of a port named as GUID:PORT, HOST:PORT or HOST, empty for a port that is none of the tenant's.
func (m portAliases) id(port string) string {
	port = strings.ToLower(port)
	if id, ok := m[port]; ok {
		return id
	}
	return m[port+":1"]
}
