package kubenode

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"fairlane/kube/kubetest"
)

// eventually bounds what happens within seconds on an idle machine.
const eventually = time.Minute

// devicePlugin is a device plugin whose devices are names.
type devicePlugin struct {
	plugin.UnimplementedDevicePluginServer
	ids  []string
	stop chan struct{}
}

// Devices gives the node devices of a resource, until the test ends: their ids are PCI addresses, and there is nothing behind
// them.
func (n *Node) Devices(t testing.TB, resource string, ids ...string) {
	t.Helper()
	// A kubelet that starts removes the sockets of earlier plugins, so a plugin that comes too early must come again.
	kubetest.Eventually(t, eventually, func() string {
		if err := register(t, resource, ids); err != nil {
			return err.Error()
		}
		return ""
	})
}

// register starts a device plugin and registers it with the kubelet.
func register(t testing.TB, resource string, ids []string) error {
	d := &devicePlugin{ids: ids, stop: make(chan struct{})}
	socket := filepath.Join(plugin.DevicePluginPath, fmt.Sprintf("fairlane-%d.sock", time.Now().UnixNano()))
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	plugin.RegisterDevicePluginServer(s, d)
	go func() { _ = s.Serve(l) }() // ends with Stop
	t.Cleanup(func() { close(d.stop); s.Stop() })
	connection, err := grpc.NewClient("unix://"+plugin.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = plugin.NewRegistrationClient(connection).Register(ctx, &plugin.RegisterRequest{Version: plugin.Version, Endpoint: filepath.Base(socket), ResourceName: resource})
	return err
}

func (d *devicePlugin) GetDevicePluginOptions(context.Context, *plugin.Empty) (*plugin.DevicePluginOptions, error) {
	return &plugin.DevicePluginOptions{}, nil
}

func (d *devicePlugin) ListAndWatch(_ *plugin.Empty, s plugin.DevicePlugin_ListAndWatchServer) error {
	out := &plugin.ListAndWatchResponse{}
	for _, id := range d.ids {
		out.Devices = append(out.Devices, &plugin.Device{ID: id, Health: plugin.Healthy})
	}
	if err := s.Send(out); err != nil {
		return err
	}
	select {
	case <-d.stop:
	case <-s.Context().Done():
	}
	return nil
}

func (d *devicePlugin) Allocate(_ context.Context, r *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	out := &plugin.AllocateResponse{}
	for range r.GetContainerRequests() {
		out.ContainerResponses = append(out.ContainerResponses, &plugin.ContainerAllocateResponse{})
	}
	return out, nil
}
