package cni

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"fairlane/agent/pods/podsock"
)

// Conf is the plugin's part of a network configuration, with what runtimes add to it. The member args, which holds what
// the author of a pod wrote into an annotation, is deliberately not read.
type Conf struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	// Socket is that of the host agent, an absolute path; empty: podsock.DefaultSocket.
	Socket string `json:"socket"`
	// FailPolicy is closed or open; empty: that of the binding.
	FailPolicy podsock.FailPolicy `json:"failPolicy"`
	// Spool is the directory of requests that are kept while no agent runs; empty: podsock.DefaultSpool.
	Spool string `json:"spool"`
	// DeviceID is what Multus adds to every plugin of a list. It wins over the capability of the same name.
	DeviceID      string `json:"deviceID"`
	RuntimeConfig struct {
		DeviceID       string `json:"deviceID"`
		InfinibandGUID string `json:"infinibandGUID"`
	} `json:"runtimeConfig"`
	PrevResult json.RawMessage `json:"prevResult"`
	// Valid and Attachments list the attachments that a collection keeps. The second key is an old error in the
	// specification's text; nil means that the caller passed no list.
	Valid       []types.GCAttachment `json:"cni.dev/valid-attachments"`
	Attachments []types.GCAttachment `json:"cni.dev/attachments"`
}

// Keys are the members of a configuration that only this plugin reads.
func Keys() []string { return []string{"socket", "failPolicy", "spool"} }

// Parse decodes and checks a configuration. Its errors have the codes of the CNI specification.
func Parse(stdin []byte) (*Conf, error) {
	c, err := decode(stdin)
	if err != nil {
		return nil, types.NewError(types.ErrDecodingFailure, "fairlane: network configuration: "+err.Error(), "")
	}
	for _, path := range []struct{ key, value string }{{"socket", c.Socket}, {"spool", c.Spool}} {
		if !filepath.IsAbs(path.value) {
			return nil, invalid("%s: found %s, want an absolute path", path.key, podsock.Clip(path.value))
		}
	}
	for _, err := range []error{c.FailPolicy.Check(), podsock.CheckDevice(c.device()), podsock.CheckGUID(c.RuntimeConfig.InfinibandGUID)} {
		if err != nil {
			return nil, invalid("%v", err)
		}
	}
	return c, nil
}

// decode decodes a configuration and fills in the defaults. After an error it returns what could be decoded.
func decode(stdin []byte) (*Conf, error) {
	c := &Conf{}
	err := json.Unmarshal(stdin, c)
	if c.Socket == "" {
		c.Socket = podsock.DefaultSocket
	}
	if c.Spool == "" {
		c.Spool = podsock.DefaultSpool
	}
	return c, err
}

func invalid(format string, args ...any) error {
	return types.NewError(types.ErrInvalidNetworkConfig, "fairlane: network configuration: "+fmt.Sprintf(format, args...), "")
}

// device returns the name of the pod's device; empty when the network has none.
func (c *Conf) device() string {
	if c.DeviceID != "" {
		return c.DeviceID
	}
	return c.RuntimeConfig.DeviceID
}

// valid returns the attachments that a collection keeps: those in either list. ok is false when the caller passed no list.
func (c *Conf) valid() (list []podsock.Valid, ok bool) {
	list = []podsock.Valid{}
	seen := map[types.GCAttachment]bool{}
	for _, from := range [][]types.GCAttachment{c.Valid, c.Attachments} {
		ok = ok || from != nil
		for _, a := range from {
			if !seen[a] {
				seen[a] = true
				list = append(list, podsock.Valid{ContainerID: a.ContainerID, Interface: a.IfName})
			}
		}
	}
	return list, ok
}

// result returns the result of the previous plugin, byte for byte as the caller passed it.
func (c *Conf) result() ([]byte, error) {
	raw := bytes.TrimSpace(c.PrevResult)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, invalid("prevResult: found none, want that of a plugin before this one in the list")
	}
	if _, err := version.NewResult(c.CNIVersion, raw); err != nil {
		return nil, types.NewError(types.ErrDecodingFailure, "fairlane: prevResult: "+err.Error(), "")
	}
	return raw, nil
}

// podArgs are the values of CNI_ARGS by which container runtimes identify a pod. The library finds fields by their names.
type podArgs struct {
	types.CommonArgs
	K8S_POD_NAMESPACE          types.UnmarshallableString
	K8S_POD_NAME               types.UnmarshallableString
	K8S_POD_UID                types.UnmarshallableString
	K8S_POD_INFRA_CONTAINER_ID types.UnmarshallableString
}

// ParseArgs returns the pod that CNI_ARGS identifies.
func ParseArgs(text string) (podsock.Pod, error) {
	var a podArgs
	if err := types.LoadArgs(text, &a); err != nil {
		return podsock.Pod{}, types.NewError(types.ErrInvalidEnvironmentVariables, "fairlane: CNI_ARGS: "+err.Error(), "")
	}
	pod := podsock.Pod{Namespace: string(a.K8S_POD_NAMESPACE), Name: string(a.K8S_POD_NAME), UID: string(a.K8S_POD_UID)}
	if pod.Namespace == "" {
		return pod, types.NewError(types.ErrInvalidEnvironmentVariables, "fairlane: CNI_ARGS: found no K8S_POD_NAMESPACE, want the namespace of the pod", "")
	}
	if err := pod.CheckIdentity(); err != nil {
		return pod, types.NewError(types.ErrInvalidEnvironmentVariables, "fairlane: CNI_ARGS: "+err.Error(), "")
	}
	return pod, nil
}
