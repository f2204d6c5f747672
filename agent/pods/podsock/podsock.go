// Package podsock is the protocol between the host agent and its clients on the same host, such as the CNI plugin: HTTP/1.1
// with JSON bodies over a Unix socket. It has the wire types with their checks, the client, and the spool that keeps
// requests for an agent that does not run.
//
// A response other than 200 has a Problem. Unknown members of a body are ignored, so that a newer client works with an older
// agent.
//
//	PUT    /v1/attachments        Attachment -> Record   attach: CNI's ADD
//	POST   /v1/attachments/check  Attachment -> {}       compare with the device: CHECK
//	DELETE /v1/attachments        Key        -> {}       release: DEL
//	GET    /v1/attachments        -> List                ?counters=true adds counters
//	POST   /v1/gc                 GC         -> Released
//	GET    /v1/status             -> Status
package podsock

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Limits and defaults of the protocol.
const (
	DefaultSocket = "/run/fairlane-agent/pods.sock"
	DefaultSpool  = "/var/lib/fairlane-agent/pods/spool"

	MaxBody     = 64 << 10        // bytes of a request, and of a response but a list
	MaxGC       = 1 << 20         // bytes of a request for a collection
	MaxList     = 16 << 20        // bytes of a list of records
	CallTimeout = 2 * time.Second // of one call, at the client

	PathAttachments = "/v1/attachments"
	PathCheck       = "/v1/attachments/check"
	PathGC          = "/v1/gc"
	PathStatus      = "/v1/status"
)

// Key identifies an attachment: one interface of one sandbox in one network.
type Key struct {
	Network     string `json:"network"`
	ContainerID string `json:"container_id"`
	Interface   string `json:"interface"`
}

// String formats a key as "network container-id interface".
func (k Key) String() string { return k.Network + " " + k.ContainerID + " " + k.Interface }

// Pod identifies a pod. Its values come from the container runtime, never from what the author of a pod writes.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// FailPolicy says whether a pod may start when its class cannot be applied.
type FailPolicy string

// Policies. The empty policy stands for the default: closed in a namespace that is bound to a tenant, otherwise open.
const (
	Closed FailPolicy = "closed"
	Open   FailPolicy = "open"
)

// Attachment is the request to attach a pod's device.
type Attachment struct {
	Key
	NetNS string `json:"netns,omitempty"` // absolute path
	Pod   Pod    `json:"pod"`
	// Device is a PCI address such as "0000:3b:00.2", or an auxiliary device such as "mlx5_core.sf.4"; empty for a network
	// without devices of its own, such as macvlan on a shared RDMA device.
	Device string `json:"device,omitempty"`
	// GUID was requested for an InfiniBand device. It is recorded, and decides nothing.
	GUID string `json:"guid,omitempty"`
	// FailPolicy is that of the network; empty: that of the binding.
	FailPolicy FailPolicy `json:"fail_policy,omitempty"`
	// Assigned is the class that an administrator gave to the device, by a DeviceClass; empty: that of the binding. The agent
	// ignores it in requests.
	Assigned string `json:"assigned_class,omitempty"`
	// SharedDevice is a device that several claims hold, so that no class is applied to it: it only says on which port the pod
	// is. The agent ignores it in requests.
	SharedDevice string `json:"shared_device,omitempty"`
	// ClaimedBps is the rate that the cluster's scheduler booked for the pod on its device, in bit/s; 0: none. The agent ignores
	// it in requests.
	ClaimedBps int64 `json:"claimed_bps,omitempty"`
}

// Levers are what a class sets on each device of its pods. A nil lever is not set.
type Levers struct {
	MaxMbps     *uint32 `json:"max_mbps,omitempty"`      // maximum rate, in Mbit/s, from 1
	ShareOf1000 *uint16 `json:"share_of_1000,omitempty"` // guaranteed part of the port's rate, in thousandths, 1 to 1000
	TOS         *uint8  `json:"tos,omitempty"`           // default type of service of RDMA-CM connections: DSCP * 4 + ECN
}

// Settings are values of a device. A nil value is unknown or not offered, never zero.
type Settings struct {
	MaxMbps   *uint32 `json:"max_mbps,omitempty"`   // Mbit/s; 0 is no limit
	ShareMbps *uint32 `json:"share_mbps,omitempty"` // Mbit/s; 0 is none
	TOS       *uint8  `json:"tos,omitempty"`
}

// Device is what the agent knows of a pod's device. Fields that are unknown are empty.
type Device struct {
	ID       string `json:"id"`
	RDMA     string `json:"rdma,omitempty"`      // RDMA device, with its name on the host, such as "mlx5_2"
	RDMAPort int    `json:"rdma_port,omitempty"` // from 1
	GUID     string `json:"guid,omitempty"`      // node GUID of the RDMA device
	NetDev   string `json:"netdev,omitempty"`    // with its name on the host
	PF       string `json:"pf,omitempty"`        // PCI address of its physical function
	PFNetDev string `json:"pf_netdev,omitempty"`
	VF       *int   `json:"vf,omitempty"`   // index of the virtual function, from 0; nil: none
	Port     string `json:"port,omitempty"` // physical port as managers identify it: node GUID of the PF, and its RDMA port
	Link     string `json:"link,omitempty"` // link layer, "Ethernet" or "InfiniBand"
}

