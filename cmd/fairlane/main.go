// Command fairlane shares the bandwidth of RDMA fabrics among tenants by weight.
package main

import (
	"os"

	"fairlane/service/app"
)

func main() { os.Exit(app.Process()) }
