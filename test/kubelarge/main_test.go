// Package kubelarge has the test of a large cluster: 1,000 nodes with 20 pods each, a real API server with etcd, kwok in place of the
// nodes' kubelets, two replicas of fairlane-kube with its defaults, and `fairlane serve` with a simulated fabric of 1,000 hosts.
// `make kube` builds the programs and runs it.
package kubelarge

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlane/kube/kubetest"
	"fairlane/test/kubenode"
)

// Size of the cluster. The hosts of the fabric are the nodes: each has one port.
const (
	leaves       = 25
	hostsPerLeaf = 40
	nodeCount    = leaves * hostsPerLeaf
	podsPerNode  = 20

	tenantCount    = 40
	tenantsPerNode = 5
	spacesOfTenant = 5
	functions      = 32 // of a port: room for pods that come in the course of the test
)

// bound is the time in which the controller brings the cluster into step where processors are not the limit, as usage.allowed says.
const bound = time.Minute

// controllerTime is the processor time that the replicas may use for a cold start.
const controllerTime = bound / 2

// memoryLimit is the limit of the controller's container in the chart, in bytes.
const memoryLimit = 512 << 20

// Idle is the environment variable with the length of the idle window.
const (
	Idle        = "FAIRLANE_IDLE"
	defaultIdle = 10 * time.Minute
)

func TestMain(m *testing.M) {
	if !kubetest.Enabled() || os.Getenv(kubenode.Programs) == "" {
		fmt.Println("skipped: no programs of a cluster; run make kube")
		os.Exit(0)
	}
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}
