package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"fairlane/agent/cluster"
)

// inCluster is the value of pods.kubeconfig for the account that Kubernetes mounts into the agent's pod.
const inCluster = "in-cluster"

// clusterKeys configure the connection to a Kubernetes cluster.
func clusterKeys() []Key {
	return []Key{
		textKey("pods.kubeconfig", "File with the address and the account of a Kubernetes cluster whose objects bind namespaces to tenants, or "+inCluster+" for the account of the agent's own pod; not together with pods.bindings", func(c *Config) *string { return &c.Pods.Kubeconfig }),
		textKey("pods.node", "Name of this host in the cluster; empty: the host's name", func(c *Config) *string { return &c.Pods.Node }),
		textKey("pods.pod_resources", "Socket at which the kubelet lists the devices of pods; empty: not read", func(c *Config) *string { return &c.Pods.PodResources }),
	}
}

// openCluster opens the connection to the cluster. It sends nothing.
func openCluster(c *Config, log *slog.Logger) (*cluster.Cluster, error) {
	config, err := clusterConfig(c.Pods.Kubeconfig)
	if err != nil {
		return nil, err
	}
	node := c.Pods.Node
	if node == "" {
		name, err := os.Hostname()
		if err != nil {
			return nil, err
		}
		node = strings.ToLower(name)
	}
	klog.SetSlogLogger(log) // of the client library
	return cluster.New(cluster.Options{
		Config: config, Node: node, File: filepath.Join(c.Pods.State, "bindings.json"), PodResources: c.Pods.PodResources, Log: log,
	})
}

// clusterConfig returns the address and the account of a cluster.
func clusterConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == inCluster {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", kubeconfig)
}
