package kubetest_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlane/kube/kubetest"
)

// cluster is shared by the tests, which use namespaces of their own.
var cluster *kubetest.Cluster

func TestMain(m *testing.M) {
	if !kubetest.Enabled() {
		fmt.Println("skipped: no API server; run make kube")
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	log.SetLogger(logr.Discard())
	start := time.Now()
	c, err := kubetest.Start(kubetest.ConsumableCapacity)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("API server started in %.1fs\n", time.Since(start).Seconds())
	cluster = c
	defer func() {
		if err := c.Stop(); err != nil {
			fmt.Println(err)
		}
	}()
	return m.Run()
}