// Source says where a record comes from.
type Source string

// Sources.
const (
	SourceCNI          Source = "CNI"
	SourceClaim        Source = "Claim"
	SourcePodResources Source = "PodResources"
)

// Record is an attachment as the agent holds it.
type Record struct {
	Attachment
	Source  Source `json:"source"`
	Binding string `json:"binding,omitempty"` // name; empty: the namespace is not bound
	Tenant  string `json:"tenant,omitempty"`
	Class   string `json:"class,omitempty"`
	Levers  Levers `json:"levers"` // of the class
	// Weight is that of the class among the classes of the tenant, which divide the share; 0: the share is the class's own.
	Weight float64 `json:"weight,omitempty"`
	// DividedBy is the number of devices on the port that divide the share; 0 before any was set.
	DividedBy int `json:"divided_by,omitempty"`
	// PartOf1000 is the device's part of the port, in thousandths; 0 before any was set.
	PartOf1000 uint16   `json:"part_of_1000,omitempty"`
	Found      Device   `json:"found"`
	Before     Settings `json:"before"`    // values before the class was applied, which a release restores
	Applied    Settings `json:"applied"`   // values that were written and verified
	ReadBack   Settings `json:"read_back"` // last values read from the device
	// Pending means that the class is not in force: it could not be applied, and the agent retries.
	Pending bool `json:"pending,omitempty"`
	// Releasing means that the pod is gone, and the device could not be restored yet.
	Releasing bool   `json:"releasing,omitempty"`
	Drift     bool   `json:"drift"`            // the device has other values than Applied, and not those of Before
	Reason    string `json:"reason,omitempty"` // why it is pending, releasing, drifted or unreadable
	// Missing says which levers of the class the device does not offer, and why.
	Missing string    `json:"missing,omitempty"`
	Added   time.Time `json:"added"`
	Checked time.Time `json:"checked"` // last read of the device
	// Counters are those of the device that can be read on the host, and only where a list requests them.
	Counters map[string]uint64 `json:"counters,omitempty"`
}

// List is the response with all records.
type List struct {
	Records []Record `json:"records"` // by network, container, interface
}

// Valid names an attachment that a garbage collection keeps.
type Valid struct {
	ContainerID string `json:"container_id"`
	Interface   string `json:"interface"`
}

// GC requests the release of all attachments of one network by CNI but the valid ones. An empty list is valid, and releases all.
type GC struct {
	Network string  `json:"network"`
	Valid   []Valid `json:"valid"`
}

// Released is the response to GC.
type Released struct {
	Released int `json:"released"`
}

// Status is the state of the agent.
type Status struct {
	Version    string `json:"version"`
	Loaded     bool   `json:"loaded"` // the inventory of devices has been read
	Devices    int    `json:"devices"`
	Records    int    `json:"records"`
	Pending    int    `json:"pending"`
	Drifted    int    `json:"drifted"`
	Unreadable int    `json:"unreadable"` // records whose device cannot be read
	Problem    string `json:"problem,omitempty"`
}

// Code is the kind of a problem.
type Code string

// Codes.
const (
	CodeInvalid  Code = "invalid"   // the request is not valid
	CodeTryAgain Code = "try-again" // not possible now, such as while the bindings are unknown
	CodeUnknown  Code = "unknown"   // no such record
	CodeDrift    Code = "drift"     // CHECK found a difference
	CodeDevice   Code = "device"    // the device refused, or was not found
	CodeDenied   Code = "denied"    // the caller may not use the socket
	CodeInternal Code = "internal"
)

// Problem is the error of a call.
type Problem struct {
	Code   Code   `json:"code"`
	Detail string `json:"detail"`
	cause  error
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// Unwrap returns the cause; nil at a client.
func (p *Problem) Unwrap() error { return p.cause }

// Problemf returns a problem with a text formatted as by fmt.Errorf.
func Problemf(code Code, format string, args ...any) *Problem {
	err := fmt.Errorf(format, args...)
	return &Problem{code, err.Error(), errors.Unwrap(err)}
}

// ProblemOf returns the problem of an error; an error without one is internal.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return &Problem{p.Code, err.Error(), err}
	}
	return &Problem{CodeInternal, err.Error(), err}
}

// HTTPStatus returns the HTTP status of a code.
func (c Code) HTTPStatus() int {
	switch c {
	case CodeInvalid:
		return http.StatusBadRequest
	case CodeDenied:
		return http.StatusForbidden
	case CodeUnknown:
		return http.StatusNotFound
	case CodeDrift:
		return http.StatusConflict
	case CodeTryAgain:
		return http.StatusServiceUnavailable
	case CodeDevice:
		return http.StatusUnprocessableEntity
	default:
		return http.StatusInternalServerError
	}
}

// form is the form of a name. Lengths are apart from the pattern: compiling counted repetitions would take a plugin longer
// than its call.
type form struct {
	pattern *regexp.Regexp
	most    int // bytes
}

