// Command fairlane-cni is a CNI plugin that applies the classes of tenants to the RDMA devices of pods, through the host agent.
package main

import (
	"os"

	"fairlane/cni/app"
)

func main() { os.Exit(app.Process()) }