func (f form) fits(name string) bool { return len(name) <= f.most && f.pattern.MatchString(name) }

// The forms of names. A name must not be able to change the meaning of a path or of a line of a log.
var (
	identifier = form{regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`), 253} // of networks and containers
	namespace  = form{regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`), 63}
	podName    = form{regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`), 253}
	podUID     = form{regexp.MustCompile(`^[a-zA-Z0-9-]+$`), 128}
	pciAddress = form{regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f][0-9a-f]:[01][0-9a-f]\.[0-7]$`), 16}
	auxDevice  = form{regexp.MustCompile(`^[a-z][a-z0-9_]*\.[a-z][a-z0-9_-]*\.[0-9]+$`), 64}
	guid       = form{regexp.MustCompile(`^(0x)?[0-9a-fA-F][0-9a-fA-F](:?[0-9a-fA-F][0-9a-fA-F]){7}$`), 25}
)

// IsPCI reports whether a device is a PCI address, such as "0000:3b:00.2".
func IsPCI(device string) bool { return pciAddress.fits(device) }

// IsAuxiliary reports whether a device is an auxiliary device, such as "mlx5_core.sf.4".
func IsAuxiliary(device string) bool { return auxDevice.fits(device) }

// Clip shortens text of a caller for a message, quoted.
func Clip(text string) string {
	const most = 80
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strconv.Quote(text)
}

func invalid(field, found, want string) error {
	return Problemf(CodeInvalid, "%s: found %s, want %s", field, Clip(found), want)
}

// Check checks a key.
func (k Key) Check() error {
	switch {
	case !identifier.fits(k.Network):
		return invalid("network", k.Network, "1 to 253 characters of a-z A-Z 0-9 _ . -, the first a letter or digit")
	case !identifier.fits(k.ContainerID):
		return invalid("container_id", k.ContainerID, "1 to 253 characters of a-z A-Z 0-9 _ . -, the first a letter or digit")
	case k.Interface == "" || len(k.Interface) > 15 || k.Interface == "." || k.Interface == ".." || strings.ContainsFunc(k.Interface, func(r rune) bool { return r <= ' ' || r == '/' || r == ':' || r >= 0x7f }):
		return invalid("interface", k.Interface, "1 to 15 printable ASCII characters without space, slash and colon")
	}
	return nil
}

// CheckIdentity checks a pod's identity: a namespace, and the name and UID if they are present.
func (p Pod) CheckIdentity() error {
	switch {
	case !namespace.fits(p.Namespace):
		return invalid("pod namespace", p.Namespace, "a DNS label of at most 63 characters")
	case p.Name != "" && !podName.fits(p.Name):
		return invalid("pod name", p.Name, "a DNS name of at most 253 characters")
	case p.UID != "" && !podUID.fits(p.UID):
		return invalid("pod UID", p.UID, "1 to 128 letters, digits and hyphens")
	}
	return nil
}

// Check checks a policy; the empty one is valid.
func (f FailPolicy) Check() error {
	if f != "" && f != Closed && f != Open {
		return invalid("fail policy", string(f), "closed, open or empty")
	}
	return nil
}

// CheckDevice checks the name of a device; the empty one is valid.
func CheckDevice(device string) error {
	if device != "" && !IsPCI(device) && !IsAuxiliary(device) {
		return invalid("device", device, "a PCI address such as 0000:3b:00.2, or an auxiliary device such as mlx5_core.sf.4")
	}
	return nil
}

// CheckGUID checks a GUID; the empty one is valid.
func CheckGUID(text string) error {
	if text != "" && !guid.fits(text) {
		return invalid("GUID", text, "8 bytes in hexadecimal, such as 02:00:00:00:00:00:00:01")
	}
	return nil
}

// Check checks an attachment.
func (a *Attachment) Check() error {
	if a.NetNS != "" && (!filepath.IsAbs(a.NetNS) || len(a.NetNS) > 4096 || strings.ContainsRune(a.NetNS, 0)) {
		return invalid("netns", a.NetNS, "an absolute path")
	}
	return cmp.Or(a.Key.Check(), a.Pod.CheckIdentity(), a.FailPolicy.Check(), CheckDevice(a.Device), CheckDevice(a.SharedDevice), CheckGUID(a.GUID))
}

// maxValid bounds the attachments of a collection: those of a full node several times over.
const maxValid = 4096

// Check checks the request of a collection. A missing list is an error: it would release everything.
func (g *GC) Check() error {
	if !identifier.fits(g.Network) {
		return invalid("network", g.Network, "the name of a network")
	}
	if g.Valid == nil {
		return Problemf(CodeInvalid, "valid: found no list, want the attachments to keep; an empty list releases all")
	}
	if len(g.Valid) > maxValid {
		return Problemf(CodeInvalid, "valid: found %d attachments, want at most %d", len(g.Valid), maxValid)
	}
	for _, v := range g.Valid {
		if err := (Key{g.Network, v.ContainerID, v.Interface}).Check(); err != nil {
			return err
		}
	}
	return nil
}
